//! What holds after each step, and what holds at the end.

use crate::migration::ops::Coin;
use crate::migration::scene::{Broken, Scene, Store, broken, sum, unstamped};
use crate::migration::world::World;
use ledger_core::account::{Account, Bucket};
use ledger_core::dynamo::{Attributes, Item, Value};
use ledger_core::ids::CustomerId;
use ledger_core::journal::{JournalEntry, expanded};
use ledger_core::keys::{self, Key, Partition, attr, sk};
use ledger_core::migration::{
    BalanceLocation, Counterpart, LEGACY_SK, LegacyItem, Migration, Snapshot, merged, parity,
};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

const FIELDS: [&str; 7] = ["customer_id", "name", "email", "phone", "status", "accounts", "frozen"];
const SUMS: [&str; 3] = ["balance", "held", "reserved"];
const TOTALS: [&str; 5] = ["co2_total", "payments", "paid_total", "refunds", "refunded_total"];

/// Checks that a split record equals the expected one, whichever model it was read from.
pub(crate) fn same(
    check: &'static str,
    key: &Key,
    found: Option<&Item>,
    expected: Option<&Item>,
) -> Result<(), Broken> {
    let differs = match Counterpart::of(key) {
        Some(_) if key.sk() == "PROFILE" => {
            let fields = |item: &Item| FIELDS.map(|name| item.get(name).cloned());
            found.map(fields) != expected.map(fields)
        }
        Some(_) => {
            let sums = |item: &Item| (SUMS.map(|name| sum(item, name)), item.get(attr::FROZEN).cloned());
            // What counts against the cap has no place in the legacy model until the customer is adopted.
            let counted = |item: &Item| item.contains_key(attr::EXPOSURE).then(|| sum(item, attr::EXPOSURE));
            let exposure = found.and_then(counted);
            found.map(sums) != expected.map(sums) || (exposure.is_some() && exposure != expected.and_then(counted))
        }
        None => found.map(unstamped) != expected.map(unstamped),
    };
    if differs { broken(check, format!("{key:?}: {found:?}, but {expected:?}")) } else { Ok(()) }
}

/// The sums of a customer's aggregates.
fn totals<'a>(items: impl Iterator<Item = &'a Item> + Clone) -> [Decimal; 5] {
    let of = |name: &str| {
        let beside = format!("aggregate_{name}");
        items.clone().map(|item| sum(item, name) + sum(item, &beside)).sum()
    };
    TOTALS.map(of)
}

/// Checks one customer under every setting in use: each reads what is expected, no sum is negative, both models agree,
/// and unknown attributes are unchanged.
pub(crate) fn customer<S: Store>(world: &World<S>, scene: &Scene, who: CustomerId) -> Result<(), Broken> {
    let partition = Partition::customer(&scene.tenant, who);
    let balances = scene.terms.assets.keys().map(|asset| partition.balance(asset));
    let split: Vec<Key> = [partition.profile(), keys::metrics_of(&partition)].into_iter().chain(balances).collect();
    let all = std::iter::once(partition.god_record()).chain(split.iter().cloned());
    let items: BTreeMap<Key, Option<Item>> = all.map(|key| (key.clone(), world.store.find(&key))).collect();
    let find = |key: &Key| items.get(key).cloned().flatten();
    let settings: BTreeSet<usize> = world.environments.iter().copied().chain([world.config]).collect();
    for setting in &settings {
        let layout = &scene.settings[*setting];
        let read = |key: &Key| match layout.reading(key) {
            None => find(key),
            Some(reading) => {
                let [record, legacy, split] = reading.keys();
                let legacy = [record, legacy]
                    .map(|key| Some(LegacyItem { item: find(&key)?, unsupported: world.store.unsupported(&key) }));
                reading.item(legacy, find(&split)).unwrap()
            }
        };
        let found: BTreeMap<&Key, Item> = split.iter().filter_map(|key| Some((key, read(key)?))).collect();
        for key in split.iter().filter(|key| key.sk() != "METRICS") {
            same("reading", key, found.get(key), world.expected.get(key))?;
            if let Some(found) = found.get(key)
                && key.sk().starts_with(sk::BALANCE)
                && SUMS.into_iter().any(|name| sum(found, name) < Decimal::ZERO)
            {
                return broken("negative balance", format!("{found:?}"));
            }
        }
        // A customer's aggregates are the sum of what `METRICS` and the balances have.
        let expected = totals(split.iter().filter_map(|key| world.expected.get(key)));
        let found = totals(found.values());
        if found != expected {
            return broken("reading", format!("aggregates of {who}: {found:?}, but {expected:?}"));
        }
    }
    // Both models agree in every phase. While God Records are emptied, they lack new values, so parity is not checked.
    let migrations: Option<Vec<&Migration>> = settings.iter().map(|setting| scene.migration(*setting)).collect();
    let comparing =
        migrations.and_then(|all| all.into_iter().map(|one| scene.comparing(one)).collect::<Option<Vec<_>>>());
    if let Some(migration) = comparing.iter().flatten().next() {
        let seen = Snapshot::new(items.clone(), Vec::new());
        let parity = parity(migration, &scene.customer_ref(who), &seen).unwrap();
        if !parity.differences.is_empty() {
            return broken("parity", format!("{:?}: {items:?}", parity.differences));
        }
    }
    unknown(world, scene, who)
}

