//! Changing a tenant's phase: the evidence that it needs, and the transaction that writes it.

use super::plan::{Phase, Stage};
use super::setting::{ATTRIBUTE, CONTRACTED_AT, Fence, Migration};
use crate::audit::Act;
use crate::dynamo::{Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Tenant};
use crate::keys::{self, attr};
use crate::plan::Context;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction, exists};
use std::time::Duration;

/// How long a setting may still be in use after it was changed: the 60 seconds for which it is cached, and then the
/// duration of the longest request.
pub const SETTLES: Duration = Duration::from_secs(60 + 30);
/// The maximum age of a pass that serves as evidence for entering a phase.
pub const RECENT: Duration = Duration::from_secs(24 * 60 * 60);

/// The result of a pass over all customers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassResult {
    /// The fence of the setting under which the pass ran.
    pub fence: i64,
    /// When the pass finished; `None` while it is not finished.
    pub finished_at: Option<Timestamp>,
    /// The number of customers with a finding, or with work left to do.
    pub left: i64,
}

/// The last pass of each kind, as evidence for entering a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The last backfill; `None` if there was none, or if it was superseded.
    pub backfill: Option<PassResult>,
    /// The last verification, likewise.
    pub verify: Option<PassResult>,
    /// The last contraction, likewise.
    pub contract: Option<PassResult>,
}

/// Why a migration may not change its phase.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The phase is not adjacent to the present one.
    #[error("phase {to} is not next to the present phase {from}: change by one phase")]
    NotAdjacent {
        /// The present phase.
        from: u8,
        /// The requested phase.
        to: u8,
    },
    /// A worker or request may still use the setting before the last change.
    #[error("the phase was just changed: wait {} s until all functions have read it", wait.as_secs().saturating_add(1))]
    Unsettled {
        /// The time left to wait.
        wait: Duration,
    },
    /// No valid backfill shows that every customer has both models.
    #[error("run `migrate backfill` in the present phase first: {why}")]
    NotBackfilled {
        /// What is wrong with the last backfill.
        why: &'static str,
    },
    /// No valid verification shows that both models are equal.
    #[error("run `migrate verify` in the present phase first: {why}")]
    NotVerified {
        /// What is wrong with the last verification.
        why: &'static str,
    },
    /// The God Records are being emptied.
    #[error("the God Records are being emptied: the phase cannot be changed any more")]
    Contracting,
    /// A concern is still read from the God Record.
    #[error("the God Records can be emptied in the last phase only")]
    NotLast,
    /// No valid contraction shows that every God Record is empty.
    #[error("run `migrate contract` in the present phase first: {why}")]
    NotContracted {
        /// What is wrong with the last contraction.
        why: &'static str,
    },
}

impl PassResult {
    /// Checks that the pass is recent, ran under the present setting and left nothing; else says why not.
    fn holds(this: Option<Self>, migration: &Migration, now: Timestamp) -> Result<(), &'static str> {
        let Some(this) = this else { return Err("no pass has been run") };
        if this.fence != migration.fence.number() {
            return Err("the last pass ran under another setting");
        }
        match this.finished_at {
            None => Err("the last pass has not ended"),
            Some(at) if now.since(at) > RECENT => Err("the last pass ended more than a day ago"),
            Some(_) if this.left > 0 => Err("the last pass left customers to correct"),
            Some(_) => Ok(()),
        }
    }
}

