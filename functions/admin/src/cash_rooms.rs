//! `/v1/admin/merchants/{merchant_id}/cash-room`, `/v1/admin/cash-room` and `/v1/admin/terminals/{terminal_id}/cash-room`:
//! how much cash that it owes a merchant's tills may take, and how much the operator's counters.

use crate::approvals;
use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::approvals::{Approval, Command};
use ledger_core::cash_rooms::{self, CashRooms, RoomChange, RoomReceipt};
use ledger_core::idempotency::{Claim, Fields};
use ledger_core::ids::{MerchantId, TerminalId, TerminalOwner};
use ledger_core::keys::Partition;
use ledger_core::money::{Amount, AssetSpec, Balance};
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::plan::Context;
use ledger_core::terminals::TerminalRecord;
use ledger_core::transaction::Planned;
use ledger_runtime::app::App;
use ledger_runtime::approvals::Requested;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId, SentText};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request to set the ceiling of the cash rooms of a merchant or of the operator.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"ceiling": "300000"}))]
pub(crate) struct CeilingBody {
    /// The most that all its terminals together may have taken and not returned, with their rooms, in yen.
    ceiling: AmountText,
    /// The reason for the change; at most 140 characters, no card number.
    reason: Option<String>,
}

/// A request to change a terminal's cash room: either to allot or to withdraw.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"allot": "50000"}))]
pub(crate) struct RoomBody {
    /// The room to allot to the terminal out of its owner's unallotted room, in yen.
    #[serde(default, deserialize_with = "AmountText::if_present")]
    #[schema(value_type = AmountText, required = false)]
    allot: Option<AmountText>,
    /// The unused room to withdraw from the terminal, in yen.
    #[serde(default, deserialize_with = "AmountText::if_present")]
    #[schema(value_type = AmountText, required = false)]
    withdraw: Option<AmountText>,
    /// The reason for the change; at most 140 characters, no card number.
    reason: Option<String>,
}

/// The cash rooms of a merchant or of the operator. Amounts are in yen.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CashRoomsView {
    /// The merchant's id; absent for the operator's counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    merchant_id: Option<String>,
    /// The most that all terminals together may have taken and not returned, with their rooms.
    ceiling: String,
    /// What of the ceiling no terminal was allotted.
    unallotted: String,
    /// The cash that settlements have covered, or that was collected, and whose room is unallotted again.
    covered: String,
    /// What each terminal was allotted.
    terminals: Vec<AllottedView>,
}

/// What a terminal was allotted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AllottedView {
    /// The terminal's id.
    terminal_id: String,
    /// Its room, and the cash that it has taken and not returned, in yen.
    allotted: String,
}

/// A terminal's cash room.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CashRoomView {
    /// The terminal's id.
    terminal_id: String,
    /// The merchant that owes the cash; absent for a counter.
    #[serde(skip_serializing_if = "Option::is_none")]
    merchant_id: Option<String>,
    /// How much cash the terminal may still take, in yen.
    cash_room: String,
    /// The cash that a counter took and that was not collected, in yen; absent for a till.
    #[serde(skip_serializing_if = "Option::is_none")]
    outstanding: Option<String>,
}

/// Cash room that was withdrawn from a terminal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RoomChangeView {
    /// The terminal's id.
    terminal_id: String,
    /// The merchant that owes the cash; absent for a counter.
    #[serde(skip_serializing_if = "Option::is_none")]
    merchant_id: Option<String>,
    /// The room that was withdrawn, in yen.
    withdrawn: String,
    /// The time of the change.
    updated_at: String,
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/merchants/{merchant_id}/cash-room")
    .summary("Returns the cash rooms of a merchant.")
    .permission(Permission::MerchantsRead)
    .id("merchant_id", "The merchant's id.")
    .ok::<CashRoomsView>("The cash rooms")
    .when(Code::NotFound, "no such merchant");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(merchant): PathId<MerchantId>,
) -> Result<Json<CashRoomsView>, Problem> {
    view(&app, &who, TerminalOwner::Merchant(merchant)).await.map(Json)
}

pub(crate) const GET_OWN: Endpoint = Endpoint::get("/v1/admin/cash-room")
    .summary("Returns the cash rooms of the operator's counters.")
    .permission(Permission::TerminalsRead)
    .ok::<CashRoomsView>("The cash rooms")
    .when(Code::NotFound, "the operator has no ceiling");

pub(crate) async fn get_own(State(app): State<App>, who: Admin) -> Result<Json<CashRoomsView>, Problem> {
    view(&app, &who, TerminalOwner::Operator).await.map(Json)
}

