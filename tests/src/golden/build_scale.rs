//! Builds the raising of shards. Records are read from the state.

use super::build::{Made, NoPlan};
use super::decode::{self, World};
use ledger_core::ids::MerchantId;
use ledger_core::keys::Shards;
use ledger_core::merchants::{self, MerchantChange};
use ledger_core::tenants;
use serde::{Deserialize, Serialize};

/// A command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum ScaleDoes {
    Merchant { merchant: String, shards: String, actor: String },
    Tenant { due_shards: String, actor: String },
}

pub(super) fn make(world: &World, does: &ScaleDoes) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let shards = |count: &str| Shards::new(count.parse().unwrap()).unwrap();
    Ok(match does {
        ScaleDoes::Merchant { merchant: id, shards: count, actor } => {
            let change = MerchantChange { shards: Some(shards(count)), ..MerchantChange::default() };
            let id = MerchantId::parse(id).unwrap();
            let by = (decode::actor(actor), None);
            Made::Draft(merchants::plan_patch(tenant, id, change, by, cx)?.draft)
        }
        ScaleDoes::Tenant { due_shards, actor } => {
            let (to, actor) = (shards(due_shards), decode::actor(actor));
            Made::Whole(tenants::raise_due_shards(tenant, to, actor, cx).unwrap())
        }
    })
}
