//! Builds the raising of shards and of the records' version, and the start of the next sweep over merchants. Records are read from the state.

use super::build::{Made, NoPlan};
use super::command_hold::Maybe;
use super::decode::{self, World};
use ledger_core::ids::MerchantId;
use ledger_core::keys::{self, Shards};
use ledger_core::merchants::{self, MerchantChange};
use ledger_core::terms::RecordVersion;
use ledger_core::{crediting, migration, tenants};
use serde::{Deserialize, Serialize};

/// A command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum ScaleDoes {
    Merchant {
        merchant: String,
        shards: String,
        actor: String,
    },
    Tenant {
        due_shards: String,
        actor: String,
    },
    Records {
        version: String,
        actor: String,
    },
    /// Moves the sweep's start from the one that was read to after this merchant.
    Sweep {
        to: Maybe<String>,
    },
}

pub(super) fn make(world: &World, does: &ScaleDoes) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let shards = |count: &str| Shards::new(count.parse().unwrap()).unwrap();
    Ok(match does {
        ScaleDoes::Merchant { merchant: id, shards: count, actor } => {
            let change = MerchantChange { shards: Some(shards(count)), ..MerchantChange::default() };
            let id = MerchantId::parse(id).unwrap();
            let by = (decode::actor(actor), None);
            Made::Draft(merchants::plan_patch(tenant, id, change, world.records(), by, cx)?.draft)
        }
        ScaleDoes::Tenant { due_shards, actor } => {
            let (to, actor) = (shards(due_shards), decode::actor(actor));
            Made::Whole(tenants::raise_due_shards(tenant, to, actor, cx).unwrap())
        }
        ScaleDoes::Records { version, actor } => {
            let to = RecordVersion::new(version.parse().unwrap()).unwrap();
            Made::Whole(migration::raise_records(tenant, to, decode::actor(actor), cx).unwrap())
        }
        ScaleDoes::Sweep { to } => {
            let seen = crediting::sweep_after(world.get(&keys::crediting_sweep(tenant))).unwrap();
            let to = to.as_deref().map(|id| MerchantId::parse(id).unwrap());
            match crediting::move_sweep(tenant, seen, to, cx.now).unwrap() {
                Some(transaction) => Made::Whole(transaction),
                None => Made::Nothing,
            }
        }
    })
}