async fn view(app: &App, who: &Admin, owner: TerminalOwner) -> Result<CashRoomsView, Problem> {
    let key = cash_rooms::rooms_of(who.tenant(), owner).cash_rooms();
    let item = app.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?;
    let rooms = CashRooms::read(&item)?;
    let terminals = rooms.allotted.iter();
    let terminals = terminals
        .map(|(terminal, allotted)| AllottedView { terminal_id: terminal.to_string(), allotted: allotted.text() });
    Ok(CashRoomsView {
        merchant_id: shown(owner),
        ceiling: rooms.ceiling.text(),
        unallotted: rooms.unallotted.text(),
        covered: rooms.covered.text(),
        terminals: terminals.collect(),
    })
}

/// The id of a till's merchant; a counter has none.
fn shown(owner: TerminalOwner) -> Option<String> {
    owner.merchant().map(|merchant| merchant.to_string())
}

pub(crate) const SET: Keyed = Endpoint::post("/v1/admin/merchants/{merchant_id}/cash-room")
    .summary("Sets the ceiling of a merchant's cash rooms.")
    .about("Room that terminals were allotted is not changed.")
    .permission(Permission::CashRoomsChange)
    .id("merchant_id", "The merchant's id.")
    .body::<CeilingBody>()
    .approvable()
    .when(Code::CashRoomExceeded, "terminals were allotted more than the new ceiling")
    .when(Code::NotFound, "no such merchant")
    .keyed(Operation::CashCeiling);

