//! A tenant's way to split records, as the operator sees it.

use super::words;
use ledger_core::migration::{Evidence, Migration, Pass, PassTally, Phase, Refused, evidence};
use ledger_core::time::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Where a tenant's migration stands.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MigrationView {
    /// `split` (customers are kept in split records), `migrating` or `contracting` (the legacy records are being
    /// emptied).
    #[schema(value_type = words::MigrationStatus)]
    pub status: &'static str,
    /// What the tenant came with: `god_record` or `half_way`; absent if `split`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::LegacyModel>)]
    pub model: Option<&'static str>,
    /// The phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<u8>,
    /// The last phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_phase: Option<u8>,
    /// Since when it has been set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Each concern and its stage: `legacy_only`, `dual_write`, `backfilled`, `read_new` or `new_only`.
    pub stages: Vec<StageView>,
    /// The next phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<StepView>,
    /// The phase before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back: Option<StepView>,
    /// The last pass of each kind.
    pub passes: Vec<PassView>,
}

/// How far a concern has moved.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StageView {
    /// `profile`, `history`, `metrics`, `points`, `jcredit`, `regional` or `money`.
    #[schema(value_type = words::MigrationConcern)]
    pub concern: &'static str,
    /// Its stage.
    #[schema(value_type = words::MigrationStage)]
    pub stage: &'static str,
}

/// A step from one phase to another.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StepView {
    /// To which phase.
    pub phase: u8,
    /// Which concern moves.
    #[schema(value_type = words::MigrationConcern)]
    pub concern: &'static str,
    /// To which stage.
    #[schema(value_type = words::MigrationStage)]
    pub stage: &'static str,
    /// Whether the phase may be entered.
    pub allowed: bool,
    /// If not, what has to be done before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A pass over all customers.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PassView {
    /// `backfill`, `verify` or `contract`.
    #[schema(value_type = words::PassKindWord)]
    pub kind: &'static str,
    /// `requested`, `running`, `done` or `superseded` (the phase was changed before it was over).
    #[schema(value_type = words::PassStatus)]
    pub status: &'static str,
    /// In which phase it was asked for.
    pub phase: u8,
    /// Who asked for it.
    pub requested_by: String,
    /// When.
    pub created_at: String,
    /// When it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// How many customers a second it looks at, at most.
    pub customers_per_second: u32,
    /// Customers that were looked at.
    pub customers: i64,
    /// Those for whom something was written.
    pub changed: i64,
    /// Those in whom something was found, or is left to be done.
    pub left: i64,
    /// How many of those differ in, or lack, a concern.
    pub concerns: BTreeMap<&'static str, i64>,
    /// Some of those, and what is with them: names of attributes, not what they say.
    pub examples: Vec<ExampleView>,
}

/// A customer in whom something was found.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExampleView {
    /// The customer.
    pub customer_id: String,
    /// What.
    pub what: String,
}

impl MigrationView {
    /// Of a tenant whose customers are kept in split records.
    #[must_use]
    pub fn split(passes: &[Pass]) -> Self {
        Self {
            status: "split",
            model: None,
            phase: None,
            last_phase: None,
            since: None,
            stages: Vec::new(),
            next: None,
            back: None,
            passes: passes.iter().map(PassView::from).collect(),
        }
    }

    /// Of a tenant on the way.
    #[must_use]
    pub fn of(migration: &Migration, passes: &[Pass], now: Timestamp) -> Self {
        let phase = migration.phase;
        let known = evidence(passes);
        let step = |to: Option<Phase>| to.and_then(|to| StepView::of(migration, to, &known, now));
        let stages = ledger_core::migration::Concern::ALL
            .map(|concern| StageView { concern: concern.name(), stage: phase.stage(concern).name() });
        Self {
            status: if migration.contracting { "contracting" } else { "migrating" },
            model: Some(phase.model().name()),
            phase: Some(phase.number()),
            last_phase: Phase::all(phase.model()).last().map(Phase::number),
            since: Some(migration.since.rfc3339()),
            stages: stages.into(),
            next: step(phase.next()),
            back: step(phase.back()),
            passes: passes.iter().map(PassView::from).collect(),
        }
    }
}

impl StepView {
    fn of(migration: &Migration, to: Phase, known: &Evidence, now: Timestamp) -> Option<Self> {
        // Back leads to where the concern was before its last move.
        let (concern, _) = if to.number() > migration.phase.number() { to } else { migration.phase }.entered_by()?;
        let refused = migration.moved(to, known, now).err();
        Some(Self {
            phase: to.number(),
            concern: concern.name(),
            stage: to.stage(concern).name(),
            allowed: refused.is_none(),
            why: refused.map(|refused: Refused| refused.to_string()),
        })
    }
}

impl From<&Pass> for PassView {
    fn from(pass: &Pass) -> Self {
        let PassTally { customers, changed, left, concerns, examples } = &pass.tally;
        let example = |(customer, what): &(ledger_core::ids::CustomerId, String)| ExampleView {
            customer_id: customer.to_string(),
            what: what.clone(),
        };
        Self {
            kind: pass.kind.name(),
            status: pass.state.name(),
            phase: pass.phase,
            requested_by: pass.requested_by.to_string(),
            created_at: pass.created_at.rfc3339(),
            finished_at: pass.finished_at.map(Timestamp::rfc3339),
            customers_per_second: pass.per_second,
            customers: *customers,
            changed: *changed,
            left: *left,
            concerns: concerns.iter().map(|(concern, count)| (concern.name(), *count)).collect(),
            examples: examples.iter().map(example).collect(),
        }
    }
}
