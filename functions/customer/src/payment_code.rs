//! `POST /v1/me/payment-code`: issues a one-time code that a merchant or terminal charges.

use axum::extract::State;
use ledger_core::idempotency::Fields;
use ledger_core::operation::Operation;
use ledger_core::payments;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed};
use ledger_runtime::execute::{Outcome, ok, with_secret};
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{Empty, KeyedJson};
use serde::Serialize;
use utoipa::ToSchema;

/// A one-time payment code. A new code replaces the one before.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CodeView {
    /// The code to show to the merchant, as text or as a QR code.
    #[schema(pattern = "^epc_[A-Za-z0-9_-]{43}$", example = "epc_AZqn_jwAcACAAAAAAAAAAfZ1aU9K3yBvQh0cXn5tE2k")]
    code: String,
    /// The time at which the code expires.
    expires_at: String,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/me/payment-code")
    .summary("Issues a one-time payment code, valid for five minutes and one charge.")
    .open()
    .ok::<CodeView>("Issued")
    .problems(&[Code::AccountFrozen, Code::LegacyRecordUnreadable])
    .when(Code::NotFound, "no wallet has been opened for this customer")
    .keyed(Operation::PaymentCode);

pub(crate) async fn create(
    State(app): State<App>,
    who: Customer,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], Fields::new()).await?;
    let plan = async |cx| Ok(payments::code::plan(who.tenant(), who.id(), who.sign_in(), &cx)?);
    Ok(app
        .perform(claim, admission, plan, |receipt| {
            let (code, expires_at) = (receipt.code.expose().to_owned(), receipt.expires_at.to_string());
            with_secret(ok(&CodeView { code, expires_at }))
        })
        .await)
}