fn unknown<S: Store>(world: &World<S>, scene: &Scene, who: CustomerId) -> Result<(), Broken> {
    let record = Partition::customer(&scene.tenant, who).god_record();
    let Some(person) = scene.people.iter().find(|person| person.id == who) else { return Ok(()) };
    for (name, value) in &person.unknown {
        let stored = world.store.attribute(&record, name);
        let same = stored.as_ref() == Some(value);
        // The members of a set have no order.
        let sets = |value: &serde_json::Value| {
            value["SS"].as_array().map(|set| set.iter().map(ToString::to_string).collect::<BTreeSet<_>>())
        };
        if !same && stored.as_ref().and_then(sets).is_none_or(|set| Some(set) != sets(value)) {
            return broken("unknown attributes", format!("{name}: {stored:?}, but {value}"));
        }
    }
    Ok(())
}

/// Checks all customers, the books, the history, and the items that no migration touches.
pub(crate) fn everything<S: Store>(world: &World<S>, scene: &Scene) -> Result<(), Broken> {
    scene.people.iter().try_for_each(|person| customer(world, scene, person.id))?;
    let all = world.store.all();
    books(world, scene, &all)?;
    scene.people.iter().try_for_each(|person| history(world, scene, &all, person.id, person.history))?;
    untouched(world, &all)
}

/// An adopted customer's balance equals the sum of the postings.
fn books<S: Store>(world: &World<S>, scene: &Scene, all: &[Item]) -> Result<(), Broken> {
    let mut posted: BTreeMap<(CustomerId, String, &str), Decimal> = BTreeMap::new();
    for item in all.iter().filter(|item| item.opt_text(attr::SK).unwrap().is_some_and(|sk| sk.starts_with(sk::TXN))) {
        let entry = expanded(item.clone())
            .and_then(|item| JournalEntry::read(&item))
            .map_err(|error| Broken { check: "books", what: error.to_string() })?;
        if !ledger_core::account::unbalanced(&entry.postings).is_ok_and(|assets| assets.is_empty()) {
            return broken("books", format!("unbalanced: {entry:?}"));
        }
        for posting in entry.postings {
            let part = match posting.bucket {
                Bucket::Available => "balance",
                Bucket::Held => "held",
            };
            if let Account::Customer(who) = posting.account {
                *posted.entry((who, posting.delta.asset().to_string(), part)).or_default() += posting.delta.value();
            }
        }
    }
    let layout = &scene.settings[world.config];
    for person in &scene.people {
        let partition = Partition::customer(&scene.tenant, person.id);
        let record = world.store.find(&partition.god_record());
        if record.is_some_and(|record| !record.contains_key("fence_phase")) {
            continue;
        }
        for coin in [Coin::Money, Coin::Point, Coin::Jcredit, Coin::Regional] {
            let spec = coin.spec();
            let Some(found) = world.found(layout, &partition.balance(spec.asset())) else { continue };
            for part in ["balance", "held"] {
                let posted = posted.get(&(person.id, spec.asset().to_string(), part)).copied().unwrap_or_default();
                if sum(&found, part) != posted {
                    return broken(
                        "books",
                        format!("{} {spec:?} {part}: {found:?}, but {posted} is posted", person.id),
                    );
                }
            }
        }
    }
    Ok(())
}

