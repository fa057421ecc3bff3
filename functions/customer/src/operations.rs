//! `GET /v1/me/operations/{operation}/{key}`: what became of a key.

use axum::Json;
use axum::extract::State;
use ledger_runtime::app::App;
use ledger_runtime::identity::Customer;
use ledger_runtime::problem::Problem;
use ledger_runtime::request::PathOf;
use ledger_runtime::views::OperationView;

/// What became of the customer's key. `not_known_yet` is no promise: the original may still arrive.
#[utoipa::path(get, path = "/v1/me/operations/{operation}/{key}", tag = "customer",
    params(("operation" = String, Path, description = "`pay`, `transfer`, `topup`, `profile_patch`, `card_patch`, `payment_code`"),
        ("key" = String, Path, description = "The idempotency key")),
    responses((status = 200, description = "What is known", body = OperationView),
        (status = 404, description = "No such operation")))]
pub(crate) async fn get(
    State(app): State<App>,
    who: Customer,
    PathOf((operation, key)): PathOf<(String, String)>,
) -> Result<Json<OperationView>, Problem> {
    app.operation(&who, &operation, &key).await.map(Json)
}
