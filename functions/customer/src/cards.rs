//! `/v1/me/cards`: the customer's cards. The customer freezes and unfreezes one of them, and sets its PIN.

use axum::Json;
use axum::extract::State;
use ledger_core::cards;
use ledger_core::cards::pin::PinRecord;
use ledger_core::cards::record::CardRecord;
use ledger_core::customers::profile::Status;
use ledger_core::failure::Failure;
use ledger_core::idempotency::Fields;
use ledger_core::ids::CardId;
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_runtime::app::App;
use ledger_runtime::card_pins::{CardPinCheck, SentPin};
use ledger_runtime::endpoint::{Endpoint, Keyed};
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{KeyedJson, PathId, PinText};
use ledger_runtime::views::{CardChangeView, CardView, Page, words};
use serde::Deserialize;
use utoipa::ToSchema;

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/me/cards")
    .summary("Lists the customer's cards.")
    .about("All of them, at most 20. A card that was replaced is not among them.")
    .open()
    .ok::<Page<CardView>>("The cards")
    .when(Code::NotFound, "the customer was moved from this sign-in to another one");

pub(crate) async fn list(State(app): State<App>, who: Customer) -> Result<Json<Page<CardView>>, Problem> {
    let cards = app.cards_of(who.tenant(), who.id()).await?.unwrap_or_default();
    let now = app.now();
    let items = cards.iter().map(|card| CardView { customer_id: None, ..CardView::at(card, now) }).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

/// A change of one of the customer's cards.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardBody {
    /// `frozen` stops every debit of the card; `active` allows them again.
    #[schema(value_type = words::AccountStatus)]
    status: String,
}

pub(crate) const PATCH: Keyed = Endpoint::patch("/v1/me/cards/{card_id}")
    .summary("Freezes or unfreezes one of the customer's cards.")
    .open()
    .id("card_id", "The card's id.")
    .body::<CardBody>()
    .ok::<CardChangeView>("Changed")
    .when(Code::WrongState, "the operator has frozen the card")
    .when(Code::NotFound, "no such card of this customer")
    .keyed(Operation::CardPatch);

pub(crate) async fn patch(
    State(app): State<App>,
    who: Customer,
    PathId(card_id): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<CardBody>,
) -> Result<Outcome, Problem> {
    let status =
        Status::parse(&body.status).ok_or_else(|| Problem::invalid_field("status", "must be active or frozen"))?;
    let fields = Fields::new().with("status", status.name());
    let (claim, admission) = PATCH.claim(&app, &who, key, &[&card_id], fields).await?;
    let plan = async |cx| Ok(cards::record::plan_own_status(who.tenant(), who.id(), card_id, status, &cx)?);
    Ok(app.perform(claim, admission, plan, |receipt| ok(&CardChangeView::from(receipt))).await)
}

/// The PIN of one of the customer's cards.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardPinBody {
    /// The PIN that the card has from then on. It must not repeat one digit or count up or down.
    pin: PinText,
    /// The card's present PIN; absent if it has none.
    current_pin: Option<PinText>,
}

pub(crate) const SET_PIN: Keyed = Endpoint::post("/v1/me/cards/{card_id}/pin")
    .summary("Sets the PIN of one of the customer's cards.")
    .about("A wrong present PIN costs one of five attempts, once per idempotency key.")
    .open()
    .id("card_id", "The card's id.")
    .body::<CardPinBody>()
    .ok::<CardChangeView>("Set")
    .problems(&[Code::PinLocked, Code::PinWrong])
    .when(Code::PinRequired, "the card has a PIN: send it as `current_pin`")
    .when(Code::WrongState, "the card was replaced, or has no PIN although `current_pin` was sent")
    .when(Code::NotFound, "no such card of this customer")
    .keyed(Operation::CardPin);

pub(crate) async fn set_pin(
    State(app): State<App>,
    who: Customer,
    PathId(card): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<CardPinBody>,
) -> Result<Outcome, Problem> {
    let chosen = SentPin::new(&app, body.pin.chosen("pin")?).await?;
    let current = match &body.current_pin {
        Some(text) => Some(SentPin::new(&app, text.typed("current_pin")?).await?),
        None => None,
    };
    let digest = |sent: &SentPin| sent.digest(who.tenant(), card);
    let fields = Fields::new().with("pin", digest(&chosen)).with_some("current_pin", current.as_ref().map(digest));
    let (claim, admission) = SET_PIN.claim(&app, &who, key, &[&card], fields).await?;
    let check = CardPinCheck::new(card, current.as_ref());
    let plan = async |cx| {
        let wanted = [keys::card(who.tenant(), card), keys::card_pin(who.tenant(), card)];
        let mut read = app.ledger().read_for(&claim, &wanted).await?.into_iter();
        let owned = read.next().flatten().map(|item| CardRecord::read(&item)).transpose()?;
        // INVARIANT: an attempt at another's card is not counted.
        if owned.is_none_or(|record| record.owner != Some(who.id())) {
            return Err(PlanError::Missing);
        }
        let record = PinRecord::read(read.next().flatten().as_ref())?;
        match (record.is_set(), &current) {
            (true, _) => check.of_record(&app, &claim, &record, &cx).await?,
            (false, Some(_)) => return Err(Failure::WrongState.into()),
            (false, None) => {}
        }
        chosen.plan_set((card, who.id()), &record, &claim, &cx)
    };
    Ok(app.perform(claim.clone(), admission, plan, |receipt| ok(&CardChangeView::from(receipt))).await)
}
