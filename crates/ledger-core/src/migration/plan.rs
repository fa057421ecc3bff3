//! The phases of a migration, as data: an ordered list of moves for each legacy model.

use crate::money::Asset;
use crate::words::words;
use std::fmt;

/// A part of a customer that moves independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Concern {
    /// Name, e-mail address, telephone number, status.
    Profile,
    /// The journal history.
    History,
    /// CO2 estimate, counts and totals.
    Metrics,
    /// Points.
    Points,
    /// J-Credits.
    Jcredit,
    /// Regional currencies.
    Regional,
    /// Money.
    Money,
}

words! {
    /// How far a concern has moved.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Stage {
        /// The God Record is written and read.
        LegacyOnly = "legacy_only",
        /// Both are written; the God Record is read and guarded.
        DualWrite = "dual_write",
        /// As [`Stage::DualWrite`], and both are equal for every customer.
        Backfilled = "backfilled",
        /// Both are written; the split records are read and guarded.
        ReadNew = "read_new",
        /// The split records alone are written and read.
        NewOnly = "new_only",
    }
}

words! {
    /// The legacy model of a tenant's customers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Model {
        /// The God Record, `customer`, holds the whole customer.
        GodRecord = "god_record",
        /// `METRICS` holds aggregates, points and J-Credits; `customer` holds the rest.
        HalfWay = "half_way",
    }
}

/// A tenant's phase: the number of moves of its model's list that have been made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Phase {
    model: Model,
    number: u8,
}

/// A phase number is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the phase must be from 0 to {last}")]
pub struct PhaseError {
    /// The number of the last phase.
    pub last: u8,
}

/// One concern moves by one stage.
pub type Move = (Concern, Stage);

use Concern::{History, Jcredit, Metrics, Money, Points, Profile, Regional};
use Stage::{Backfilled, DualWrite, NewOnly, ReadNew};

/// All moves, in order. A model omits those of concerns that begin in split records.
///
/// Non-financial concerns migrate first, money last. INVARIANT: no concern reaches [`Stage::NewOnly`] before every
/// concern is read from split records. So the God Record stays complete until the last quarter of the moves.
const MOVES: &[Move] = &[
    (Profile, DualWrite),
    (Profile, Backfilled),
    (Profile, ReadNew),
    (History, DualWrite),
    (History, Backfilled),
    (History, ReadNew),
    (Metrics, DualWrite),
    (Metrics, Backfilled),
    (Metrics, ReadNew),
    (Points, DualWrite),
    (Points, Backfilled),
    (Points, ReadNew),
    (Jcredit, DualWrite),
    (Jcredit, Backfilled),
    (Jcredit, ReadNew),
    (Regional, DualWrite),
    (Regional, Backfilled),
    (Regional, ReadNew),
    (Money, DualWrite),
    (Money, Backfilled),
    (Money, ReadNew),
    (Profile, NewOnly),
    (History, NewOnly),
    (Metrics, NewOnly),
    (Points, NewOnly),
    (Jcredit, NewOnly),
    (Regional, NewOnly),
    (Money, NewOnly),
];

impl Concern {
    /// Every concern, in the order in which they first move.
    pub const ALL: [Self; 7] = [Profile, History, Metrics, Points, Jcredit, Regional, Money];

    /// The name as it is stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Profile => "profile",
            History => "history",
            Metrics => "metrics",
            Points => "points",
            Jcredit => "jcredit",
            Regional => "regional",
            Money => "money",
        }
    }

    /// Parses [`Self::name`].
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|concern| concern.name() == name)
    }

    /// The concern with which balances of an asset move.
    #[must_use]
    pub const fn of(asset: &Asset) -> Self {
        match asset {
            Asset::Ecopay => Money,
            Asset::Point => Points,
            Asset::Jcredit => Jcredit,
            Asset::Regional(_) => Regional,
        }
    }
}

impl Stage {
    /// Whether the God Record is written.
    #[must_use]
    pub const fn writes_legacy(self) -> bool {
        match self {
            Self::LegacyOnly | Self::DualWrite | Self::Backfilled | Self::ReadNew => true,
            Self::NewOnly => false,
        }
    }

    /// Whether the split records are written.
    #[must_use]
    pub const fn writes_split(self) -> bool {
        match self {
            Self::LegacyOnly => false,
            Self::DualWrite | Self::Backfilled | Self::ReadNew | Self::NewOnly => true,
        }
    }

    /// Whether the split records are the truth: the model that is read and guarded.
    #[must_use]
    pub const fn reads_split(self) -> bool {
        match self {
            Self::LegacyOnly | Self::DualWrite | Self::Backfilled => false,
            Self::ReadNew | Self::NewOnly => true,
        }
    }
}

impl Model {
    /// The moves of this model, in order: phase `n` is the state after the first `n` of them.
    fn moves(self) -> impl Iterator<Item = Move> {
        MOVES.iter().copied().filter(move |(concern, _)| self.begins(*concern) != NewOnly)
    }

