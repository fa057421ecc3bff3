//! `PATCH /v1/me/cards/{card_id}`: freezes and unfreezes the customer's own card.

use axum::extract::State;
use ledger_core::cards;
use ledger_core::customers::profile::Status;
use ledger_core::idempotency::Fields;
use ledger_core::ids::CardId;
use ledger_core::operation::Operation;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed};
use ledger_runtime::execute::{Outcome, ok};
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{KeyedJson, PathId};
use ledger_runtime::views::{CardChangeView, words};
use serde::Deserialize;
use utoipa::ToSchema;

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
