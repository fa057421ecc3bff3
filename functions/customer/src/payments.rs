//! `POST /v1/me/payments`: the customer pays a merchant.

use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::ids::MerchantId;
use ledger_core::money::{Amount, Asset, RegionalKey, RequestedAmount};
use ledger_core::operation::Operation;
use ledger_core::ops::pay::{self, Pay};
use ledger_core::ops::{Parts, RequestedParts, TenantTerms};
use ledger_core::personal::FreeText;
use ledger_runtime::app::App;
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{self, AmountText, KeyedJson};
use ledger_runtime::views::PaymentView;
use serde::Deserialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A payment to a merchant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PayBody {
    /// Who is paid.
    merchant_id: String,
    /// How much in all.
    amount: AmountText,
    /// In which asset; `ECOPAY` if absent.
    asset: Option<String>,
    /// How much of it in points, one yen each.
    #[serde(default, deserialize_with = "AmountText::if_present")]
    points: Option<AmountText>,
    /// How much of it in regional currencies, by key, one yen each.
    #[serde(default)]
    #[schema(value_type = Option<Object>, example = json!({"aoba": "1000"}))]
    regional: BTreeMap<String, AmountText>,
    /// What the customer writes with it; at most 140 characters, no card number.
    memo: Option<String>,
}

/// Pays a merchant.
#[utoipa::path(post, path = "/v1/me/payments", tag = "customer", request_body = PayBody,
    params(("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses(
        (status = 201, description = "Paid", body = PaymentView),
        (status = 400, description = "`invalid_request`, `insufficient_balance`, `account_frozen`, `wrong_state`"),
        (status = 404, description = "No such merchant"),
        (status = 409, description = "`idempotency_key_in_use`"),
        (status = 410, description = "`idempotency_key_expired`"),
        (status = 422, description = "`idempotency_key_fingerprint_mismatch`"),
        (status = 503, description = "`outcome_unknown` or `busy`: try again with the same key")))]
pub(crate) async fn create(
    State(app): State<App>,
    who: Customer,
    KeyedJson(key, body): KeyedJson<PayBody>,
) -> Result<Outcome, Problem> {
    let merchant_id = request::id("merchant_id", &body.merchant_id, MerchantId::parse)?;
    let memo = request::memo("memo", body.memo.as_deref())?;
    let parts = requested(&body)?;
    let fields = Fields::new()
        .with("merchant_id", merchant_id)
        .with_requested("amount", &parts.total)
        .with_amounts("paid", parts.by_asset()?.values())
        .with_some("memo", memo.as_ref().map(FreeText::expose));
    let request = CanonicalRequest { method: "POST", path: "/v1/me/payments".to_owned(), fields };
    let (claim, admission) = app.claim(&who, Operation::Pay, key, request).await?;
    let plan = async |cx| {
        let terms = app.terms(who.tenant()).await?;
        let merchant = app.merchant(who.tenant(), merchant_id).await?;
        let pay = Pay {
            tenant: who.tenant().clone(),
            customer: who.id(),
            merchant: (*merchant).clone(),
            parts: parts_in(&terms, &parts)?,
            memo: memo.clone(),
        };
        Ok(pay::plan(&pay, &terms, &cx)?)
    };
    Ok(app
        .perform(claim, admission, plan, |receipt| {
            created(format!("/v1/me/transactions/{}", receipt.transaction_id), &PaymentView::from(receipt))
        })
        .await)
}

/// The total and its parts, as far as they are known without the tenant's terms.
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
        let spec = spec.ok_or_else(|| Problem::invalid_field(field, "is in an asset that is not run here"))?;
        part.in_scale(spec).map_err(|why| Problem::invalid_field(field, why))
    };
    let points = parts.points.as_ref().map(|points| part(points, "points")).transpose()?;
    let regional = parts.regional.iter().map(|regional| part(regional, "regional")).collect::<Result<_, _>>()?;
    Ok(Parts::split(total, points, regional, terms)?)
}
