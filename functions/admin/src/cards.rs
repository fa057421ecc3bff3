//! `/v1/admin/cards`: issues, shows, freezes and unfreezes cards, and removes their PINs.

use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::cards::pin::PinRecord;
use ledger_core::cards::record::{CardIssue, CardRecord};
use ledger_core::customers::profile::Status;
use ledger_core::idempotency::{Claim, Fields};
use ledger_core::ids::{CardId, CustomerId};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::terms::TenantTerms;
use ledger_core::time::Timestamp;
use ledger_core::{cards, keys};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError, created, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathId, SentText, StatusBody};
use ledger_runtime::views::{CardChangeView, CardView, unclaimed_of};
use serde::Deserialize;
use utoipa::ToSchema;

/// A request to issue a card.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardIssueBody {
    /// The id that is printed on the card; a new id is made if absent.
    card_id: Option<String>,
    /// The customer's id; absent for a card that is not issued to a customer.
    customer_id: Option<String>,
    /// The time from which no terminal debits or loads the card, in UTC; absent if it does not expire.
    #[schema(example = "2030-04-01T00:00:00.000Z")]
    expires_at: Option<String>,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/cards")
    .summary("Issues a card.")
    .permission(Permission::CardsManage)
    .body::<CardIssueBody>()
    .created::<CardChangeView>("Issued")
    .problems(&[Code::AlreadyExists])
    .when(Code::LimitExceeded, "the customer has 20 cards")
    .when(Code::WrongState, "`expires_at` was sent, and the tenant's records have no expiry")
    .when(Code::NotFound, "no such customer")
    .asks_ties()
    .keyed(Operation::CardIssue);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<CardIssueBody>,
) -> Result<Outcome, Problem> {
    let id = body.card_id.as_deref().map(|id| request::id("card_id", id, CardId::parse)).transpose()?;
    let owner = body.customer_id.as_deref().map(|id| request::id("customer_id", id, CustomerId::parse));
    let owner = owner.transpose()?;
    let expires_at = body.expires_at.as_deref().map(expiry).transpose()?;
    let fields = Fields::new().with_some("card_id", id).with_some("customer_id", owner);
    let fields = fields.with_some("expires_at", expires_at);
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], fields).await?;
    let plan = async |cx: Context| {
        let issue = CardIssue { tenant: who.tenant(), card: id, owner, expires_at, actor: who.actor() };
        let planned = cards::record::plan_issue(&issue, &cx)?;
        let of = (owner.map(Account::Customer).into_iter().collect(), Permission::CardsManage);
        app.alone((&claim, &who.member()), of, planned).await
    };
    Ok(app
        .perform(claim.clone(), admission, plan, |receipt| {
            created(GET.path(&[&receipt.card]), &CardChangeView::from(receipt))
        })
        .await)
}

/// The time from which a card cannot be used.
pub(crate) fn expiry(text: &str) -> Result<Timestamp, Problem> {
    Timestamp::parse(text).map_err(|_| Problem::invalid_field("expires_at", "must be a time in UTC"))
}

/// The tenant's terms as they are stored: a cache may have those of a minute ago.
pub(crate) async fn current_terms(app: &App, claim: &Claim, cx: &Context) -> Result<TenantTerms, PlanError> {
    let items = app.ledger().read_for(claim, &[keys::config(&claim.tenant)]).await?;
    Ok(TenantTerms::read(items.iter().flatten().next().ok_or(PlanError::Missing)?, cx.now)?)
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/cards/{card_id}")
    .summary("Returns a card.")
    .permission(Permission::CardsRead)
    .id("card_id", "The card's id.")
    .ok::<CardView>("The card")
    .when(Code::NotFound, "no such card");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<CardId>,
) -> Result<Json<CardView>, Problem> {
    let wanted = [keys::card(who.tenant(), id), keys::card_pin(who.tenant(), id)];
    let mut read = app.dynamo().get_many(&wanted).await?.into_iter();
    let item = read.next().flatten().ok_or_else(Problem::not_found)?;
    let pin = PinRecord::read(read.next().flatten().as_ref())?;
    Ok(Json(CardView {
        pin: pin.state(),
        unclaimed: unclaimed_of(&item)?,
        ..CardView::at(&CardRecord::read(&item)?, app.now())
    }))
}

pub(crate) const PATCH: Keyed = Endpoint::patch("/v1/admin/cards/{card_id}")
    .summary("Freezes or unfreezes a card.")
    .permission(Permission::CardsManage)
    .id("card_id", "The card's id.")
    .body::<StatusBody>()
    .ok::<CardChangeView>("Changed")
    .problems(&[Code::WrongState])
    .when(Code::NotFound, "no such card")
    .asks_ties()
    .keyed(Operation::CardAdminPatch);

pub(crate) async fn patch(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<StatusBody>,
) -> Result<Outcome, Problem> {
    let status = request::word("status", &body.status, Status::parse, "active or frozen")?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields =
        Fields::new().with("status", status.name()).with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = PATCH.claim(&app, &who, key, &[&id], fields).await?;
    let plan = async |cx| {
        let reason = request::text_of(reason.as_ref())?;
        let planned = cards::record::plan_status(who.tenant(), id, status, who.actor(), reason.as_ref(), &cx)?;
        app.alone((&claim, &who.member()), (vec![Account::Card(id)], Permission::CardsManage), planned).await
    };
    Ok(app.perform(claim.clone(), admission, plan, |receipt| ok(&CardChangeView::from(receipt))).await)
}

/// Why a card's PIN is removed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PinResetBody {
    /// The reason, for the audit trail.
    reason: Option<String>,
}

pub(crate) const RESET_PIN: Keyed = Endpoint::post("/v1/admin/cards/{card_id}/pin-reset")
    .summary("Removes a card's PIN and its attempts.")
    .about("The owner then sets another one. Until then the card pays up to the amount that needs no PIN.")
    .permission(Permission::CardsManage)
    .id("card_id", "The card's id.")
    .body::<PinResetBody>()
    .ok::<CardChangeView>("Removed")
    .when(Code::WrongState, "the card has no PIN")
    .when(Code::NotFound, "no such card")
    .asks_ties()
    .keyed(Operation::CardPinReset);

pub(crate) async fn reset_pin(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<PinResetBody>,
) -> Result<Outcome, Problem> {
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields = Fields::new().with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = RESET_PIN.claim(&app, &who, key, &[&id], fields).await?;
    let plan = async |cx| {
        let reason = request::text_of(reason.as_ref())?;
        let planned = cards::pin::plan_reset(who.tenant(), id, who.actor(), reason.as_ref(), &cx);
        app.alone((&claim, &who.member()), (vec![Account::Card(id)], Permission::CardsManage), planned).await
    };
    Ok(app.perform(claim.clone(), admission, plan, |receipt| ok(&CardChangeView::from(receipt))).await)
}
