//! Builds the audit trail: trail records in the transactions of operations that call the PSP, and published entries.

use super::build::{Made, NoPlan};
use super::build_topup::{self, Records};
use super::command::{Does, FactJson, FlightStep, MarkerJson, Money, PspJson};
use super::decode::World;
use crate::declared;
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::events;
use ledger_core::idempotency::{Answer, Claim, EventClaim, Flight};
use ledger_core::keys::{Shards, attr, sk};
use ledger_core::psp::{EventId, PspId};
use ledger_core::sealing::{is_to_publish, unmark};
use ledger_core::topups::claim as topup_claim;
use ledger_core::trail::{ProviderAnswer, Record};
use ledger_core::transaction::Transaction;
use serde::{Deserialize, Serialize};

/// What is recorded, and what becomes of index entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's records, where they are described")]
pub enum TrailDoes {
    /// The claim of a top-up.
    Claimed {
        customer: String,
        charge: Money,
        psp: PspJson,
    },
    TakenOver {
        marker: MarkerJson,
    },
    /// The request is sent again after an attempt with an unknown outcome.
    SentAgain {
        marker: MarkerJson,
        attempt: String,
        unknown: String,
    },
    /// The request is refused; the outcome of an earlier attempt is unknown.
    Refused {
        marker: MarkerJson,
        burnt: bool,
        unknown: String,
        code: String,
    },
    /// The PSP's response is stored.
    Landed {
        marker: MarkerJson,
        fact: FactJson,
        topup: String,
    },
    /// An event is applied.
    Reported {
        event: String,
        kind: String,
        fact: FactJson,
        topup: String,
    },
    Canceling {
        topup: String,
    },
    /// Every entry that is due has been published.
    Published {},
    /// Removes the due index entries of what is sealed.
    Unmark {},
}

pub(super) fn make(world: &World, does: &TrailDoes, given: (Option<&Claim>, Option<&Answer>)) -> Result<Made, NoPlan> {
    let (tenant, now) = (&world.tenant, world.cx.now);
    let flight = |marker: &MarkerJson| build_topup::flight_at(world, &build_topup::marker_key(world, marker)).unwrap();
    let base = |does: &Does| match build_topup::make(world, does, given)? {
        Made::Whole(transaction) => Ok::<Transaction, NoPlan>(transaction),
        Made::Draft(_) | Made::Change(_) | Made::Nothing => panic!("a whole transaction"),
    };
    let stepped = |marker: &MarkerJson, step| base(&Does::Flight { marker: marker.clone(), step });
    let recorded = match does {
        TrailDoes::Claimed { customer, charge, psp } => {
            let whole =
                base(&Does::TopupClaim { customer: customer.clone(), charge: charge.clone(), psp: psp.clone() })?;
            let claim = given.0.expect("a claim");
            let command =
                topup_claim::Topup { customer: super::decode::customer(customer), charge: world.amount(charge)? };
            let terms = build_topup::psp_terms(psp);
            let call = topup_claim::plan(&command, claim, &world.terms(), &terms, &world.cx)?;
            whole.recorded(Record::claimed(&Flight::begin(claim, &call, &declared::keys()).unwrap(), claim.actor))
        }
        TrailDoes::TakenOver { marker } => {
            let seen = flight(marker);
            let (next, _) = seen.take_over(now).unwrap().unwrap();
            stepped(marker, FlightStep::TakeOver {})?.recorded(Record::taken_over(&seen, &next, now))
        }
        TrailDoes::SentAgain { marker, attempt, unknown } => {
            let answers = [ProviderAnswer::Unknown(unknown.clone())];
            Transaction::record(Record::sent_again(&flight(marker), attempt.parse().unwrap(), &answers, now))
        }
        TrailDoes::Refused { marker, burnt, unknown, code } => {
            let answers = [
                ProviderAnswer::Unknown(unknown.clone()),
                ProviderAnswer::Refused(code.clone()),
                ProviderAnswer::Absent,
            ];
            let step = FlightStep::FailRetryably { burnt: *burnt };
            stepped(marker, step)?.recorded(Record::answered(&flight(marker), &answers, now))
        }
        TrailDoes::Landed { marker, fact, topup } => {
            let does = Does::TopupLanding { fact: fact.clone(), topup: topup.clone(), refund: None };
            base(&does)?.recorded(Record::answered(&flight(marker), &[ProviderAnswer::Done(object(fact))], now))
        }
        TrailDoes::Reported { event, kind, fact, topup } => {
            let (event_id, kind_of) = (event.clone(), kind.clone());
            let does = Does::TopupEvent {
                event: event_id,
                kind: kind_of,
                fact: fact.clone(),
                topup: topup.clone(),
                refund: None,
            };
            let record = Records::read(world, topup, None)?.topup;
            let event = EventId::parse(event).unwrap();
            let claim = EventClaim { tenant: tenant.clone(), event, kind: kind.clone(), now };
            let operation = ledger_core::operation::Operation::Topup;
            base(&does)?.recorded(Record::event_received(&record, operation, record.principal(), &object(fact), &claim))
        }
        TrailDoes::Canceling { topup } => {
            Transaction::record(Record::canceling(tenant, &Records::read(world, topup, None)?.topup, now))
        }
        TrailDoes::Published {} => {
            let due = |item: &Item| item.text(attr::SK).unwrap().starts_with(sk::TXN) && is_to_publish(tenant, item);
            events::published(tenant, &world.keys_of(due), Shards::new(2).unwrap())
        }
        TrailDoes::Unmark {} => unmark(&world.keys_of(|item| mark(item).is_some() && item.contains_key("_sealed"))),
    };
    Ok(Made::Whole(recorded.unwrap()))
}

fn mark(item: &Item) -> Option<&str> {
    item.opt_text(attr::DUE_PK).unwrap()
}

fn object(fact: &FactJson) -> PspId {
    let (FactJson::Intent { id, .. }
    | FactJson::Refund { id, .. }
    | FactJson::Withdrawn { id, .. }
    | FactJson::Reinstated { id, .. }) = fact;
    PspId::parse(id).unwrap()
}
