//! `GET /v1/merchant/operations/{operation}/{key}` and `...?key=`: the state of an idempotency key.

use axum::Json;
use axum::extract::State;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::identity::Merchant;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{Params, PathOf};
use ledger_runtime::views::OperationView;

/// The operations whose responses every member of the merchant's staff may read.
const SHOWN: &[&str] = &["charge", "capture", "void", "refund"];
const OPERATION: Parameter =
    Parameter::in_path("operation", "The operation that the key was sent for.", Kind::Word(SHOWN));

pub(crate) const GET: Endpoint = Endpoint::get("/v1/merchant/operations/{operation}/{key}")
    .summary("Returns the state of one of the merchant's idempotency keys, if the key is a UUID.")
    .about("`not_known_yet` is not final: the original request may still arrive.")
    .permission(Permission::ShopRead)
    .parameter(OPERATION)
    .parameter(Parameter::in_path("key", "The idempotency key, a UUID.", Kind::Id))
    .ok::<OperationView>("The state of the key")
    .when(Code::InvalidRequest, "the key is not a UUID: send it as `?key=`")
    .when(Code::NotFound, "no such operation");

pub(crate) async fn get(
    State(app): State<App>,
    who: Merchant,
    PathOf((operation, key)): PathOf<(String, String)>,
) -> Result<Json<OperationView>, Problem> {
    let otherwise = "is not a UUID: send any other key as GET /v1/merchant/operations/{operation}?key=";
    app.operation_in_path(&who, (shown(&operation)?, &key), otherwise).await.map(Json)
}

pub(crate) const FIND: Endpoint = Endpoint::get("/v1/merchant/operations/{operation}")
    .summary("Returns the state of one of the merchant's idempotency keys, of any form.")
    .about("`not_known_yet` is not final: the original request may still arrive.")
    .permission(Permission::ShopRead)
    .parameter(OPERATION)
    .parameter(Parameter::required_in_query("key", "The idempotency key, URL-encoded.", Kind::Text("order-4711")))
    .ok::<OperationView>("The state of the key")
    .problems(&[Code::IdempotencyKeyInvalid])
    .when(Code::NotFound, "no such operation");

pub(crate) async fn find(
    State(app): State<App>,
    who: Merchant,
    PathOf(operation): PathOf<String>,
    mut params: Params,
) -> Result<Json<OperationView>, Problem> {
    let key = params.require("key")?;
    params.finish()?;
    app.operation(&who, shown(&operation)?, &key).await.map(Json)
}

/// The operation, unless only some of the staff may read its responses.
fn shown(operation: &str) -> Result<&str, Problem> {
    if SHOWN.contains(&operation) { Ok(operation) } else { Err(Problem::not_found()) }
}
