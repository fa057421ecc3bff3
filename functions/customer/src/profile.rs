//! `GET` and `PATCH /v1/me`: the customer's profile.

use axum::Json;
use axum::extract::State;
use ledger_core::idempotency::CanonicalRequest;
use ledger_core::keys::Partition;
use ledger_core::operation::Operation;
use ledger_core::ops::profile;
use ledger_runtime::app::App;
use ledger_runtime::execute::{Outcome, ok};
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{KeyedJson, ProfileBody};
use ledger_runtime::views::{CustomerChangeView, CustomerView};

/// The customer's own profile.
#[utoipa::path(get, path = "/v1/me", tag = "customer",
    responses((status = 200, description = "The profile", body = CustomerView),
        (status = 404, description = "No wallet has been opened for this customer")))]
pub(crate) async fn get(State(app): State<App>, who: Customer) -> Result<Json<CustomerView>, Problem> {
    let key = Partition::customer(who.tenant(), who.id()).profile();
    let item = app.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(CustomerView::read(&item)?))
}

/// Changes the customer's own profile. `null` clears a field, an absent field keeps it.
#[utoipa::path(patch, path = "/v1/me", tag = "customer", request_body = ProfileBody,
    params(("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses(
        (status = 200, description = "Changed", body = CustomerChangeView),
        (status = 400, description = "`invalid_request`"),
        (status = 404, description = "No wallet has been opened for this customer")))]
pub(crate) async fn patch(
    State(app): State<App>,
    who: Customer,
    KeyedJson(key, body): KeyedJson<ProfileBody>,
) -> Result<Outcome, Problem> {
    let (patch, fields) = body.read()?;
    let request = CanonicalRequest { method: "PATCH", path: "/v1/me".to_owned(), fields };
    let (claim, admission) = app.claim(&who, Operation::ProfilePatch, key, request).await?;
    let plan = async |cx| Ok(profile::plan_own(who.tenant(), who.id(), &patch, &cx)?);
    Ok(app.perform(claim, admission, plan, |receipt| ok(&CustomerChangeView::from(receipt))).await)
}
