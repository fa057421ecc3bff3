//! Builds the changes and attempts of a card's PIN. Records are read from the state.

use super::build::{Made, NoPlan};
use super::command_hold::Maybe;
use super::decode::{self, World};
use ledger_core::cards::pin::{self, Pin, PinCheck, PinKeys, PinRecord, PinVerdict};
use ledger_core::idempotency::Claim;
use ledger_core::ids::CardId;
use ledger_core::keys;
use serde::{Deserialize, Serialize};

/// A command. `keys` is the secret's text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum CardPinDoes {
    /// Counts the attempt.
    Reserve {
        card: String,
        keys: String,
        pin: String,
    },
    /// Takes the attempts back after a right one, which is counted in the state.
    TakeBack {
        card: String,
        keys: String,
        pin: String,
    },
    Set {
        card: String,
        customer: String,
        keys: String,
        pin: String,
    },
    Reset {
        card: String,
        actor: String,
        reason: Maybe<String>,
    },
}

pub(super) fn make(world: &World, does: &CardPinDoes, claim: Option<&Claim>) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let record = |card: CardId| PinRecord::read(world.get(&keys::card_pin(tenant, card))).unwrap();
    match does {
        CardPinDoes::Reserve { card, keys, pin } => match step(&record(card_id(card)), claim, card, keys, pin, world) {
            PinCheck::Reserve(reservation) => Ok(Made::Whole(reservation.transaction().clone())),
            other => Err(unwritten(&other)),
        },
        CardPinDoes::TakeBack { card, keys, pin } => {
            match step(&record(card_id(card)), claim, card, keys, pin, world) {
                PinCheck::Verdict(PinVerdict::Right { take_back, .. }) => Ok(Made::Whole(*take_back)),
                other => Err(unwritten(&other)),
            }
        }
        CardPinDoes::Set { card, customer, keys, pin } => {
            let (claim, card) = (claim.expect("a claim"), card_id(card));
            let (keys, pin) = (PinKeys::parse(keys).unwrap(), Pin::parse(pin).unwrap());
            let owner = decode::customer(customer);
            let planned = pin::plan_set((card, owner), &record(card), &keys, claim, &pin, cx);
            Ok(Made::Draft(planned.unwrap().draft))
        }
        CardPinDoes::Reset { card, actor, reason } => {
            let reason = decode::maybe_text(reason);
            let planned = pin::plan_reset(tenant, card_id(card), decode::actor(actor), reason.as_ref(), cx);
            Ok(Made::Draft(planned.draft))
        }
    }
}

fn card_id(card: &str) -> CardId {
    CardId::parse(card).unwrap()
}

fn step(record: &PinRecord, claim: Option<&Claim>, card: &str, keys: &str, pin: &str, world: &World) -> PinCheck {
    let (keys, pin) = (PinKeys::parse(keys).unwrap(), Pin::parse(pin).unwrap());
    pin::check((card_id(card), record), &keys, claim.expect("a claim"), &pin, &world.cx).unwrap()
}

/// The outcome of a check that writes nothing.
fn unwritten(check: &PinCheck) -> NoPlan {
    let outcome = match check {
        PinCheck::NotSet => "refused pin_required".to_owned(),
        PinCheck::Locked => "refused pin_locked".to_owned(),
        PinCheck::AnotherPin => "reused".to_owned(),
        PinCheck::Reserve(_) => "not counted yet".to_owned(),
        PinCheck::Verdict(PinVerdict::Right { .. }) => "right".to_owned(),
        PinCheck::Verdict(PinVerdict::Wrong { attempts_left }) => format!("refused pin_wrong, {attempts_left} left"),
    };
    NoPlan(outcome)
}
