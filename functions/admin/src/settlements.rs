//! `/v1/admin/settlements` closes a merchant's period. What became of it, and resuming one that stopped, are under
//! the merchant.

use axum::Json;
use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Claim, Fields};
use ledger_core::ids::{MerchantId, SettlementId};
use ledger_core::keys::{self, Partition};
use ledger_core::operation::Operation;
use ledger_core::ops::settlement::{self, Destination, Open, Settlement, Settling};
use ledger_core::ops::{Context, MerchantTerms, merchant};
use ledger_core::time::BusinessDate;
use ledger_core::transaction::Planned;
use ledger_runtime::app::App;
use ledger_runtime::execute::{Outcome, PlanError, created, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{self, KeyedJson, PathOf};
use ledger_runtime::views::{Page, SettlementView};
use serde::Deserialize;
use utoipa::ToSchema;

/// A period to be closed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettlementBody {
    merchant_id: String,
    /// On which day it is paid, `2026-11-30`; today in Japan if absent.
    pay_on: Option<String>,
}

/// Why a settlement that stopped is resumed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResumeBody {
    /// At most 140 characters.
    reason: String,
}

/// Closes a merchant's period: what has been credited by now, and is in no settlement yet, is settled. The
/// answer comes at once; the settlement goes on by itself.
#[utoipa::path(post, path = "/v1/admin/settlements", tag = "admin", request_body = SettlementBody,
    params(("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 201, description = "Opened", body = SettlementView),
        (status = 400, description = "`invalid_request`; also if there is nowhere to pay to or from"),
        (status = 404, description = "No such merchant"),
        (status = 409, description = "`already_exists`: a settlement of this merchant is open")))]
pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<SettlementBody>,
) -> Result<Outcome, Problem> {
    let id = request::id("merchant_id", &body.merchant_id, MerchantId::parse)?;
    let date = |text: &str| BusinessDate::parse(text).map_err(|_| Problem::invalid_field("pay_on", "is no date"));
    let pay_on = body.pay_on.as_deref().map(date).transpose()?;
    let fields = Fields::new().with("merchant_id", id).with_some("pay_on", pay_on);
    let request = CanonicalRequest { method: "POST", path: "/v1/admin/settlements".to_owned(), fields };
    let (claim, admission) = app.claim(&who, Operation::SettlementOpen, key, request).await?;
    let plan = async |cx| plan_open(&app, &who, (id, pay_on), &claim, &cx).await;
    let location = |settlement: &Settlement| format!("/v1/admin/merchants/{id}/settlements/{}", settlement.id);
    let render = |settlement: &Settlement| created(location(settlement), &SettlementView::from(settlement));
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

async fn plan_open(
    app: &App,
    who: &Admin,
    (id, pay_on): (MerchantId, Option<BusinessDate>),
    claim: &Claim,
    cx: &Context,
) -> Result<Planned<Settlement>, PlanError> {
    let terms = app.terms(who.tenant()).await?;
    let keys = [Partition::merchant(who.tenant(), id).profile(), keys::settling(who.tenant(), id)];
    let mut items = app.ledger().read_for(claim, &keys).await?.into_iter();
    let profile = items.next().flatten().ok_or(PlanError::Missing)?;
    let destination = merchant::destination(&profile)?;
    // Asked for only by a merchant that is paid through it.
    let provider = match &destination {
        Some(Destination::Stripe { .. }) => app.provider_if_any().await,
        Some(Destination::Bank(_)) | None => None,
    };
    let settling = Settling::read(items.next().flatten().as_ref())?;
    let command = Open {
        tenant: who.tenant(),
        merchant: &MerchantTerms::read(&profile)?,
        destination: destination.as_ref(),
        psp: provider.as_ref().map(|provider| provider.desk().terms()),
        settling: &settling,
        staff: who.staff_id(),
        pay_on,
    };
    Ok(settlement::plan_open(&command, &terms, cx)?)
}

/// A merchant's settlements, newest first.
#[utoipa::path(get, path = "/v1/admin/merchants/{merchant_id}/settlements", tag = "admin",
    params(("merchant_id" = String, Path, description = "The merchant"),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 if absent"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, description = "A page", body = Page<SettlementView>),
        (status = 400, description = "`invalid_request`")))]
pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    request::PathId(id): request::PathId<MerchantId>,
    page: request::Page,
) -> Result<Json<Page<SettlementView>>, Problem> {
    Ok(Json(app.settlements(who.tenant(), id, page).await?))
}

/// One settlement.
#[utoipa::path(get, path = "/v1/admin/merchants/{merchant_id}/settlements/{id}", tag = "admin",
    params(("merchant_id" = String, Path, description = "The merchant"),
        ("id" = String, Path, description = "The settlement")),
    responses((status = 200, description = "The settlement", body = SettlementView),
        (status = 404, description = "No such settlement")))]
pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id)): PathOf<(String, String)>,
) -> Result<Json<SettlementView>, Problem> {
    let (merchant, id) = ids(&merchant, &id)?;
    let settlement = app.settlement(who.tenant(), merchant, id).await?;
    Ok(Json(SettlementView::from(&settlement)))
}

/// Runs a settlement that stopped once more, from where it stands.
#[utoipa::path(post, path = "/v1/admin/merchants/{merchant_id}/settlements/{id}/resume", tag = "admin",
    request_body = ResumeBody,
    params(("merchant_id" = String, Path, description = "The merchant"),
        ("id" = String, Path, description = "The settlement"),
        ("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 200, description = "It goes on", body = SettlementView),
        (status = 400, description = "`invalid_request`; `wrong_state` if it is not stuck"),
        (status = 404, description = "No such settlement")))]
pub(crate) async fn resume(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id)): PathOf<(String, String)>,
    KeyedJson(key, body): KeyedJson<ResumeBody>,
) -> Result<Outcome, Problem> {
    let (merchant, id) = ids(&merchant, &id)?;
    let reason = request::reason("reason", &body.reason)?;
    let fields = Fields::new().with("reason", reason.expose());
    let path = format!("/v1/admin/merchants/{merchant}/settlements/{id}/resume");
    let request = CanonicalRequest { method: "POST", path, fields };
    let (claim, admission) = app.claim(&who, Operation::SettlementResume, key, request).await?;
    let plan = async |cx| {
        let settlement = read(&app, &who, (merchant, id), &claim).await?;
        Ok(settlement::plan_resume(who.tenant(), &settlement, who.actor(), Some(&reason), &cx)?)
    };
    let render = |settlement: &Settlement| ok(&SettlementView::from(settlement));
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

pub(crate) async fn read(
    app: &App,
    who: &Admin,
    (merchant, id): (MerchantId, SettlementId),
    claim: &Claim,
) -> Result<Settlement, PlanError> {
    let items = app.ledger().read_for(claim, &[keys::settlement(who.tenant(), merchant, id)]).await?;
    Ok(Settlement::read(&items.into_iter().flatten().next().ok_or(PlanError::Missing)?)?)
}

pub(crate) fn ids(merchant: &str, id: &str) -> Result<(MerchantId, SettlementId), Problem> {
    let missing = |_| Problem::not_found();
    Ok((MerchantId::parse(merchant).map_err(missing)?, SettlementId::parse(id).map_err(missing)?))
}
