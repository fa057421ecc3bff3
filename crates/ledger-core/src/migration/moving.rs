//! From one phase to the next, or back: what has to be known before, and the one write that does it.

use super::plan::{Phase, Stage};
use super::setting::{ATTRIBUTE, Fence, Migration};
use crate::dynamo::{Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Tenant};
use crate::keys::{self, attr};
use crate::ops::Context;
use crate::ops::audit::Act;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction, exists};
use std::time::Duration;

/// For how long a setting may still be planned by after it was changed: as long as it is cached, and then as long as
/// the longest request takes.
pub const SETTLES: Duration = Duration::from_secs(60 + 30);
/// How old a report may be that a phase is entered on.
pub const RECENT: Duration = Duration::from_secs(24 * 60 * 60);

/// What a pass over all customers came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassResult {
    /// The fence of the setting by which it was made.
    pub fence: i64,
    /// When it was over; `None` while it is not.
    pub finished_at: Option<Timestamp>,
    /// Customers in whom it found, or left, something.
    pub left: i64,
}

/// What is known when a phase is to be entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The last backfill.
    pub backfill: Option<PassResult>,
    /// The last comparison.
    pub verify: Option<PassResult>,
    /// The last contraction.
    pub contract: Option<PassResult>,
}

/// Why a migration may not move.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// One phase at a time.
    #[error("from phase {from} the way leads to the one before or the one after, not to {to}")]
    Skips {
        /// Where the tenant stands.
        from: u8,
        /// Where to.
        to: u8,
    },
    /// Who has read the setting before may still be at work.
    #[error("the phase was changed a moment ago: wait {} s, until every function has seen it", wait.as_secs().saturating_add(1))]
    Unsettled {
        /// For how much longer.
        wait: Duration,
    },
    /// Not every customer has both models.
    #[error("enter this phase after a backfill under the present one that left nobody: {why}")]
    NotBackfilled {
        /// What is missing of it.
        why: &'static str,
    },
    /// Nobody knows that both models say the same.
    #[error("enter this phase after a comparison under the present one that found nothing: {why}")]
    NotVerified {
        /// What is missing of it.
        why: &'static str,
    },
    /// The God Records are being emptied.
    #[error("the God Records are being emptied: there is no way back")]
    Contracting,
    /// Something is still read from the God Record.
    #[error("the God Records can be emptied in the last phase only")]
    NotLast,
    /// Not every God Record is empty.
    #[error("the migration is over after a contraction that left nobody: {why}")]
    NotContracted {
        /// What is missing of it.
        why: &'static str,
    },
}

impl PassResult {
    /// Whether it says, of the present setting, that nothing is left; else why it does not.
    fn holds(this: Option<Self>, migration: &Migration, now: Timestamp) -> Result<(), &'static str> {
        let Some(this) = this else { return Err("there has been none") };
        if this.fence != migration.fence.number() {
            return Err("the last one was made under another setting");
        }
        match this.finished_at {
            None => Err("it is not over"),
            Some(at) if now.since(at) > RECENT => Err("it is more than a day old"),
            Some(_) if this.left > 0 => Err("it found something"),
            Some(_) => Ok(()),
        }
    }
}

impl Migration {
    /// In another phase: the next one, or the one before.
    ///
    /// # Errors
    /// [`Refused`] if it may not be entered.
    pub fn moved(&self, to: Phase, evidence: &Evidence, now: Timestamp) -> Result<Self, Refused> {
        let forward = self.phase.next() == Some(to);
        if !forward && self.phase.back() != Some(to) {
            return Err(Refused::Skips { from: self.phase.number(), to: to.number() });
        }
        if self.contracting {
            return Err(Refused::Contracting);
        }
        self.has_settled(now)?;
        if forward && let Some((_, stage)) = to.entered_by() {
            let backfilled =
                || PassResult::holds(evidence.backfill, self, now).map_err(|why| Refused::NotBackfilled { why });
            let verified = || PassResult::holds(evidence.verify, self, now).map_err(|why| Refused::NotVerified { why });
            match stage {
                Stage::LegacyOnly | Stage::DualWrite => {}
                Stage::Backfilled => backfilled()?,
                Stage::ReadNew | Stage::NewOnly => verified()?,
            }
        }
        Ok(Self { phase: to, fence: self.fence.next(), since: now, ..self.clone() })
    }

    /// On the way to empty God Records, from which there is no way back.
    ///
    /// # Errors
    /// [`Refused`] if something is still read there.
    pub fn contracting(&self, now: Timestamp) -> Result<Self, Refused> {
        if !self.phase.is_last() {
            return Err(Refused::NotLast);
        }
        self.has_settled(now)?;
        Ok(Self { contracting: true, fence: self.fence.next(), since: now, ..self.clone() })
    }