impl Migration {
    /// This migration in the next phase or the one before. Going forward may need evidence; going back needs none.
    ///
    /// # Errors
    /// [`Refused`] if the phase may not be entered.
    pub fn moved(&self, to: Phase, evidence: &Evidence, now: Timestamp) -> Result<Self, Refused> {
        let forward = self.phase.next() == Some(to);
        if !forward && self.phase.previous() != Some(to) {
            return Err(Refused::NotAdjacent { from: self.phase.number(), to: to.number() });
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

    /// This migration with contraction started. It cannot be stopped or reversed.
    ///
    /// # Errors
    /// [`Refused`] if the present phase is not the last one, or has not settled.
    pub fn contracting(&self, now: Timestamp) -> Result<Self, Refused> {
        if !self.phase.is_last() {
            return Err(Refused::NotLast);
        }
        self.has_settled(now)?;
        Ok(Self { contracting: true, fence: self.fence.next(), since: now, ..self.clone() })
    }

    /// Checks that the migration may end: every God Record is empty.
    ///
    /// # Errors
    /// [`Refused`] if contraction has not started, or if no valid contraction pass shows it.
    pub fn may_end(&self, evidence: &Evidence, now: Timestamp) -> Result<(), Refused> {
        if !self.contracting {
            return Err(Refused::NotLast);
        }
        PassResult::holds(evidence.contract, self, now).map_err(|why| Refused::NotContracted { why })
    }

    /// Checks that every function uses this setting.
    ///
    /// # Errors
    /// [`Refused::Unsettled`] until [`SETTLES`] has passed since the last change.
    pub fn has_settled(&self, now: Timestamp) -> Result<(), Refused> {
        // No function can have cached an earlier setting.
        if self.fence == Fence::FIRST {
            return Ok(());
        }
        match SETTLES.checked_sub(now.since(self.since)) {
            Some(wait) if !wait.is_zero() => Err(Refused::Unsettled { wait }),
            Some(_) | None => Ok(()),
        }
    }

    /// Builds the transaction that replaces the setting that was read, with its audit record.
    ///
    /// # Errors
    /// [`BuildError`]: never for these items.
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

    /// Puts this setting in place of the one that was read. If they are equal, only checks that it has not changed.
    pub(super) fn in_place_of(&self, read: &Self, tenant: &Tenant, now: Timestamp) -> TransactItem {
        let seen = read.as_seen();
        if self == read {
            return TransactItem::check(Role::Config, keys::config(tenant), vec![exists(), seen]);
        }
        set(tenant, self.item(), seen, now)
    }

    /// Builds the transaction that ends the migration: from then on there are split records only.
    ///
    /// # Errors
    /// [`BuildError`]: never for these items.
    pub fn ended(&self, tenant: &Tenant, actor: Actor, cx: &Context) -> Result<Transaction, BuildError> {
        let mut item = self.item();
        item.insert(CONTRACTED_AT.to_owned(), Value::s(cx.now));
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
    use crate::terms::{EntryTerms, TermsVersion};

    const HOUR: Duration = Duration::from_secs(60 * 60);

    fn at(model: Model, number: u8) -> Migration {
        let (assets, since) = (Vec::new(), Timestamp::from_millis(0));
        let phase = Phase::new(model, number).unwrap();
        Migration {
            phase,
            fence: Fence(7),
            since,
            contracting: false,
            assets,
            entries: EntryTerms { due_shards: Shards::ONE, version: TermsVersion::FIRST },
        }
    }

    fn later(by: Duration) -> Timestamp {
        Timestamp::from_millis(0).plus(by)
    }

    fn clean(now: Timestamp) -> Option<PassResult> {
        Some(PassResult { fence: 7, finished_at: Some(now), left: 0 })
    }

    #[test]
    fn only_adjacent_settled_phase_can_be_entered() {
        for model in Model::ALL {
            for phase in Phase::all(model) {
                let (from, now) = (at(model, phase.number()), later(HOUR));
                let all = Evidence { backfill: clean(now), verify: clean(now), contract: clean(now) };
                for to in Phase::all(model) {
                    let moved = from.moved(to, &all, now);
                    if phase.number().abs_diff(to.number()) != 1 {
                        assert_eq!(moved, Err(Refused::NotAdjacent { from: phase.number(), to: to.number() }));
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
    fn previous_phase_needs_no_evidence_and_next_phase_that_of_its_stage() {
        let now = later(HOUR);
        for model in Model::ALL {
            for to in Phase::all(model).skip(1) {
                let from = at(model, to.previous().unwrap().number());
                let without = from.moved(to, &Evidence::default(), now);
                let (why, moved) =
                    ("no pass has been run", Migration { phase: to, fence: Fence(8), since: now, ..from });
                let want = match to.entered_by().unwrap().1 {
                    Stage::DualWrite => Ok(moved),
                    Stage::Backfilled => Err(Refused::NotBackfilled { why }),
                    Stage::ReadNew | Stage::NewOnly => Err(Refused::NotVerified { why }),
                    Stage::LegacyOnly => panic!("{to} is entered by no stage"),
                };
                assert_eq!(without, want);
                assert!(at(model, to.number()).moved(from.phase, &Evidence::default(), now).is_ok());
            }
        }
    }

    #[test]
    fn pass_of_other_setting_unfinished_old_or_with_findings_is_no_evidence() {
        let (now, migration) = (later(RECENT + HOUR), at(Model::GodRecord, 2));
        let good = PassResult { fence: 7, finished_at: Some(now), left: 0 };
        assert_eq!(PassResult::holds(Some(good), &migration, now), Ok(()));
        let passes = [
            (None, "no pass has been run"),
            (Some(PassResult { fence: 6, ..good }), "the last pass ran under another setting"),
            (Some(PassResult { finished_at: None, ..good }), "the last pass has not ended"),
            (
                Some(PassResult { finished_at: Some(later(HOUR - Duration::from_millis(1))), ..good }),
                "the last pass ended more than a day ago",
            ),
            (Some(PassResult { left: 1, ..good }), "the last pass left customers to correct"),
        ];
        for (pass, why) in passes {
            assert_eq!(PassResult::holds(pass, &migration, now), Err(why), "{pass:?}");
        }
        let a_day_old = PassResult { finished_at: Some(later(HOUR)), ..good };
        assert_eq!(PassResult::holds(Some(a_day_old), &migration, now), Ok(()));
    }

    #[test]
    fn setting_has_settled_after_cache_and_request_times() {
        let (migration, ms) = (at(Model::GodRecord, 2), Duration::from_millis(1));
        assert_eq!(migration.has_settled(later(SETTLES)), Ok(()));
        for wait in [SETTLES, SETTLES - ms, ms] {
            assert_eq!(migration.has_settled(later(SETTLES - wait)), Err(Refused::Unsettled { wait }));
        }
        // If the clock is behind, no time has passed. Before the first change there is nothing to wait for.
        let early = Migration { since: later(HOUR), ..migration.clone() };
        assert_eq!(early.has_settled(later(ms)), Err(Refused::Unsettled { wait: SETTLES }));
        assert_eq!(Migration { fence: Fence::FIRST, ..migration }.has_settled(later(Duration::ZERO)), Ok(()));
    }

    #[test]
    fn refusal_texts_are_as_expected() {
        let (why, wait) = ("the last pass has not ended", Duration::from_millis(1_500));
        for (refused, text) in [
            (
                Refused::NotAdjacent { from: 2, to: 4 },
                "phase 4 is not next to the present phase 2: change by one phase",
            ),
            (Refused::Unsettled { wait }, "the phase was just changed: wait 2 s until all functions have read it"),
            (
                Refused::NotBackfilled { why },
                "run `migrate backfill` in the present phase first: the last pass has not ended",
            ),
            (
                Refused::NotVerified { why },
                "run `migrate verify` in the present phase first: the last pass has not ended",
            ),
            (Refused::Contracting, "the God Records are being emptied: the phase cannot be changed any more"),
            (Refused::NotLast, "the God Records can be emptied in the last phase only"),
            (
                Refused::NotContracted { why },
                "run `migrate contract` in the present phase first: the last pass has not ended",
            ),
        ] {
            assert_eq!(refused.to_string(), text);
        }
    }

    #[test]
    fn contraction_starts_in_last_phase_and_cannot_be_reversed() {
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
                let previous = contracting.moved(phase.previous().unwrap(), &Evidence::default(), now.plus(HOUR));
                assert_eq!(previous, Err(Refused::Contracting));
                let ended = |fence| {
                    let contract = clean(now).map(|pass| PassResult { fence, ..pass });
                    contracting.may_end(&Evidence { contract, ..Evidence::default() }, now)
                };
                let why = "the last pass ran under another setting";
                assert_eq!((ended(7), ended(8)), (Err(Refused::NotContracted { why }), Ok(())));
                let early = from.contracting(later(SETTLES - Duration::from_secs(2)));
                assert_eq!(early, Err(Refused::Unsettled { wait: Duration::from_secs(2) }));
            }
        }
    }
}
