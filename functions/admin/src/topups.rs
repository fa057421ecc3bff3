//! `/v1/admin/topups`: a customer's top-ups, and refunds of them to the card.

use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::Attributes;
use ledger_core::idempotency::{CanonicalRequest, Claim, Fields, PlannedCall};
use ledger_core::ids::{CustomerId, RefundId, TopupId};
use ledger_core::keys::{self, Partition, attr};
use ledger_core::money::{Asset, AssetSpec, Balance};
use ledger_core::operation::Operation;
use ledger_core::ops::Context;
use ledger_core::ops::topup::TopupRecord;
use ledger_core::ops::topup::refund::{self, RefundTopup};
use ledger_runtime::app::App;
use ledger_runtime::execute::{Outcome, PlanError};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId, PathOf};
use ledger_runtime::topups::Desk;
use ledger_runtime::views::{TopupRefundView, TopupView};
use serde::Deserialize;
use utoipa::ToSchema;

/// A refund of a top-up.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopupRefundBody {
    /// How much leaves the wallet, in yen; all that is left of the top-up if absent.
    #[serde(default, deserialize_with = "AmountText::if_present")]
    amount: Option<AmountText>,
    /// Why; at most 140 characters.
    reason: String,
}

/// Where a top-up stands.
#[utoipa::path(get, path = "/v1/admin/topups/{id}", tag = "admin",
    params(("id" = String, Path, description = "The top-up")),
    responses((status = 200, description = "The top-up", body = TopupView),
        (status = 404, description = "No such top-up")))]
pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<TopupId>,
) -> Result<Json<TopupView>, Problem> {
    let (topup, _) = app.desk().await?.topup(who.tenant(), id, None).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(TopupView::from(&topup)))
}

/// Where a refund of a top-up stands.
#[utoipa::path(get, path = "/v1/admin/topups/{id}/refunds/{refund_id}", tag = "admin",
    params(("id" = String, Path, description = "The top-up"), ("refund_id" = String, Path, description = "The refund")),
    responses((status = 200, description = "The refund", body = TopupRefundView),
        (status = 404, description = "No such refund")))]
pub(crate) async fn get_refund(
    State(app): State<App>,
    who: Admin,
    PathOf((id, refund)): PathOf<(String, String)>,
) -> Result<Json<TopupRefundView>, Problem> {
    let id = TopupId::parse(&id).map_err(|_| Problem::not_found())?;
    let refund = RefundId::parse(&refund).map_err(|_| Problem::not_found())?;
    let found = app.desk().await?.topup(who.tenant(), id, Some(refund)).await?;
    let refund = found.and_then(|(_, refund)| refund).ok_or_else(Problem::not_found)?;
    Ok(Json(TopupRefundView::from(&refund)))
}

/// Refunds a top-up to the card that paid it. The money is held in the wallet until Stripe has paid it
/// out, and comes back if Stripe does not.
#[utoipa::path(post, path = "/v1/admin/topups/{id}/refunds", tag = "admin", request_body = TopupRefundBody,
    params(("id" = String, Path, description = "The top-up"),
        ("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses(
        (status = 201, description = "Asked for", body = TopupRefundView),
        (status = 400, description = "`invalid_request`, `insufficient_balance`, `over_refund`, `wrong_state`, `account_frozen`, `psp_refused`"),
        (status = 404, description = "No such top-up"),
        (status = 409, description = "`idempotency_key_in_use`"),
        (status = 410, description = "`idempotency_key_expired`: after 24 hours"),
        (status = 422, description = "`idempotency_key_fingerprint_mismatch`"),
        (status = 503, description = "`outcome_unknown` or `busy`: try again with the same key")))]
pub(crate) async fn refund(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<TopupId>,
    KeyedJson(key, body): KeyedJson<TopupRefundBody>,
) -> Result<Outcome, Problem> {
    let reason = request::reason("reason", &body.reason)?;
    let amount = body.amount.as_ref().map(|amount| amount.to_amount(&AssetSpec::ECOPAY, "amount")).transpose()?;
    let fields =
        Fields::new().with_some("amount", amount.as_ref().map(|amount| amount.text())).with("reason", reason.expose());
    let path = format!("/v1/admin/topups/{id}/refunds");
    let request = CanonicalRequest { method: "POST", path, fields };
    let (claim, admission) = app.claim(&who, Operation::TopupRefund, key, request).await?;
    let plan = async |cx, desk: Desk| {
        let topup = read_topup(&app, &claim, id).await?;
        let points = match &topup.points {
            Some(_) => Some(points(&app, &claim, topup.customer).await?),
            None => None,
        };
        let refund = RefundTopup {
            actor: who.actor(),
            topup: &topup,
            amount: amount.as_ref(),
            points: points.as_ref(),
            reason: &reason,
        };
        plan_refund(&app, (&claim, &desk), &refund, &cx).await
    };
    Ok(app.perform_call(claim.clone(), admission, plan).await)
}

async fn plan_refund(
    app: &App,
    (claim, desk): (&Claim, &Desk),
    refund: &RefundTopup<'_>,
    cx: &Context,
) -> Result<PlannedCall, PlanError> {
    let terms = app.terms(&claim.tenant).await?;
    Ok(refund::plan(refund, claim, &terms, desk.terms(), cx)?)
}

async fn read_topup(app: &App, claim: &Claim, id: TopupId) -> Result<TopupRecord, PlanError> {
    let items = app.ledger().read_for(claim, &[keys::topup(&claim.tenant, id)]).await?;
    let item = items.into_iter().flatten().next().ok_or(PlanError::Missing)?;
    Ok(TopupRecord::read(&item)?)
}

async fn points(app: &App, claim: &Claim, customer: CustomerId) -> Result<Balance, PlanError> {
    let key = Partition::customer(&claim.tenant, customer).balance(&Asset::Point);
    let item = app.dynamo().get(&key).await?.ok_or(PlanError::Missing)?;
    Balance::from_stored(Asset::Point, item.number(attr::BALANCE)?).map_err(PlanError::Money)
}
