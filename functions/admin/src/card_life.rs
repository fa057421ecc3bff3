//! `/v1/admin/cards`: lists cards, assigns one to a customer, blocks one that is lost, and replaces it.

use crate::approvals;
use crate::cards::current_terms;
use crate::customers::record_read;
use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::approvals::Command;
use ledger_core::cards::life::{plan_assign, plan_block};
use ledger_core::cards::listing::CardFilter;
use ledger_core::cards::record::{CardReceipt, CardRecord, CardStatus};
use ledger_core::cards::replace::ReplacedCard;
use ledger_core::idempotency::Fields;
use ledger_core::ids::{CardId, CustomerId};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::time::UtcDay;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter, Permission};
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::permission;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, Params, PathId, SentText};
use ledger_runtime::views::{CardChangeView, CardView, Page, words};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The statuses that a list can be restricted to.
const STATUSES: &[&str] = &["active", "frozen", "blocked", "expired", "replaced", "closed"];

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/cards")
    .summary("Lists cards, the largest id first.")
    .about(
        "Ids that the ledger makes are in the order of issue. A card is listed a moment after it is issued. With `state`, \
         `from` or `to`, a page may have fewer items than `limit`, or none, and still a `next_cursor`. With `owner`, all \
         cards of that customer are on one page; it also needs `customers.read`, and the audit trail shows who read them.",
    )
    .permission(Permission::CardsRead)
    .pages_of::<CardView>()
    .parameter(Parameter::in_query("state", "Cards of this status only.", Kind::Word(STATUSES)))
    .parameter(Parameter::in_query("owner", "Cards of this customer only.", Kind::Id))
    .parameter(Parameter::in_query("from", "Cards that were issued on this day (UTC) or later.", Kind::Day))
    .parameter(Parameter::in_query("to", "Cards that were issued on this day (UTC) or earlier.", Kind::Day))
    .when(Code::NotFound, "no such customer");

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<CardView>>, Problem> {
    let status = params.take("state")?;
    let words = "active, frozen, blocked, expired, replaced or closed";
    let status = status.map(|word| request::word("state", &word, CardStatus::parse, words)).transpose()?;
    let owner = params.take("owner")?.map(|id| request::id("owner", &id, CustomerId::parse)).transpose()?;
    let (from, to) = (day(&mut params, "from")?, day(&mut params, "to")?);
    let page = params.page()?;
    params.finish()?;
    let from = from.and_then(UtcDay::previous).map(UtcDay::end);
    let filter = CardFilter { status, from, to: to.map(UtcDay::end) };
    let Some(owner) = owner else { return Ok(Json(app.cards(who.tenant(), filter, page).await?)) };
    permission::require(&app, &who.member(), Permission::CustomersRead).await?;
    let (cards, now) = (app.cards_of(who.tenant(), owner).await?.ok_or_else(Problem::not_found)?, app.now());
    let items = cards.iter().filter(|card| filter.admits(card, now)).map(|card| CardView::at(card, now));
    record_read(&app, &who, owner).await?;
    Ok(Json(Page { items: items.collect(), next_cursor: None }))
}

fn day(params: &mut Params, name: &str) -> Result<Option<UtcDay>, Problem> {
    let read = |text: String| {
        UtcDay::parse(&text).map_err(|_| Problem::invalid_field(name, "must be a date such as 2026-11-21"))
    };
    params.take(name)?.map(read).transpose()
}

/// The customer who gets a card.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardAssignBody {
    /// The customer's id.
    customer_id: String,
    /// The reason; at most 140 characters, no card number.
    reason: Option<String>,
}

pub(crate) const ASSIGN: Keyed = Endpoint::post("/v1/admin/cards/{card_id}/assign")
    .summary("Assigns a card without an owner to a customer, with its balance.")
    .permission(Permission::CardsManage)
    .id("card_id", "The card's id.")
    .body::<CardAssignBody>()
    .ok::<CardChangeView>("Assigned")
    .problems(&[Code::AccountFrozen])
    .when(Code::WrongState, "the card has an owner or cannot be used")
    .when(Code::LimitExceeded, "the customer has 20 cards")
    .when(Code::NotFound, "no such card or customer")
    .asks_ties()
    .keyed(Operation::CardAssign);

