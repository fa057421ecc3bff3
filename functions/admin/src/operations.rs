//! `GET /v1/admin/{customers|merchants|terminals}/{id}/operations/{operation}?key=`: what became of a request that a
//! customer, merchant or terminal sent.

use crate::customers::record_read;
use crate::transactions::existing;
use axum::Json;
use axum::extract::State;
use ledger_core::ids::{CustomerId, MerchantId, Principal, TerminalId};
use ledger_core::keys::Partition;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{Params, PathOf};
use ledger_runtime::views::{OperationView, words};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const OPERATION: Parameter =
    Parameter::in_path("operation", "The operation that the key was sent for.", Kind::Text("pay"));
const KEY: Parameter =
    Parameter::required_in_query("key", "The idempotency key, URL-encoded.", Kind::Text("order-4711"));
const ABOUT: &str = "The stored response is not shown: it may contain a one-time secret. `not_known_yet` is not final: the \
                     original request may still arrive.";

const ABOUT_OF_CUSTOMER: &str = "The stored response is not shown: it may contain a one-time secret. `not_known_yet` is not final: the \
                                 original request may still arrive. The audit trail shows who read it.";

/// What became of another's request. The stored response is not shown.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeyView {
    /// `done`, `in_flight`, `parked` (needs review), `reversed`, `expired`, or `not_known_yet`: the original request
    /// may still arrive.
    #[schema(value_type = words::KeyState)]
    state: &'static str,
    /// The key that was looked up.
    key: String,
    /// The HTTP status of the stored response.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// The code of the refusal, if the request was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// The journal entry's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<String>,
    /// The payment's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_id: Option<String>,
    /// The refund's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    refund_id: Option<String>,
    /// The top-up's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    topup_id: Option<String>,
    /// The time at which the response was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_at: Option<String>,
}

/// The ids that a stored response names, and a refusal's code.
#[derive(Default, Deserialize)]
struct Named {
    transaction_id: Option<String>,
    payment_id: Option<String>,
    refund_id: Option<String>,
    topup_id: Option<String>,
    code: Option<String>,
}

pub(crate) const OF_CUSTOMER: Endpoint = Endpoint::get("/v1/admin/customers/{customer_id}/operations/{operation}")
    .summary("Returns the state of one of a customer's idempotency keys.")
    .about(ABOUT_OF_CUSTOMER)
    .permission(Permission::CustomersRead)
    .id("customer_id", "The customer's id.")
    .parameter(OPERATION)
    .parameter(KEY)
    .ok::<KeyView>("The state of the key")
    .problems(&[Code::IdempotencyKeyInvalid])
    .when(Code::NotFound, "no such operation, or no such customer");

pub(crate) async fn of_customer(
    State(app): State<App>,
    who: Admin,
    PathOf((id, operation)): PathOf<(String, String)>,
    params: Params,
) -> Result<Json<KeyView>, Problem> {
    let id = CustomerId::parse(&id).map_err(|_| Problem::not_found())?;
    let _ = existing(&app, &Partition::customer(who.tenant(), id).profile()).await?;
    let found = look_up(&app, &who, Principal::Customer(id), &operation, params).await?;
    record_read(&app, &who, id).await?;
    Ok(found)
}

pub(crate) const OF_MERCHANT: Endpoint = Endpoint::get("/v1/admin/merchants/{merchant_id}/operations/{operation}")
    .summary("Returns the state of one of a merchant's idempotency keys.")
    .about(ABOUT)
    .permission(Permission::MerchantsRead)
    .id("merchant_id", "The merchant's id.")
    .parameter(OPERATION)
    .parameter(KEY)
    .ok::<KeyView>("The state of the key")
    .problems(&[Code::IdempotencyKeyInvalid])
    .when(Code::NotFound, "no such operation");

pub(crate) async fn of_merchant(
    State(app): State<App>,
    who: Admin,
    PathOf((id, operation)): PathOf<(String, String)>,
    params: Params,
) -> Result<Json<KeyView>, Problem> {
    let id = MerchantId::parse(&id).map_err(|_| Problem::not_found())?;
    look_up(&app, &who, Principal::Merchant(id), &operation, params).await
}

pub(crate) const OF_TERMINAL: Endpoint = Endpoint::get("/v1/admin/terminals/{terminal_id}/operations/{operation}")
    .summary("Returns the state of one of a terminal's idempotency keys.")
    .about(ABOUT)
    .permission(Permission::TerminalsRead)
    .id("terminal_id", "The terminal's id.")
    .parameter(OPERATION)
    .parameter(KEY)
    .ok::<KeyView>("The state of the key")
    .problems(&[Code::IdempotencyKeyInvalid])
    .when(Code::NotFound, "no such operation");

pub(crate) async fn of_terminal(
    State(app): State<App>,
    who: Admin,
    PathOf((id, operation)): PathOf<(String, String)>,
    params: Params,
) -> Result<Json<KeyView>, Problem> {
    let id = TerminalId::parse(&id).map_err(|_| Problem::not_found())?;
    look_up(&app, &who, Principal::Terminal(id), &operation, params).await
}

async fn look_up(
    app: &App,
    who: &Admin,
    principal: Principal,
    operation: &str,
    mut params: Params,
) -> Result<Json<KeyView>, Problem> {
    let key = params.require("key")?;
    params.finish()?;
    let found = app.operation_of(who.tenant(), principal, operation, &key).await?;
    Ok(Json(KeyView::from(found)))
}

impl From<OperationView> for KeyView {
    fn from(found: OperationView) -> Self {
        let OperationView { state, key, status, answer, answered_at } = found;
        let named = answer.and_then(|answer| serde_json::from_str(answer.get()).ok()).unwrap_or_default();
        let Named { transaction_id, payment_id, refund_id, topup_id, code } = named;
        // A one-time code is also named `code`, so only a refusal's is shown.
        let code = code.filter(|_| status.is_some_and(|status| status >= 400));
        Self { state, key, status, code, transaction_id, payment_id, refund_id, topup_id, answered_at }
    }
}
