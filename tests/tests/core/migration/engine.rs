//! The same histories on the embedded engine, with the attribute types that only DynamoDB has.

use crate::migration::fault::Fault;
use crate::migration::scene::Store;
use crate::migration::seeds::{adjacent, ends, play, run, times, whole};
use ledger_core::ids::{CustomerId, Tenant};
use ledger_core::migration::{Adoption, CustomerRef, Layout, Model as Legacy, Phase, Snapshot, adopt};
use ledger_core::time::Timestamp;
use ledger_tests::engine::Table;
use ledger_tests::legacy::{self, Kinds};
use ledger_tests::share;
use serde_json::{Value as Json, json};

#[test]
fn adjacent_phases_keep_every_customer_right_on_the_engine() {
    let pairs = share::of(adjacent(), 7);
    let seeds = 2 * pairs.len() as u64 * times();
    let figures = whole(run(0..seeds, |seed| {
        let pair = pairs[usize::try_from(seed % pairs.len() as u64).unwrap()];
        play(Table::new(), pair, seed, Fault::None, Kinds::All)
    }));
    println!("{} pairs: {figures:?}", pairs.len());
    assert!(figures.histories == seeds && figures.applied > 5 * seeds, "{figures:?}");
}

#[test]
fn god_records_are_emptied_on_the_engine() {
    let seeds = share::seeds(20 * times(), share::FAMILY_STEP);
    let on_engine = |seed| ends(Table::new(), Legacy::ALL[usize::try_from(seed % 2).unwrap()], seed);
    let figures = whole(run(seeds.clone(), on_engine));
    println!("{figures:?}");
    assert_eq!(figures.histories, seeds.end - seeds.start, "{figures:?}");
}

#[test]
fn text_set_during_adoption_is_kept() {
    let Layout::Migrating(migration) = legacy::layout(&legacy::terms(), Phase::first(Legacy::GodRecord), 0) else {
        panic!()
    };
    let customer = CustomerId::parse("019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e").unwrap();
    let customer_ref = CustomerRef { tenant: Tenant::parse("aoba").unwrap(), customer };
    let key = migration.snapshot_keys(&customer_ref).remove(0);
    let record = |name: &str, value: Option<&Json>| {
        let mut record = json!({ "uuid": { "S": key.pk() }, "type": { "S": key.sk() }, "rank": { "S": "gold" } });
        value.into_iter().for_each(|value| record[name] = value.clone());
        record
    };
    let (null, empty, set) = (json!({ "NULL": true }), json!({ "S": "" }), json!({ "S": "x" }));
    for (name, read, then, is_taken) in [
        ("email", &null, Some(&null), true),
        ("email", &null, None, true),
        ("email", &null, Some(&set), false),
        ("email", &null, Some(&empty), false),
        ("phone_number", &empty, Some(&empty), true),
        ("phone_number", &empty, Some(&set), false),
        ("phone_number", &empty, None, false),
        ("name", &null, Some(&null), true),
        ("name", &null, Some(&set), false),
    ] {
        let table = Table::new();
        table.put(&record(name, Some(read)));
        let seen = Snapshot::new([(key.clone(), table.find(&key))], table.unsupported(&key));
        let Ok(Adoption::Change(change)) = adopt(&migration, &customer_ref, &seen, Timestamp::from_millis(0)) else {
            panic!()
        };
        table.put(&record(name, then));
        assert_eq!(table.execute(change.items()).is_ok(), is_taken, "{name}: {read}, then {then:?}");
        let left = if is_taken { None } else { then.cloned() };
        assert_eq!(table.attribute(&key, name), left, "{name}: {read}, then {then:?}");
    }
}
