//! A tenant's migration to split records, as the operator API shows it.

use super::words;
use ledger_core::migration::{Evidence, Migration, Pass, PassTally, Phase, Refused, evidence};
use ledger_core::time::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The state of a tenant's migration.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MigrationView {
    /// `split` (customers are kept in split records), `migrating`, or `contracting` (the legacy records are being
    /// emptied).
    #[schema(value_type = words::MigrationStatus)]
    pub status: &'static str,
    /// The legacy model: `god_record` or `half_way`; absent if `split`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::LegacyModel>)]
    pub model: Option<&'static str>,
    /// The present phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<u8>,
    /// The last phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_phase: Option<u8>,
    /// The time at which the phase was entered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Each concern with its stage.
    pub stages: Vec<StageView>,
    /// The step to the next phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<StepView>,
    /// The step back to the previous phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back: Option<StepView>,
    /// The last pass of each kind.
    pub passes: Vec<PassView>,
}

/// The stage of a concern.
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
    /// The phase that it leads to.
    pub phase: u8,
    /// The concern that it moves.
    #[schema(value_type = words::MigrationConcern)]
    pub concern: &'static str,
    /// The stage of the concern in that phase.
    #[schema(value_type = words::MigrationStage)]
    pub stage: &'static str,
    /// Whether the step is allowed now.
    pub allowed: bool,
    /// If it is not allowed, what must be done first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A pass over all customers.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PassView {
    /// `backfill`, `verify` or `contract`.
    #[schema(value_type = words::PassKindWord)]
    pub kind: &'static str,
    /// As of a job: `waiting`, `running` or `done`; or `superseded` (the phase was changed before the pass ended).
    #[schema(value_type = words::PassStatus)]
    pub status: &'static str,
    /// The phase in which it was requested.
    pub phase: u8,
    /// The staff member who requested it.
    pub requested_by: String,
    /// The time of the request.
    pub created_at: String,
    /// The time at which it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The largest number of customers that it reads per second.
    pub customers_per_second: u32,
    /// The number of customers read.
    pub done: i64,
    /// The number of customers for which something was written.
    pub changed: i64,
    /// The number of customers with a difference, or with work left.
    pub failed: i64,
    /// The number of those customers by the concern that differs or is missing.
    pub concerns: BTreeMap<&'static str, i64>,
    /// Examples of those customers, with names of attributes but not their values.
    pub examples: Vec<ExampleView>,
}

/// A customer with a difference.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExampleView {
    /// The customer's id.
    pub customer_id: String,
    /// The difference.
    pub what: String,
}

impl MigrationView {
    /// The view of a tenant whose customers are kept in split records.
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

    /// The view of a tenant that is migrating.
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
            back: step(phase.previous()),
            passes: passes.iter().map(PassView::from).collect(),
        }
    }
}

impl StepView {
    fn of(migration: &Migration, to: Phase, known: &Evidence, now: Timestamp) -> Option<Self> {
        // A step back is described by the concern that the present phase has moved.
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
            ended_at: pass.finished_at.map(Timestamp::rfc3339),
            customers_per_second: pass.per_second,
            done: *customers,
            changed: *changed,
            failed: *left,
            concerns: concerns.iter().map(|(concern, count)| (concern.name(), *count)).collect(),
            examples: examples.iter().map(example).collect(),
        }
    }
}
