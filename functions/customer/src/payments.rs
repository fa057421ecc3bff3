//! `POST /v1/me/payments`: the customer pays a merchant.

use crate::transactions;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::idempotency::Fields;
use ledger_core::ids::MerchantId;
use ledger_core::money::{Amount, Asset, RegionalKey, RequestedAmount};
use ledger_core::operation::Operation;
use ledger_core::payments::pay::{self, Pay};
use ledger_core::payments::{Parts, RequestedParts};
use ledger_core::plan::Context;
use ledger_core::terms::TenantTerms;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed};
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::limits::LimitedAccount;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, SentText};
use ledger_runtime::views::PaymentView;
use serde::Deserialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A payment to a merchant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"merchant_id": "019aa7fe-3c00-7000-8000-000000000001", "amount": "1240", "points": "240", "memo": "lunch"}))]
pub(crate) struct PayBody {
    /// The merchant to pay.
    merchant_id: String,
    /// The total.
    amount: AmountText,
    /// The asset of the total; `ECOPAY` if absent.
    asset: Option<String>,
    /// The part of the total to pay in points, one yen each.
    #[serde(default, deserialize_with = "AmountText::if_present")]
    #[schema(value_type = AmountText, required = false)]
    points: Option<AmountText>,
    /// The parts of the total to pay in regional currencies, by currency key, one yen each.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, AmountText>, required = false, example = json!({"aoba": "1000"}))]
    regional: BTreeMap<String, AmountText>,
    /// The customer's memo; at most 140 characters, no card number.
    memo: Option<String>,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/me/payments")
    .summary("Pays a merchant.")
    .open()
    .body::<PayBody>()
    .created::<PaymentView>("Paid")
    .problems(&[
        Code::InsufficientBalance,
        Code::LimitExceeded,
        Code::AccountFrozen,
        Code::WrongState,
        Code::LegacyRecordUnreadable,
    ])
    .when(Code::NotFound, "no such merchant")
    .keyed(Operation::Pay);

pub(crate) async fn create(
    State(app): State<App>,
    who: Customer,
    KeyedJson(key, body): KeyedJson<PayBody>,
) -> Result<Outcome, Problem> {
    let merchant_id = request::id("merchant_id", &body.merchant_id, MerchantId::parse)?;
    let memo = body.memo.as_deref().map(|text| request::memo("memo", text));
    let parts = requested(&body)?;
    let fields = Fields::new()
        .with("merchant_id", merchant_id)
        .with_requested("amount", &parts.total)
        .with_amounts("paid", parts.by_asset()?.values())
        .with_some("memo", memo.as_ref().map(SentText::as_sent));
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], fields).await?;
    let payer = LimitedAccount::new(Account::Customer(who.id()));
    let plan = async |cx: Context| {
        let terms = payer.terms(&app, (who.tenant(), cx.now)).await?;
        let merchant = app.merchant(who.tenant(), merchant_id).await?;
        let pay = Pay {
            tenant: who.tenant().clone(),
            customer: who.id(),
            merchant: (*merchant).clone(),
            parts: parts_in(&terms, &parts)?,
            memo: request::text_of(memo.as_ref())?,
        };
        Ok(pay::plan(&pay, &terms, &cx)?)
    };
    Ok(app
        .perform(claim, admission, plan, |receipt| {
            created(transactions::GET.path(&[&receipt.transaction_id]), &PaymentView::from(receipt))
        })
        .await)
}

/// The total and its parts, as far as they can be parsed without the tenant's terms.
fn requested(body: &PayBody) -> Result<RequestedParts, Problem> {
    let total = request::amount(body.asset.as_deref(), &body.amount)?;
    let points = body.points.as_ref().map(|points| points.requested(Asset::Point, "points")).transpose()?;
    let regional = body.regional.iter().map(|(key, text)| {
        let key = RegionalKey::parse(key).map_err(|why| Problem::invalid_field("regional", why))?;
        text.requested(Asset::Regional(key), "regional")
    });
    let regional = regional.collect::<Result<_, Problem>>()?;
    Ok(RequestedParts { total, points, regional })
}

/// The parts of the total, with each asset's decimals.
fn parts_in(terms: &TenantTerms, parts: &RequestedParts) -> Result<Parts, Problem> {
    let total = request::amount_in(terms, &parts.total)?;
    let part = |part: &RequestedAmount, field: &'static str| -> Result<Amount, Problem> {
        let spec = terms.spec(part.asset());
        let spec =
            spec.ok_or_else(|| Problem::invalid_field(field, "is in an asset that is not enabled for this tenant"))?;
        part.in_scale(spec).map_err(|why| Problem::invalid_field(field, why))
    };
    let points = parts.points.as_ref().map(|points| part(points, "points")).transpose()?;
    let regional = parts.regional.iter().map(|regional| part(regional, "regional")).collect::<Result<_, _>>()?;
    Ok(Parts::split(total, points, regional, terms)?)
}
