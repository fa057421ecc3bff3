//! `/v1/admin/topups`: customers' top-ups, and refunds of them to the card.

use crate::customers;
use crate::transactions::existing;
use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::dynamo::Attributes;
use ledger_core::idempotency::{Claim, Fields, PlannedCall};
use ledger_core::ids::{CustomerId, RefundId, TopupId};
use ledger_core::keys::{self, Partition, attr};
use ledger_core::money::{Asset, AssetSpec, Balance};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::topups::TopupRecord;
use ledger_core::topups::refund::{self, RefundTopup};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, Params, PathId, PathOf, TopupListing};
use ledger_runtime::topups::PspExecutor;
use ledger_runtime::views::{Page, TOPUP_OF_OPERATOR, TopupRefundView, TopupView};
use serde::Deserialize;
use utoipa::ToSchema;

/// A request to refund a top-up, in whole or in part.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"amount": "300", "reason": "requested by the customer"}))]
pub(crate) struct TopupRefundBody {
    /// The amount that leaves the wallet, in yen; all that is left of the top-up if absent.
    #[serde(default, deserialize_with = "AmountText::if_present")]
    #[schema(value_type = AmountText, required = false)]
    amount: Option<AmountText>,
    /// The reason for the refund; at most 140 characters, no card number.
    reason: String,
}

const OF_CUSTOMERS: &str = "The audit trail shows who read them. The most recent top-ups may be missing for a moment. With \
                            a filter, a page may have fewer items than `limit`, or none, and still a `next_cursor`.";

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/topups")
    .summary("Lists the top-ups of all customers.")
    .about(
        "That whose request was sealed last is first: newest first, except what was sealed late. The worker seals within two \
         minutes, so that the most recent ones are missing that long. With a filter, a page may have fewer items than \
         `limit`, or none, and still a `next_cursor`.",
    )
    .permission(Permission::TopupsRead)
    .pages_of::<TopupView>()
    .parameter(TopupListing::STATUS)
    .in_ranges();

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<TopupView>>, Problem> {
    let filter = params.topup_filter()?;
    let wanted = params.sealed_listing()?;
    params.finish()?;
    app.sealed_topups(who.tenant(), (&wanted, &filter)).await.map(Json)
}

pub(crate) const OF_CUSTOMER: Endpoint = Endpoint::get("/v1/admin/customers/{customer_id}/topups")
    .summary("Lists a customer's top-ups, newest first.")
    .about(OF_CUSTOMERS)
    .permission(Permission::TopupsRead)
    .id("customer_id", "The customer's id.")
    .pages_of::<TopupView>()
    .parameter(TopupListing::STATUS)
    .in_ranges()
    .when(Code::LegacyRecordUnreadable, "the legacy record has an invalid value; `attribute` names it")
    .when(Code::NotFound, "no such customer");

pub(crate) async fn of_customer(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<CustomerId>,
    wanted: TopupListing,
) -> Result<Json<Page<TopupView>>, Problem> {
    let _ = existing(&app, &Partition::customer(who.tenant(), id).profile()).await?;
    let page = app.topups(who.tenant(), id, &wanted).await?;
    customers::record_read(&app, &who, id).await?;
    Ok(Json(page))
}

pub(crate) const GET: Endpoint = Endpoint::get(TOPUP_OF_OPERATOR)
    .summary("Returns a top-up.")
    .permission(Permission::TopupsRead)
    .id("id", "The top-up's id.")
    .ok::<TopupView>("The top-up")
    .when(Code::NotFound, "no such top-up");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<TopupId>,
) -> Result<Json<TopupView>, Problem> {
    let (topup, _) = app.psp_executor().await?.topup(who.tenant(), id, None).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(TopupView::from(&topup)))
}

pub(crate) const GET_REFUND: Endpoint = Endpoint::get("/v1/admin/topups/{id}/refunds/{refund_id}")
    .summary("Returns a refund of a top-up.")
    .permission(Permission::TopupsRead)
    .id("id", "The top-up's id.")
    .id("refund_id", "The refund's id.")
    .ok::<TopupRefundView>("The refund")
    .when(Code::NotFound, "no such refund");

pub(crate) async fn get_refund(
    State(app): State<App>,
    who: Admin,
    PathOf((id, refund)): PathOf<(String, String)>,
) -> Result<Json<TopupRefundView>, Problem> {
    let id = TopupId::parse(&id).map_err(|_| Problem::not_found())?;
    let refund = RefundId::parse(&refund).map_err(|_| Problem::not_found())?;
    let found = app.psp_executor().await?.topup(who.tenant(), id, Some(refund)).await?;
    let refund = found.and_then(|(_, refund)| refund).ok_or_else(Problem::not_found)?;
    Ok(Json(TopupRefundView::from(&refund)))
}

pub(crate) const REFUND: Keyed = Endpoint::post("/v1/admin/topups/{id}/refunds")
    .summary("Refunds a top-up to the card that paid it.")
    .about("The amount is held in the wallet until Stripe has paid it out, and is released if Stripe does not.")
    .permission(Permission::TopupsRefund)
    .id("id", "The top-up's id.")
    .body::<TopupRefundBody>()
    .created::<TopupRefundView>("Requested")
    .problems(&[
        Code::InsufficientBalance,
        Code::OverRefund,
        Code::WrongState,
        Code::AccountFrozen,
        Code::PspRefused,
        Code::LegacyRecordUnreadable,
    ])
    .when(Code::NotFound, "no such top-up")
    .when(Code::IdempotencyKeyExpired, "a key is valid for 24 hours")
    .asks_ties()
    .keyed(Operation::TopupRefund);

pub(crate) async fn refund(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<TopupId>,
    KeyedJson(key, body): KeyedJson<TopupRefundBody>,
) -> Result<Outcome, Problem> {
    let reason = request::memo("reason", &body.reason);
    let amount = body.amount.as_ref().map(|amount| amount.to_amount(&AssetSpec::ECOPAY, "amount")).transpose()?;
    let fields =
        Fields::new().with_some("amount", amount.as_ref().map(|amount| amount.text())).with("reason", reason.as_sent());
    let (claim, admission) = REFUND.claim(&app, &who, key, &[&id], fields).await?;
    let plan = async |cx, psp_executor: PspExecutor| {
        let topup = read_topup(&app, &claim, id).await?;
        let of = (vec![Account::Customer(topup.customer)], Permission::TopupsRefund);
        app.check_alone((&claim, &who.member()), of).await?;
        let points = match &topup.points {
            Some(_) => Some(points(&app, &claim, topup.customer).await?),
            None => None,
        };
        let refund = RefundTopup {
            actor: who.actor(),
            topup: &topup,
            amount: amount.as_ref(),
            points: points.as_ref(),
            reason: &reason.text()?,
        };
        plan_refund(&app, (&claim, &psp_executor), &refund, &cx).await
    };
    Ok(app.perform_call(claim.clone(), admission, plan).await)
}

async fn plan_refund(
    app: &App,
    (claim, psp_executor): (&Claim, &PspExecutor),
    refund: &RefundTopup<'_>,
    cx: &Context,
) -> Result<PlannedCall, PlanError> {
    let terms = app.terms_at(&claim.tenant, cx.now).await?;
    Ok(refund::plan(refund, claim, &terms, psp_executor.terms(), cx)?)
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