    /// Whether it may be over: every God Record is empty.
    ///
    /// # Errors
    /// [`Refused`] if that is not known.
    pub fn may_end(&self, evidence: &Evidence, now: Timestamp) -> Result<(), Refused> {
        if !self.contracting {
            return Err(Refused::NotLast);
        }
        PassResult::holds(evidence.contract, self, now).map_err(|why| Refused::NotContracted { why })
    }

    /// Everybody plans by this setting.
    ///
    /// # Errors
    /// [`Refused::Unsettled`] if somebody may not.
    pub fn has_settled(&self, now: Timestamp) -> Result<(), Refused> {
        // Before the first change nobody has read another one.
        if self.fence == Fence::FIRST {
            return Ok(());
        }
        match SETTLES.checked_sub(now.since(self.since)) {
            Some(wait) if !wait.is_zero() => Err(Refused::Unsettled { wait }),
            Some(_) | None => Ok(()),
        }
    }

    /// Writes this setting in place of the one that was read, and who did it.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
    pub fn replacing(
        &self,
        read: &Self,
        tenant: &Tenant,
        actor: Actor,
        cx: &Context,
    ) -> Result<Transaction, BuildError> {
        let act = act(actor, "migration_phase", [("from", Value::s(read.phase)), ("to", Value::s(self.phase))]);
        Transaction::unkeyed(vec![self.in_place_of(read, tenant, cx.now), act.record(tenant, cx)])
    }

    /// This setting in place of the one that was read; if it is that one, only a look whether it still stands.
    pub(super) fn in_place_of(&self, read: &Self, tenant: &Tenant, now: Timestamp) -> TransactItem {
        let seen = read.as_seen();
        if self == read {
            return TransactItem::check(Role::Config, keys::config(tenant), vec![exists(), seen]);
        }
        set(tenant, self.item(), seen, now)
    }

    /// Writes that the migration is over: from then on there are split records only.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
    pub fn ended(&self, tenant: &Tenant, actor: Actor, cx: &Context) -> Result<Transaction, BuildError> {
        let mut item = self.item();
        item.insert("contracted_at".to_owned(), Value::s(cx.now));
        let act = act(actor, "migration_end", []);
        Transaction::unkeyed(vec![set(tenant, item, self.as_seen(), cx.now), act.record(tenant, cx)])
    }

    fn as_seen(&self) -> Clause {
        let seen = Condition::compare(format!("{ATTRIBUTE}.fence"), Cmp::Eq, "seen", self.fence.value());
        Clause { condition: seen, failure: Failure::StalePlan }
    }
}

fn set(tenant: &Tenant, item: Item, guard: Clause, now: Timestamp) -> TransactItem {
    let update = Update::new().set(ATTRIBUTE, "migration", Value::M(item)).set(attr::UPDATED_AT, "now", Value::s(now));
    TransactItem::update(Role::Config, keys::config(tenant), update, vec![exists(), guard])
}