/// Both formats of the history together have each fact once.
fn history<S: Store>(
    world: &World<S>,
    scene: &Scene,
    all: &[Item],
    who: CustomerId,
    foreign: usize,
) -> Result<(), Broken> {
    let partition = Partition::customer(&scene.tenant, who);
    let is_line = |sk: &str| [sk::TXN, sk::TXNREF, sk::HISTORY].iter().any(|prefix| sk.starts_with(prefix));
    let of = |item: &Item| item.opt_text(attr::PK).unwrap().map(str::to_owned);
    let lines = |items: &mut dyn Iterator<Item = Item>| -> Vec<Item> {
        items
            .filter(|item| of(item).as_deref() == Some(partition.as_str()))
            .filter(|item| item.opt_text(attr::SK).unwrap().is_some_and(is_line))
            .map(|item| expanded(item).unwrap())
            .collect()
    };
    let expected = lines(&mut world.expected.iter().map(|(_, item)| item.clone()));
    let merged = merged(lines(&mut all.iter().cloned())).unwrap();
    let facts: BTreeSet<String> =
        merged.iter().filter_map(|item| item.opt_text("transaction_id").unwrap()).map(str::to_owned).collect();
    if facts.len() != merged.len() {
        return broken("history", format!("a fact twice: {merged:?}"));
    }
    let opened = merged.iter().filter(|item| item.opt_text("operation").unwrap() == Some("opening_balance")).count();
    let count = expected.len() + foreign + opened;
    if merged.len() != count || opened > 1 {
        return broken("history", format!("{} facts, but {count}: {merged:?}", merged.len()));
    }
    let missing =
        expected.iter().find(|line| line.opt_text("transaction_id").unwrap().is_none_or(|id| !facts.contains(id)));
    missing.map_or(Ok(()), |line| broken("history", format!("without {line:?}")))
}

/// Items that no migration moves are what they are without a migration.
fn untouched<S: Store>(world: &World<S>, all: &[Item]) -> Result<(), Broken> {
    let key = |item: &Item| (item.get(attr::PK).cloned(), item.get(attr::SK).cloned());
    let items: BTreeMap<_, &Item> = all.iter().map(|item| (format!("{:?}", key(item)), item)).collect();
    for ((pk, name), expected) in world.expected.iter() {
        let is_moved =
            pk.contains("#customer#") && (name == "PROFILE" || name == "METRICS" || name.starts_with(sk::BALANCE));
        if is_moved {
            continue;
        }
        let mut found = items.get(&format!("{:?}", key(expected))).map(|item| (*item).clone());
        found.as_mut().map(|item| item.remove(LEGACY_SK));
        if found.as_ref() != Some(expected) {
            return broken("other items", format!("{found:?}, but {expected:?}"));
        }
    }
    Ok(())
}

/// Every customer's truth fits the setting, and both models agree where both are kept.
pub(crate) fn settled<S: Store>(world: &World<S>, scene: &Scene) -> Result<(), Broken> {
    let Some(migration) = scene.migration(world.config) else { return Ok(()) };
    for person in &scene.people {
        let seen = scene.as_snapshot(migration, person.id, &scene.snapshot(&world.store, migration, person.id));
        let known = world.expected.get(&Partition::customer(&scene.tenant, person.id).profile()).is_some();
        let parity = parity(migration, &scene.customer_ref(person.id), &seen).unwrap();
        if known && !parity.is_clean() {
            return broken("settled", format!("{parity:?}"));
        }
        for concern in ledger_core::migration::Concern::ALL {
            let stage = migration.phase.stage(concern);
            let truth = seen.truth(&scene.customer_ref(person.id), concern).unwrap();
            let fits = match truth {
                None => !known || migration.contracting,
                Some(BalanceLocation::Both) => true,
                Some(BalanceLocation::Legacy) => !stage.reads_split(),
                Some(BalanceLocation::Split) => stage.reads_split(),
            };
            if !fits {
                return broken("settled", format!("{concern:?} {stage:?} {truth:?}"));
            }
        }
    }
    Ok(())
}

/// A God Record of the legacy model keeps only attributes unknown to the ledger.
pub(crate) fn emptied<S: Store>(world: &World<S>, scene: &Scene) -> Result<(), Broken> {
    for person in scene.people.iter().filter(|person| person.is_legacy) {
        let record = world.store.find(&Partition::customer(&scene.tenant, person.id).god_record()).unwrap();
        let stays = |name: &str| {
            ["uuid", "type", "fence_phase", "created_at", "updated_at"].contains(&name)
                || person.unknown.contains_key(name)
                || (name == "regional"
                    && record
                        .get(name)
                        .is_some_and(|map| !matches!(map, Value::M(map) if map.is_empty() || map.contains_key("aoba"))))
        };
        if let Some((name, value)) = record.iter().find(|(name, _)| !stays(name)) {
            return broken("emptied", format!("{name}: {value:?}"));
        }
    }
    Ok(())
}
