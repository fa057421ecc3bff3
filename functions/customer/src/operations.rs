//! `GET /v1/me/operations/{operation}/{key}` and `...?key=`: what became of a key.

use axum::Json;
use axum::extract::State;
use ledger_runtime::app::App;
use ledger_runtime::identity::Customer;
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{Params, PathOf};
use ledger_runtime::views::OperationView;

/// What became of the customer's key, a UUID. `not_known_yet` is no promise: the original may still arrive.
#[utoipa::path(get, path = "/v1/me/operations/{operation}/{key}", tag = "customer",
    params(("operation" = String, Path, description = "`pay`, `transfer`, `topup`, `profile_patch`, `card_patch`, `payment_code`"),
        ("key" = String, Path, description = "The idempotency key, if it is a UUID")),
    responses((status = 200, description = "What is known", body = OperationView),
        (status = 400, description = "`invalid_request` for a key that is no UUID: send it as `?key=`"),
        (status = 404, description = "No such operation")))]
pub(crate) async fn get(
    State(app): State<App>,
    who: Customer,
    PathOf((operation, key)): PathOf<(String, String)>,
) -> Result<Json<OperationView>, Problem> {
    let otherwise = "is no UUID: send any other key as GET /v1/me/operations/{operation}?key=";
    app.operation_in_path(&who, (&operation, &key), otherwise).await.map(Json)
}

/// What became of the customer's key, of any form. `not_known_yet` is no promise: the original may still arrive.
#[utoipa::path(get, path = "/v1/me/operations/{operation}", tag = "customer",
    params(("operation" = String, Path, description = "`pay`, `transfer`, `topup`, `profile_patch`, `card_patch`, `payment_code`"),
        ("key" = String, Query, description = "The idempotency key, URL-encoded")),
    responses((status = 200, description = "What is known", body = OperationView),
        (status = 400, description = "`invalid_request` without a key, `idempotency_key_invalid` for one that is none"),
        (status = 404, description = "No such operation")))]
pub(crate) async fn find(
    State(app): State<App>,
    who: Customer,
    PathOf(operation): PathOf<String>,
    mut params: Params,
) -> Result<Json<OperationView>, Problem> {
    let key = params.require("key")?;
    params.finish()?;
    app.operation(&who, &operation, &key).await.map(Json)
}
