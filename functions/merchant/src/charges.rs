//! `POST /v1/merchant/charges`: charges a customer's one-time code, or authorizes the payment only.

use crate::payments;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::idempotency::Fields;
use ledger_core::operation::Operation;
use ledger_core::payments::Parts;
use ledger_core::payments::authorize::{self, Authorize};
use ledger_core::payments::charge::{self, Charge};
use ledger_core::payments::code::PaymentCode;
use ledger_core::plan::Context;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::limits::LimitedAccount;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, SentText};
use ledger_runtime::views::PaymentView;
use serde::Deserialize;
use utoipa::ToSchema;

/// A charge of a customer's one-time code.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"code": "epc_AZqn_jwAcACAAAAAAAAAAfZ1aU9K3yBvQh0cXn5tE2k", "amount": "1240", "capture": true}))]
pub(crate) struct ChargeBody {
    /// The one-time payment code that the customer shows.
    #[schema(pattern = "^epc_[A-Za-z0-9_-]{43}$", example = "epc_AZqn_jwAcACAAAAAAAAAAfZ1aU9K3yBvQh0cXn5tE2k")]
    code: String,
    /// The amount to charge.
    amount: AmountText,
    /// The asset of the amount; `ECOPAY` if absent.
    asset: Option<String>,
    /// The merchant's memo; at most 140 characters, no card number.
    memo: Option<String>,
    /// `false` only holds the amount: it is captured or voided later, or released when the hold expires. `true` if
    /// absent.
    capture: Option<bool>,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/merchant/charges")
    .summary("Charges a customer's one-time code; with `capture: false`, the amount is only held.")
    .permission(Permission::ShopCharge)
    .of_shops()
    .body::<ChargeBody>()
    .created::<PaymentView>("Paid, or held")
    .problems(&[Code::InsufficientBalance, Code::LimitExceeded, Code::AccountFrozen, Code::LegacyRecordUnreadable])
    .when(Code::WrongState, "the code is used or expired, or the merchant is suspended")
    .when(Code::NotFound, "no such code, or a newer code has replaced it")
    .keyed(Operation::Charge);

pub(crate) async fn create(
    State(app): State<App>,
    who: Merchant,
    KeyedJson(key, body): KeyedJson<ChargeBody>,
) -> Result<Outcome, Problem> {
    let code = PaymentCode::parse(&body.code)
        .ok_or_else(|| Problem::invalid_field("code", "is not a payment code: it begins with epc_"))?;
    let amount = request::amount(body.asset.as_deref(), &body.amount)?;
    let memo = body.memo.as_deref().map(|text| request::memo("memo", text));
    let capture = body.capture.unwrap_or(true);
    let fields = Fields::new()
        .with("code_hash", code.hash())
        .with_requested("amount", &amount)
        .with_some("memo", memo.as_ref().map(SentText::as_sent))
        // `true` is the default, so it is left out of the fingerprint.
        .with_some("capture", (!capture).then_some("false"));
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], fields).await?;
    let payer = LimitedAccount::new(Account::Customer(code.customer()));
    let plan = async |cx: Context| {
        let terms = payer.terms(&app, (who.tenant(), cx.now)).await?;
        let merchant = app.merchant(who.tenant(), who.merchant_id()).await?;
        let amount = request::amount_in(&terms, &amount)?;
        if !capture {
            let authorize = Authorize {
                tenant: who.tenant().clone(),
                merchant: (*merchant).clone(),
                code: code.clone(),
                shop: who.shop(),
                parts: Parts::split(amount, None, Vec::new(), &terms)?,
                memo: request::text_of(memo.as_ref())?,
            };
            return Ok(authorize::plan(&authorize, &terms, &cx)?);
        }
        let charge = Charge {
            tenant: who.tenant().clone(),
            merchant: (*merchant).clone(),
            terminal: None,
            shop: who.shop(),
            code: code.clone(),
            amount,
            memo: request::text_of(memo.as_ref())?,
        };
        Ok(charge::plan(&charge, &terms, &cx)?)
    };
    Ok(app
        .perform(claim, admission, plan, |receipt| {
            created(payments::GET.path(&[&receipt.payment_id]), &PaymentView::from(receipt))
        })
        .await)
}