fn act<'a, const N: usize>(actor: Actor, action: &'a str, details: [(&str, Value); N]) -> Act<'a> {
    let details = details.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Act { actor, action, subject: "tenant".to_owned(), reason: None, details }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Shards;
    use crate::migration::Model;
    use crate::migration::setting::Fence;

    const HOUR: Duration = Duration::from_secs(60 * 60);

    fn at(model: Model, number: u8) -> Migration {
        let (assets, since) = (Vec::new(), Timestamp::from_millis(0));
        let phase = Phase::new(model, number).unwrap();
        Migration { phase, fence: Fence(7), since, contracting: false, assets, due_shards: Shards::ONE }
    }

    fn later(by: Duration) -> Timestamp {
        Timestamp::from_millis(0).plus(by)
    }

    fn clean(now: Timestamp) -> Option<PassResult> {
        Some(PassResult { fence: 7, finished_at: Some(now), left: 0 })
    }

    #[test]
    fn one_phase_at_a_time_and_not_before_the_last_one_is_known() {
        for model in Model::ALL {
            for phase in Phase::all(model) {
                let (from, now) = (at(model, phase.number()), later(HOUR));
                let all = Evidence { backfill: clean(now), verify: clean(now), contract: clean(now) };
                for to in Phase::all(model) {
                    let moved = from.moved(to, &all, now);
                    if phase.number().abs_diff(to.number()) != 1 {
                        assert_eq!(moved, Err(Refused::Skips { from: phase.number(), to: to.number() }));
                        continue;
                    }
                    let moved = moved.unwrap();
                    assert_eq!((moved.phase, moved.fence, moved.since), (to, Fence(8), now));
                    let early = from.moved(to, &all, later(SETTLES - Duration::from_secs(1)));
                    assert_eq!(early, Err(Refused::Unsettled { wait: Duration::from_secs(1) }));
                }
            }
        }
    }

    #[test]
    fn backwards_needs_nothing_and_forwards_what_the_stage_asks_for() {
        let now = later(HOUR);
        for model in Model::ALL {
            for to in Phase::all(model).skip(1) {
                let from = at(model, to.back().unwrap().number());
                let without = from.moved(to, &Evidence::default(), now);
                let (why, moved) =
                    ("there has been none", Migration { phase: to, fence: Fence(8), since: now, ..from });
                let want = match to.entered_by().unwrap().1 {
                    Stage::DualWrite => Ok(moved),
                    Stage::Backfilled => Err(Refused::NotBackfilled { why }),
                    Stage::ReadNew | Stage::NewOnly => Err(Refused::NotVerified { why }),
                    Stage::LegacyOnly => panic!("nothing enters {to}"),
                };
                assert_eq!(without, want);
                assert!(at(model, to.number()).moved(from.phase, &Evidence::default(), now).is_ok());
            }
        }
    }

    #[test]
    fn a_pass_says_nothing_if_it_is_of_another_setting_unfinished_old_or_left_somebody() {
        let (now, migration) = (later(RECENT + HOUR), at(Model::GodRecord, 2));
        let good = PassResult { fence: 7, finished_at: Some(now), left: 0 };
        assert_eq!(PassResult::holds(Some(good), &migration, now), Ok(()));
        let passes = [
            (None, "there has been none"),
            (Some(PassResult { fence: 6, ..good }), "the last one was made under another setting"),
            (Some(PassResult { finished_at: None, ..good }), "it is not over"),
            (
                Some(PassResult { finished_at: Some(later(HOUR - Duration::from_millis(1))), ..good }),
                "it is more than a day old",
            ),
            (Some(PassResult { left: 1, ..good }), "it found something"),
        ];
        for (pass, why) in passes {
            assert_eq!(PassResult::holds(pass, &migration, now), Err(why), "{pass:?}");
        }
        let a_day_old = PassResult { finished_at: Some(later(HOUR)), ..good };
        assert_eq!(PassResult::holds(Some(a_day_old), &migration, now), Ok(()));
    }

    #[test]
    fn a_setting_has_settled_when_nobody_can_plan_by_the_one_before() {
        let (migration, ms) = (at(Model::GodRecord, 2), Duration::from_millis(1));
        assert_eq!(migration.has_settled(later(SETTLES)), Ok(()));
        for wait in [SETTLES, SETTLES - ms, ms] {
            assert_eq!(migration.has_settled(later(SETTLES - wait)), Err(Refused::Unsettled { wait }));
        }
        // By a clock that is behind, no time has passed. Before the first change there is nothing to wait for.
        let early = Migration { since: later(HOUR), ..migration.clone() };
        assert_eq!(early.has_settled(later(ms)), Err(Refused::Unsettled { wait: SETTLES }));
        assert_eq!(Migration { fence: Fence::FIRST, ..migration }.has_settled(later(Duration::ZERO)), Ok(()));
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let (why, wait) = ("it is not over", Duration::from_millis(1_500));
        for (refused, says) in [
            (
                Refused::Skips { from: 2, to: 4 },
                "from phase 2 the way leads to the one before or the one after, not to 4",
            ),
            (
                Refused::Unsettled { wait },
                "the phase was changed a moment ago: wait 2 s, until every function has seen it",
            ),
            (
                Refused::NotBackfilled { why },
                "enter this phase after a backfill under the present one that left nobody: it is not over",
            ),
            (
                Refused::NotVerified { why },
                "enter this phase after a comparison under the present one that found nothing: it is not over",
            ),
            (Refused::Contracting, "the God Records are being emptied: there is no way back"),
            (Refused::NotLast, "the God Records can be emptied in the last phase only"),
            (
                Refused::NotContracted { why },
                "the migration is over after a contraction that left nobody: it is not over",
            ),
        ] {
            assert_eq!(refused.to_string(), says);
        }
    }

    #[test]
    fn god_records_are_emptied_last_and_for_good() {
        let now = later(HOUR);
        for model in Model::ALL {
            for phase in Phase::all(model) {
                let from = at(model, phase.number());
                let contracting = from.contracting(now);
                let begun = Migration { contracting: true, fence: Fence(8), since: now, ..from.clone() };
                assert_eq!(contracting, if phase.is_last() { Ok(begun) } else { Err(Refused::NotLast) }, "{phase}");
                assert_eq!(
                    from.may_end(&Evidence { contract: clean(now), ..Evidence::default() }, now),
                    Err(Refused::NotLast)
                );
                let Ok(contracting) = contracting else { continue };
                let back = contracting.moved(phase.back().unwrap(), &Evidence::default(), now.plus(HOUR));
                assert_eq!(back, Err(Refused::Contracting));
                let ended = |fence| {
                    let contract = clean(now).map(|pass| PassResult { fence, ..pass });
                    contracting.may_end(&Evidence { contract, ..Evidence::default() }, now)
                };
                let why = "the last one was made under another setting";
                assert_eq!((ended(7), ended(8)), (Err(Refused::NotContracted { why }), Ok(())));
                let early = from.contracting(later(SETTLES - Duration::from_secs(2)));
                assert_eq!(early, Err(Refused::Unsettled { wait: Duration::from_secs(2) }));
            }
        }
    }
}