pub(crate) async fn assign(
    State(app): State<App>,
    who: Admin,
    PathId(card): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<CardAssignBody>,
) -> Result<Outcome, Problem> {
    let owner = request::id("customer_id", &body.customer_id, CustomerId::parse)?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields = Fields::new().with("customer_id", owner);
    let fields = fields.with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = ASSIGN.claim(&app, &who, key, &[&card], fields).await?;
    let plan = async |cx: Context| {
        let reason = request::text_of(reason.as_ref())?;
        let planned = plan_assign(who.tenant(), (card, owner), (who.actor(), reason.as_ref()), &cx)?;
        let of = (vec![Account::Card(card), Account::Customer(owner)], Permission::CardsManage);
        app.alone((&claim, &who.member()), of, planned).await
    };
    Ok(app.perform(claim.clone(), admission, plan, |receipt| ok(&CardChangeView::from(receipt))).await)
}

/// Why a card is blocked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardBlockBody {
    /// The reason; at most 140 characters, no card number.
    reason: Option<String>,
}

/// A card that was blocked.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CardBlockedView {
    /// The card's id.
    card_id: String,
    /// `blocked`.
    #[schema(value_type = words::CardBlockedStatus)]
    status: &'static str,
    /// The time of the change.
    updated_at: String,
}

pub(crate) const BLOCK: Keyed = Endpoint::post("/v1/admin/cards/{card_id}/block")
    .summary("Blocks a card that is lost.")
    .about("No terminal debits or loads it. What is returned to it still arrives. Only a replacement ends this.")
    .permission(Permission::CardsManage)
    .id("card_id", "The card's id.")
    .body::<CardBlockBody>()
    .ok::<CardBlockedView>("Blocked")
    .when(Code::WrongState, "the card is blocked or replaced")
    .when(Code::NotFound, "no such card")
    .asks_ties()
    .keyed(Operation::CardBlock);

pub(crate) async fn block(
    State(app): State<App>,
    who: Admin,
    PathId(card): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<CardBlockBody>,
) -> Result<Outcome, Problem> {
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields = Fields::new().with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = BLOCK.claim(&app, &who, key, &[&card], fields).await?;
    let plan = async |cx: Context| {
        let reason = request::text_of(reason.as_ref())?;
        let planned = plan_block(who.tenant(), card, (who.actor(), reason.as_ref()), &cx)?;
        app.alone((&claim, &who.member()), (vec![Account::Card(card)], Permission::CardsManage), planned).await
    };
    let blocked = |receipt: &CardReceipt| CardBlockedView {
        card_id: receipt.card.to_string(),
        status: "blocked",
        updated_at: receipt.at.to_string(),
    };
    Ok(app.perform(claim.clone(), admission, plan, |receipt| ok(&blocked(receipt))).await)
}

/// The card that replaces another.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardReplaceBody {
    /// The id of a card that has no owner and no balance.
    new_card_id: String,
    /// The reason; at most 140 characters, no card number.
    reason: Option<String>,
}

pub(crate) const REPLACE: Keyed = Endpoint::post("/v1/admin/cards/{card_id}/replace")
    .summary("Replaces a card by another one, which gets its owner and its balance.")
    .about(
        "Later refunds and reversals go to the other card, which also keeps what was used of the limits. It has no PIN: the \
         owner sets one.",
    )
    .permission(Permission::CardsManage)
    .id("card_id", "The id of the card that is replaced.")
    .body::<CardReplaceBody>()
    .approvable()
    .when(Code::AccountFrozen, "the operator has frozen one of the cards")
    .when(
        Code::WrongState,
        "the card was replaced, the other one has an owner or a balance or cannot be used, or it is the ninth \
         in a row",
    )
    .when(Code::LimitExceeded, "the customer has 20 cards, and this one is not among them")
    .when(Code::NotFound, "no such card")
    .keyed(Operation::CardReplace);

pub(crate) async fn replace(
    State(app): State<App>,
    who: Admin,
    PathId(card): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<CardReplaceBody>,
) -> Result<Outcome, Problem> {
    let by = request::id("new_card_id", &body.new_card_id, CardId::parse)?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields = Fields::new().with("new_card_id", by);
    let fields = fields.with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = REPLACE.claim(&app, &who, key, &[&card], fields).await?;
    let at = keys::card(who.tenant(), card);
    let plan = async |cx: Context| {
        let (terms, reason) = (current_terms(&app, &claim, &cx).await?, request::text_of(reason.as_ref())?);
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&at)).await?;
        let owner = CardRecord::read(items.iter().flatten().next().ok_or(PlanError::Missing)?)?.owner;
        let of = ReplacedCard { card, by, owner };
        let items = app.ledger().read_for(&claim, &of.keys(who.tenant())).await?;
        let (member, command) = (who.member(), Command::CardReplace(of));
        app.request_approval((&claim, &member), (command, reason.as_ref()), &terms, &items, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}
