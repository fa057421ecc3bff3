//! Builds the changes that a customer's migration requires. They have no marker: each is written as it is, or is stale
//! because an item was not as it had been read.

use super::build::{Made, NoPlan};
use super::command_migration::MigrationDoes;
use super::decode::{self, World};
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::keys::attr;
use ledger_core::migration::{
    Adoption, Concern, Contraction, Copying, CustomerRef, Layout, Migration, Snapshot, adopt, contract, copy,
    expire_history,
};

pub(super) fn make(world: &World, does: &MigrationDoes) -> Result<Made, NoPlan> {
    let migration = match world.layout() {
        Layout::Migrating(migration) => migration,
        Layout::Split => panic!("no migration: {does:?}"),
    };
    let refused = |why: &str| Err(NoPlan(format!("refused {why}")));
    let customer_ref = |id: &str| CustomerRef { tenant: world.tenant.clone(), customer: decode::customer(id) };
    let now = world.cx.now;
    match does {
        MigrationDoes::Adopt { customer } => {
            let customer_ref = customer_ref(customer);
            match adopt(&migration, &customer_ref, &snapshot(world, &migration, &customer_ref), now) {
                Ok(Adoption::Adopted) => Ok(Made::Nothing),
                Ok(Adoption::Missing) => refused("missing"),
                Ok(Adoption::Change(change)) => Ok(Made::Change(change)),
                Err(unadoptable) => refused(&format!("unadoptable {}", unadoptable.attribute)),
            }
        }
        MigrationDoes::Copy { customer, concern } => {
            let (customer_ref, concern) = (customer_ref(customer), Concern::parse(concern).unwrap());
            match copy(&migration, &customer_ref, concern, &snapshot(world, &migration, &customer_ref), now).unwrap() {
                Copying::Done => Ok(Made::Nothing),
                Copying::NotAdopted => refused("not_adopted"),
                Copying::Fenced => refused("fenced"),
                Copying::Raise(change) | Copying::Copy(change) => Ok(Made::Change(change)),
            }
        }
        MigrationDoes::Contract { customer } => {
            let customer_ref = customer_ref(customer);
            match contract(&migration, &customer_ref, &snapshot(world, &migration, &customer_ref)).unwrap() {
                Contraction::Done => Ok(Made::Nothing),
                Contraction::NotCopied(concern) => refused(&format!("not_copied {}", concern.name())),
                Contraction::Fenced => refused("fenced"),
                Contraction::Change(change) => Ok(Made::Change(change)),
            }
        }
        MigrationDoes::ExpireHistory {} => {
            let of_history =
                |item: &&Item| item.opt_text(attr::SK).unwrap().is_some_and(|name| name.starts_with("history#"));
            let items: Vec<Item> = world.items().filter(of_history).cloned().collect();
            Ok(expire_history(&items, now).map_or(Made::Nothing, Made::Change))
        }
    }
}

fn snapshot(world: &World, migration: &Migration, customer_ref: &CustomerRef) -> Snapshot {
    let keys = migration.snapshot_keys(customer_ref).into_iter();
    Snapshot::new(keys.map(|key| (key.clone(), world.get(&key).cloned())), Vec::new())
}