pub(crate) async fn set(
    State(app): State<App>,
    who: Admin,
    PathId(merchant): PathId<MerchantId>,
    KeyedJson(key, body): KeyedJson<CeilingBody>,
) -> Result<Outcome, Problem> {
    let ceiling = body.ceiling.to_amount(&AssetSpec::ECOPAY, "ceiling")?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields =
        Fields::new().with_amount("ceiling", &ceiling).with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = SET.claim(&app, &who, key, &[&merchant], fields).await?;
    let plan = async |cx| {
        let (owner, reason) = (TerminalOwner::Merchant(merchant), request::text_of(reason.as_ref())?);
        plan_ceiling((&app, &who, &claim), owner, (&ceiling, reason.as_ref()), &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

pub(crate) const SET_OWN: Keyed = Endpoint::post("/v1/admin/cash-room")
    .summary("Sets the ceiling of the cash rooms of the operator's counters.")
    .about("Room that counters were allotted is not changed.")
    .permission(Permission::CashRoomsChange)
    .body::<CeilingBody>()
    .approvable()
    .when(Code::CashRoomExceeded, "counters were allotted more than the new ceiling")
    .keyed(Operation::CashCeiling);

pub(crate) async fn set_own(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<CeilingBody>,
) -> Result<Outcome, Problem> {
    let ceiling = body.ceiling.to_amount(&AssetSpec::ECOPAY, "ceiling")?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields =
        Fields::new().with_amount("ceiling", &ceiling).with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = SET_OWN.claim(&app, &who, key, &[], fields).await?;
    let plan = async |cx| {
        let reason = request::text_of(reason.as_ref())?;
        plan_ceiling((&app, &who, &claim), TerminalOwner::Operator, (&ceiling, reason.as_ref()), &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

/// Plans the request for a ceiling.
async fn plan_ceiling(
    (app, who, claim): (&App, &Admin, &Claim),
    owner: TerminalOwner,
    (ceiling, reason): (&Amount, Option<&FreeText>),
    cx: &Context,
) -> Result<Planned<Approval>, PlanError> {
    let rooms = cash_rooms::rooms_of(who.tenant(), owner).cash_rooms();
    let items = app.ledger().read_for(claim, std::slice::from_ref(&rooms)).await?;
    let seen = items.iter().flatten().next().map(CashRooms::read).transpose()?;
    let terms = app.terms(who.tenant()).await?;
    let command = Command::CashCeiling { owner, ceiling: ceiling.clone(), seen: seen.map(|rooms| rooms.ceiling) };
    app.request_approval((claim, &who.member()), (command, reason), &terms, &items, cx).await
}

pub(crate) const GET_ROOM: Endpoint = Endpoint::get("/v1/admin/terminals/{terminal_id}/cash-room")
    .summary("Returns the cash room of a terminal.")
    .permission(Permission::TerminalsRead)
    .id("terminal_id", "The terminal's id.")
    .ok::<CashRoomView>("The cash room")
    .when(Code::NotFound, "no such terminal");

pub(crate) async fn get_room(
    State(app): State<App>,
    who: Admin,
    PathId(terminal): PathId<TerminalId>,
) -> Result<Json<CashRoomView>, Problem> {
    let key = Partition::terminal(who.tenant(), terminal).profile();
    let item = app.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?;
    let record = TerminalRecord::read(&item)?;
    let room = cash_rooms::room_of(&item)?;
    let text = |sum: Option<Balance>| sum.map_or_else(|| "0".to_owned(), |sum| sum.text());
    let outstanding = match record.owner {
        TerminalOwner::Merchant(_) => None,
        TerminalOwner::Operator => Some(text(cash_rooms::outstanding_of(&item)?)),
    };
    Ok(Json(CashRoomView {
        terminal_id: terminal.to_string(),
        merchant_id: shown(record.owner),
        cash_room: text(room),
        outstanding,
    }))
}

pub(crate) const CHANGE_ROOM: Keyed = Endpoint::post("/v1/admin/terminals/{terminal_id}/cash-room")
    .summary("Allots cash room of its merchant, or of the operator, to a terminal, or withdraws unused room.")
    .about("Withdrawing needs no approval.")
    .permission(Permission::CashRoomsChange)
    .id("terminal_id", "The terminal's id.")
    .body::<RoomBody>()
    .ok::<RoomChangeView>("Withdrawn")
    .approvable()
    .when(Code::CashRoomExceeded, "less room is unallotted, or the terminal has less unused room")
    .when(Code::WrongState, "room is allotted to a closed terminal")
    .when(Code::NotFound, "no such terminal")
    .keyed(Operation::CashRoom);

pub(crate) async fn change_room(
    State(app): State<App>,
    who: Admin,
    PathId(terminal): PathId<TerminalId>,
    KeyedJson(key, body): KeyedJson<RoomBody>,
) -> Result<Outcome, Problem> {
    let amount = |text: &AmountText, field| text.to_amount(&AssetSpec::ECOPAY, field);
    let change = match (&body.allot, &body.withdraw) {
        (Some(allot), None) => RoomChange::Allot(amount(allot, "allot")?),
        (None, Some(withdraw)) => RoomChange::Withdraw(amount(withdraw, "withdraw")?),
        (Some(_), Some(_)) | (None, None) => return Err(Problem::invalid_field("allot", "allot or withdraw")),
    };
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields = match &change {
        RoomChange::Allot(amount) => Fields::new().with_amount("allot", amount),
        RoomChange::Withdraw(amount) => Fields::new().with_amount("withdraw", amount),
    };
    let fields = fields.with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = CHANGE_ROOM.claim(&app, &who, key, &[&terminal], fields).await?;
    let profile = Partition::terminal(who.tenant(), terminal).profile();
    let plan = async |cx| {
        let seen = app.ledger().read_for(&claim, std::slice::from_ref(&profile)).await?.into_iter().flatten().next();
        let record = TerminalRecord::read(&seen.ok_or(PlanError::Missing)?)?;
        let reason = request::text_of(reason.as_ref())?;
        let terms = app.terms(who.tenant()).await?;
        match &change {
            RoomChange::Allot(room) => {
                let command = Command::CashRoom { terminal, owner: record.owner, room: room.clone() };
                let items = app.ledger().read_for(&claim, &command.keys(who.tenant(), &terms)).await?;
                let of = (command, reason.as_ref());
                let stored = app.request_approval((&claim, &who.member()), of, &terms, &items, &cx).await?;
                Ok(Requested::pending(stored))
            }
            RoomChange::Withdraw(_) => {
                let (of, by) = ((terminal, record.owner), (who.actor(), reason.as_ref()));
                let planned = cash_rooms::plan_room(who.tenant(), of, &change, by, &cx)?;
                let of = record.owner.merchant().map(Account::Merchant).into_iter().collect();
                let of = (of, Permission::CashRoomsChange);
                Ok(Requested::executed(app.alone((&claim, &who.member()), of, planned).await?))
            }
        }
    };
    let changed = |receipt: &RoomReceipt| ok(&RoomChangeView::from(receipt));
    let render = |requested: &Requested<RoomReceipt>| requested.answer(&approvals::GET, changed);
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

impl From<&RoomReceipt> for RoomChangeView {
    fn from(receipt: &RoomReceipt) -> Self {
        // Room that is allotted is answered with the approval that it needs.
        let (RoomChange::Allot(amount) | RoomChange::Withdraw(amount)) = &receipt.change;
        Self {
            terminal_id: receipt.terminal.to_string(),
            merchant_id: shown(receipt.owner),
            withdrawn: amount.text(),
            updated_at: receipt.at.to_string(),
        }
    }
}
