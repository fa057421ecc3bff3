//! Builds the transactions of settlements: by the saga's tasks, by facts of the PSP, and by the operator. Each is
//! decoded as its function reads it, and passed to its builder.

use super::build::{Made, NoPlan};
use super::build_settlement_runs::{self, RunDoes};
use super::command::PspJson;
use super::decode::{self, World};
use ledger_core::crediting::LaneCredit;
use ledger_core::dynamo::Attributes;
use ledger_core::idempotency::EventClaim;
use ledger_core::ids::{MerchantId, SettlementId, StaffId};
use ledger_core::keys::{self, Key, Partition, attr, sk};
use ledger_core::plan::PlanRefusal;
use ledger_core::psp::{EventId, Payout, PayoutStatus, PayoutTags, PspId, PspMoney, PspTerms};
use ledger_core::settlements::returned::{self, PayoutMeaning};
use ledger_core::settlements::{
    Move, Open, PayOn, Settleable, Settlement, Settling, Task, UndoReason, given_back_period, next_move, sending,
};
use ledger_core::terms::MerchantTerms;
use ledger_core::time::BusinessDate;
use ledger_core::transaction::Transaction;
use ledger_core::{merchants, settlements as rules};
use serde::{Deserialize, Serialize};

/// An optional field, `null` in the file if it is `None`.
type Maybe<T> = Option<T>;

/// A step of the saga, or a fact of the PSP. Settlements and records are read from the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the steps are those of the core's saga, where they are described")]
pub enum SettlementStep {
    /// The writes of this task.
    Task {
        task: String,
    },
    /// Collects the returned payouts, and the periods that were given back.
    Collect {},
    GiveBack {},
    /// Closes the merchant's open period of this lane.
    CloseLane {
        lane: String,
    },
    Verified {
        reference: String,
    },
    Send {},
    NextEpoch {},
    Paid {
        reference: String,
    },
    TurnBack {
        why: String,
    },
    Started {},
    Event {
        event: String,
        kind: String,
        payout: String,
        amount: String,
        currency: String,
        status: String,
        livemode: bool,
        account: Maybe<String>,
    },
}

/// A command of the operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum SettlementDoes {
    Open {
        merchant: String,
        pay_on: Maybe<String>,
        psp: Maybe<PspJson>,
    },
    Resume {
        merchant: String,
        settlement: String,
        reason: String,
    },
    /// A step of a run, or a merchant's schedule.
    Run(RunDoes),
}

pub(super) fn step(world: &World, merchant: &str, id: &str, step: &SettlementStep) -> Result<Made, NoPlan> {
    let (tenant, now) = (&world.tenant, world.cx.now);
    let settlement = read(world, merchant, id);
    let built = match step {
        SettlementStep::Task { task } => {
            let task = Task::parse(task).unwrap();
            match next_move(tenant, &settlement, task, now) {
                Ok(Move::Write(transaction)) => return Ok(Made::Whole(*transaction)),
                Ok(Move::Ended(outcome)) => return Err(NoPlan(format!("no write: {}", outcome.name()))),
                Ok(other @ (Move::Collect | Move::GiveBack | Move::Check | Move::Pay)) => {
                    panic!("{other:?}")
                }
                Err(error) => return Err(NoPlan(error.to_string())),
            }
        }
        SettlementStep::Collect {} => {
            let due = world.settleable(settlement.merchant);
            rules::collect(tenant, &settlement, &due, now)
        }
        SettlementStep::GiveBack {} => {
            let records = rules::read_batch(world.must(&rules::last_batch(tenant, &settlement))).unwrap();
            rules::release_batch(tenant, &settlement, &records, now)
        }
        SettlementStep::CloseLane { lane } => {
            let lane = lane.parse().unwrap();
            let credited = world.must(&keys::credited_in_lane(tenant, settlement.merchant, lane));
            let open = LaneCredit::read(lane, credited).unwrap();
            match rules::close_lane(tenant, &settlement, &open, now) {
                Ok(Some(transaction)) => Ok(transaction),
                Ok(None) => return Ok(Made::Nothing),
                Err(error) => Err(error),
            }
        }
        SettlementStep::Verified { reference } => rules::verified(tenant, &settlement, reference, now),
        SettlementStep::Send {} => sending::send(tenant, &settlement, now).map(|(_, transaction)| transaction),
        SettlementStep::NextEpoch {} => sending::next_epoch(tenant, &settlement, now),
        SettlementStep::Paid { reference } => rules::paid(tenant, &settlement, reference, now),
        SettlementStep::TurnBack { why } => {
            let why = UndoReason::ALL.into_iter().find(|reason| reason.name() == why).unwrap();
            rules::start_undo(tenant, &settlement, why, now)
        }
        SettlementStep::Started {} => rules::started(tenant, &settlement, now),
        SettlementStep::Event { event, kind, payout, amount, currency, status, livemode, account } => {
            let payout = Payout {
                id: PspId::parse(payout).unwrap(),
                amount: PspMoney { minor: amount.parse().unwrap(), currency: currency.clone() },
                status: PayoutStatus::reported(status),
                livemode: *livemode,
                tags: Some(PayoutTags {
                    tenant: tenant.clone(),
                    merchant: settlement.merchant,
                    settlement: settlement.id,
                }),
            };
            let draft = match returned::meaning_of(tenant, &settlement, &payout, account.as_deref(), now) {
                PayoutMeaning::Return(draft) => draft,
                PayoutMeaning::Behind => return Err(NoPlan("behind".to_owned())),
                PayoutMeaning::Ahead => return Err(NoPlan("ahead".to_owned())),
                PayoutMeaning::Contradiction(contradiction) => {
                    return Err(NoPlan(format!("odd {}", contradiction.name())));
                }
            };
            let event = EventId::parse(event).unwrap();
            let event = EventClaim { tenant: tenant.clone(), event, kind: kind.clone(), now };
            Transaction::of_event(*draft, &event, &returned::provenance(tenant, &settlement, now))
        }
    };
    Ok(Made::Whole(built.unwrap()))
}