    /// The stage of a concern before the first move.
    const fn begins(self, concern: Concern) -> Stage {
        match (self, concern) {
            (Self::HalfWay, Metrics) => NewOnly,
            (Self::GodRecord, _) | (Self::HalfWay, Profile | History | Points | Jcredit | Regional | Money) => {
                Stage::LegacyOnly
            }
        }
    }
}

impl Phase {
    /// Phase 0: no move has been made.
    #[must_use]
    pub const fn first(model: Model) -> Self {
        Self { model, number: 0 }
    }

    /// The phase with a number.
    ///
    /// # Errors
    /// [`PhaseError`] if the number is above that of the last phase.
    pub fn new(model: Model, number: u8) -> Result<Self, PhaseError> {
        let last = u8::try_from(model.moves().count()).unwrap_or(u8::MAX);
        if number <= last { Ok(Self { model, number }) } else { Err(PhaseError { last }) }
    }

    /// Every phase of a model, in order.
    pub fn all(model: Model) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(Self::first(model)), |phase| phase.next())
    }

    /// The legacy model of the tenant.
    #[must_use]
    pub const fn model(self) -> Model {
        self.model
    }

    /// The number of moves that have been made.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.number
    }

    /// The stage of a concern in this phase.
    #[must_use]
    pub fn stage(self, concern: Concern) -> Stage {
        let made = self.model.moves().take(self.number.into()).filter(|(moved, _)| *moved == concern);
        made.last().map_or(self.model.begins(concern), |(_, stage)| stage)
    }

    /// The move that leads to this phase; `None` of phase 0.
    #[must_use]
    pub fn entered_by(self) -> Option<Move> {
        self.model.moves().nth(self.number.checked_sub(1)?.into())
    }

    /// The next phase; `None` of the last one.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        Self::new(self.model, self.number.checked_add(1)?).ok()
    }

    /// The phase before; `None` of phase 0.
    #[must_use]
    pub fn previous(self) -> Option<Self> {
        Some(Self { number: self.number.checked_sub(1)?, ..self })
    }

    /// Whether every move has been made.
    #[must_use]
    pub fn is_last(self) -> bool {
        self.next().is_none()
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_moves_one_concern_by_one_stage() {
        for model in Model::ALL {
            for (before, after) in Phase::all(model).zip(Phase::all(model).skip(1)) {
                let moved: Vec<_> = Concern::ALL.into_iter().filter(|c| before.stage(*c) != after.stage(*c)).collect();
                let [concern] = moved[..] else { panic!("{before} to {after}: {moved:?}") };
                let at = |phase: Phase| Stage::ALL.iter().position(|stage| *stage == phase.stage(concern)).unwrap();
                assert_eq!(at(before) + 1, at(after), "{before} to {after}");
                assert_eq!(after.entered_by(), Some((concern, after.stage(concern))));
                assert_eq!((before.next(), after.previous()), (Some(after), Some(before)));
            }
        }
    }

    #[test]
    fn first_phase_is_legacy_and_last_is_split_for_every_concern() {
        for model in Model::ALL {
            let last = Phase::all(model).last().unwrap();
            assert!(last.is_last() && last.number() >= 13, "{last}");
            assert!(Concern::ALL.into_iter().all(|concern| last.stage(concern) == NewOnly));
            assert_eq!(Phase::first(model).previous(), None);
            assert_eq!(Phase::new(model, last.number() + 1), Err(PhaseError { last: last.number() }));
        }
        let first = |model| Concern::ALL.map(|concern| Phase::first(model).stage(concern));
        assert_eq!(first(Model::GodRecord), [Stage::LegacyOnly; 7]);
        assert_eq!(first(Model::HalfWay).iter().filter(|stage| **stage == Stage::LegacyOnly).count(), 6);
        assert_eq!(Phase::first(Model::HalfWay).stage(Metrics), NewOnly);
    }

    #[test]
    fn no_concern_is_new_only_before_all_are_read_from_split_records() {
        for model in Model::ALL {
            let moving: Vec<Concern> =
                Concern::ALL.into_iter().filter(|concern| Phase::first(model).stage(*concern) != NewOnly).collect();
            for phase in Phase::all(model) {
                let stages: Vec<Stage> = moving.iter().map(|concern| phase.stage(*concern)).collect();
                assert!(!stages.contains(&NewOnly) || stages.iter().all(|stage| stage.reads_split()), "{phase}");
            }
        }
    }

    #[test]
    fn half_way_model_has_all_moves_except_metrics() {
        let all: Vec<Move> = Model::GodRecord.moves().collect();
        let rest: Vec<Move> = Model::HalfWay.moves().collect();
        assert_eq!((all.len(), rest.len()), (28, 24));
        let but_metrics: Vec<Move> = all.into_iter().filter(|(concern, _)| *concern != Metrics).collect();
        assert_eq!(rest, but_metrics);
    }
}
