//! Builds the writes of the registry.

use super::build::Made;
use super::decode::World;
use ledger_core::registry::{RegisteredTenant, TenantHome, TenantState, begin_opening, change_home, finish_opening};
use ledger_core::time::Timestamp;
use ledger_core::transaction::Transaction;
use serde::{Deserialize, Serialize};

/// A write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's functions, where they are described")]
pub enum RegistryDoes {
    BeginOpening { region: String, table: String },
    FinishOpening { opened_at: String },
    ChangeHome { seen: RegisteredJson, region: String, table: String },
}

/// What of a tenant's item had been read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of the core's type, where they are described")]
pub struct RegisteredJson {
    pub region: String,
    pub table: String,
    pub epoch: u32,
}

/// The write as a transaction of one action, which every engine can execute. It is sent by itself.
pub(super) fn make(world: &World, does: &RegistryDoes) -> Made {
    let (tenant, now) = (&world.tenant, world.cx.now);
    let write = match does {
        RegistryDoes::BeginOpening { region, table } => {
            begin_opening(tenant, &TenantHome { region: region.clone(), table: table.clone() }, now)
        }
        RegistryDoes::ChangeHome { seen, region, table } => {
            let home = TenantHome { region: seen.region.clone(), table: seen.table.clone() };
            let (state, created_at, opened_at) = (TenantState::Open, now, Some(now));
            let seen =
                RegisteredTenant { tenant: tenant.clone(), state, home, epoch: seen.epoch, created_at, opened_at };
            change_home(&seen, &TenantHome { region: region.clone(), table: table.clone() }, now)
        }
        RegistryDoes::FinishOpening { opened_at } => finish_opening(tenant, Timestamp::parse(opened_at).unwrap(), now),
    };
    Made::Whole(Transaction::unkeyed(vec![write.action().clone()]).unwrap())
}
