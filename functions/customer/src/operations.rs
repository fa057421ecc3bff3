//! `GET /v1/me/operations/{operation}/{key}` and `...?key=`: the state of an idempotency key.

use axum::Json;
use axum::extract::State;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter};
use ledger_runtime::identity::Customer;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{Params, PathOf};
use ledger_runtime::views::OperationView;

const OPERATION: Parameter = Parameter::in_path(
    "operation",
    "The operation that the key was sent for.",
    Kind::Word(&[
        "pay",
        "transfer",
        "topup",
        "topup_cancel",
        "profile_patch",
        "card_patch",
        "card_pin",
        "payment_code",
    ]),
);

pub(crate) const GET: Endpoint = Endpoint::get("/v1/me/operations/{operation}/{key}")
    .summary("Returns the state of one of the customer's idempotency keys, if the key is a UUID.")
    .about("`not_known_yet` is not final: the original request may still arrive.")
    .open()
    .parameter(OPERATION)
    .parameter(Parameter::in_path("key", "The idempotency key, a UUID.", Kind::Id))
    .ok::<OperationView>("The state of the key")
    .when(Code::InvalidRequest, "the key is not a UUID: send it as `?key=`")
    .when(Code::NotFound, "no such operation");

pub(crate) async fn get(
    State(app): State<App>,
    who: Customer,
    PathOf((operation, key)): PathOf<(String, String)>,
) -> Result<Json<OperationView>, Problem> {
    let otherwise = "is not a UUID: send any other key as GET /v1/me/operations/{operation}?key=";
    app.operation_in_path(&who, (&operation, &key), otherwise).await.map(Json)
}

pub(crate) const FIND: Endpoint = Endpoint::get("/v1/me/operations/{operation}")
    .summary("Returns the state of one of the customer's idempotency keys, of any form.")
    .about("`not_known_yet` is not final: the original request may still arrive.")
    .open()
    .parameter(OPERATION)
    .parameter(Parameter::required_in_query("key", "The idempotency key, URL-encoded.", Kind::Text("order-4711")))
    .ok::<OperationView>("The state of the key")
    .problems(&[Code::IdempotencyKeyInvalid])
    .when(Code::NotFound, "no such operation");

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