pub(super) fn make(world: &World, staff: StaffId, does: &SettlementDoes) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let draft = match does {
        SettlementDoes::Run(does) => return build_settlement_runs::make(world, staff, does),
        SettlementDoes::Open { merchant, pay_on, psp } => {
            let id = MerchantId::parse(merchant).unwrap();
            let profile = world.must(&Partition::merchant(tenant, id).profile());
            let destination = merchants::destination(profile).map_err(PlanRefusal::from)?;
            let settling = Settling::read(world.get(&keys::settling(tenant, id))).map_err(PlanRefusal::from)?;
            let psp = psp.as_ref().map(|psp| PspTerms {
                ledger: psp.ledger.clone(),
                livemode: psp.livemode,
                account: psp.account.clone(),
            });
            let command = Open {
                tenant,
                merchant: &MerchantTerms::read(profile).map_err(PlanRefusal::from)?,
                destination: destination.as_ref(),
                pay_from: ledger_core::merchants::pay_from(profile).unwrap(),
                psp: psp.as_ref(),
                settling: &settling,
                staff: Some(staff),
                run: None,
                pay_on: pay_on.as_deref().map_or(PayOn::First, |day| PayOn::Stated(BusinessDate::parse(day).unwrap())),
            };
            rules::plan_open(&command, &world.terms(), cx)?.draft
        }
        SettlementDoes::Resume { merchant, settlement, reason } => {
            let (settlement, reason) = (read(world, merchant, settlement), decode::text(reason));
            let actor = ledger_core::ids::Actor::Staff(staff);
            rules::plan_resume(tenant, &settlement, actor, Some(&reason), cx)?.draft
        }
    };
    Ok(Made::Draft(draft))
}

fn read(world: &World, merchant: &str, id: &str) -> Settlement {
    let (merchant, id) = (MerchantId::parse(merchant).unwrap(), SettlementId::parse(id).unwrap());
    Settlement::read(world.must(&keys::settlement(&world.tenant, merchant, id))).unwrap()
}

impl World {
    /// The returned payouts of a merchant, and the periods that were given back, that no settlement has.
    fn settleable(&self, merchant: MerchantId) -> Vec<Settleable> {
        let back: Vec<Key> = self
            .items()
            .filter(|item| item.text(attr::SK).unwrap().starts_with(sk::PERIOD_BACK))
            .map(|item| given_back_period(&self.tenant, merchant, item).unwrap())
            .collect();
        let home = Partition::merchant(&self.tenant, merchant);
        let is_due = |item: &&ledger_core::dynamo::Item| {
            let (pk, sort) = (item.text(attr::PK).unwrap(), item.text(attr::SK).unwrap());
            let is_listed = sort.starts_with(sk::RETURNED) || back.iter().any(|key| key.sk() == sort);
            pk == home.as_str() && is_listed && Settleable::is_free(item)
        };
        self.items().filter(is_due).map(|item| Settleable::read(item).unwrap()).collect()
    }
}
