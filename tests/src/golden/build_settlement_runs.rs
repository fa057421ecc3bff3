//! Builds what settlement on schedule does. The run, the calendar and the merchants are read from the state.

use super::build::{Made, NoPlan};
use super::decode::{self, World};
use ledger_core::ids::{Actor, JobId, MerchantId, StaffId};
use ledger_core::keys::{self, Partition};
use ledger_core::settlement_runs::{self, ClosingCalendar, MerchantSchedule, RunStart, SeenMerchant, SettlementRun};
use ledger_core::time::BusinessDate;
use serde::{Deserialize, Serialize};

/// An optional field, `null` in the file if it is `None`.
type Maybe<T> = Option<T>;

/// A step of a run, or a change of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum RunDoes {
    /// A person starts a run.
    Start { closing: String },
    /// The worker starts the run of a day that is over.
    Due { closing: String },
    /// The worker deals with days without a run.
    NoRun { until: String },
    /// Sets a merchant's schedule.
    Schedule { merchant: String, schedule: Maybe<String> },
    /// Closes a merchant's period.
    Open { run: String, merchant: String, pay_on: String },
}

pub(super) fn make(world: &World, staff: StaffId, does: &RunDoes) -> Result<Made, NoPlan> {
    let (tenant, terms, cx, reason) = (&world.tenant, world.terms(), &world.cx, decode::text("agreed in May"));
    let read = |run: &str| SettlementRun::read(world.must(&keys::job(tenant, JobId::parse(run).unwrap()))).unwrap();
    let date = |text: &str| BusinessDate::parse(text).unwrap();
    let calendar = || ClosingCalendar::read(world.get(&keys::settlement_calendar(tenant))).unwrap();
    let draft = match does {
        RunDoes::Start { closing } => {
            let (closing, schedule) = (date(closing), terms.settlement_schedule);
            let start = RunStart { tenant, closing, schedule, by: Some((staff, &reason)) };
            settlement_runs::plan(&start, cx)?.draft
        }
        RunDoes::Due { closing } => {
            let run = calendar().run(tenant, date(closing), terms.settlement_schedule, cx);
            return Ok(Made::Whole(run.unwrap()));
        }
        RunDoes::NoRun { until } => {
            return Ok(Made::Whole(calendar().no_run(tenant, date(until), cx.now).unwrap()));
        }
        RunDoes::Schedule { merchant, schedule } => {
            let merchant = MerchantId::parse(merchant).unwrap();
            let to = schedule.as_ref().map(|text| text.parse().unwrap());
            let change = MerchantSchedule { tenant, merchant, to, actor: Actor::Staff(staff), reason: &reason };
            let profile = world.must(&Partition::merchant(tenant, merchant).profile());
            settlement_runs::plan_schedule(&change, profile, &terms, cx)?
        }
        RunDoes::Open { run, merchant, pay_on } => {
            let run = read(run);
            let keys = SeenMerchant::keys(tenant, MerchantId::parse(merchant).unwrap());
            let seen = SeenMerchant::new(keys.iter().map(|key| world.get(key).cloned()).collect());
            let opening = settlement_runs::plan_opening(tenant, &run, (&seen, date(pay_on)), (&terms, None), cx);
            return Ok(Made::Whole(opening.unwrap()));
        }
    };
    Ok(Made::Draft(draft))
}
