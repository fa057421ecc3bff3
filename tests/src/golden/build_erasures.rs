//! Builds what a job does that erases the texts of a customer. The job and the items are read from the state.

use super::build::{Made, NoPlan};
use super::decode::World;
use ledger_core::dynamo::Item;
use ledger_core::erasure::Erasure;
use ledger_core::ids::JobId;
use ledger_core::keys::{self, Key};
use serde::{Deserialize, Serialize};

/// A step of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum ErasureDoes {
    /// Erases the texts of a page: the partition and sort key of each record that was found.
    Advance { job: String, found: Vec<(String, String)>, limit: usize },
}

pub(super) fn make(world: &World, does: &ErasureDoes) -> Result<Made, NoPlan> {
    let ErasureDoes::Advance { job, found, limit } = does;
    let tenant = &world.tenant;
    let job = Erasure::read(world.must(&keys::job(tenant, JobId::parse(job).unwrap()))).unwrap();
    let record = |(pk, sk): &(String, String)| world.must(&Key::stored(tenant, pk, sk).unwrap()).clone();
    let there = |keys: &[Key]| keys.iter().filter_map(|key| world.get(key).cloned()).collect::<Vec<Item>>();
    let slice = job.slice(tenant, &found.iter().map(record).collect::<Vec<_>>(), *limit).unwrap();
    let sources = there(&slice.sources());
    let texts = slice.texts(tenant, &sources);
    Ok(Made::Whole(job.advance(tenant, &texts, &there(&texts.keys()), world.cx.now).unwrap()))
}
