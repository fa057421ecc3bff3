use super::*;
use crate::aggregates::Aggregate;
use crate::keys::attr;

/// A `CONFIG` item with a migration.
fn config(stored: Value) -> Item {
    let aoba = m(&[("scale", n("2")), ("spendable", Value::Bool(true)), ("transferable", Value::Bool(true))]);
    item(&[
        ("display_name", s("Aoba")),
        ("key_phase", s("mandatory")),
        ("assets", m(&[("ECOPAY", m(&[])), ("POINT", m(&[])), ("REGIONAL#aoba", aoba)])),
        ("co2_rate", n("0.01")),
        ("co2_source", s("estimate")),
        ("co2_version", s("1")),
        ("points_rate", n("0.01")),
        ("card_cap", n("20000")),
        ("card_bonus_rate", n("0")),
        ("spent_points", s("deduct")),
        (attr::UPDATED_AT, s("then")),
        ("due_shards", n("1")),
        ("format", n("1")),
        ("cash_bonus", s("never")),
        ("refund_ceiling", n("0")),
        ("cash_ceiling", n("0")),
        ("migration", stored),
    ])
}

fn good() -> Item {
    migration(Model::GodRecord, 20, 31).item()
}

#[test]
fn setting_is_read_as_written() {
    let whole = migration(Model::GodRecord, 20, 31);
    let want =
        [("fence", n("31")), ("model", s("god_record")), ("phase", n("20")), ("since", s("2023-11-14T22:13:20.000Z"))];
    assert_eq!(good(), item(&want));
    for model in Model::ALL {
        for contracting in [false, true] {
            let last = Phase::all(model).last().unwrap();
            let written = Migration { contracting, phase: last, ..whole.clone() };
            assert_eq!(Layout::read(&config(Value::M(written.item()))), Ok(Layout::Migrating(written)));
        }
    }
    let mut without = config(Value::M(good()));
    without.remove("migration");
    assert_eq!(Layout::read(&without), Ok(Layout::Split));
    let over = Item::from([("contracted_at".to_owned(), s("2023-11-14T22:13:20.000Z"))]).into_iter().chain(good());
    assert_eq!(Layout::read(&config(Value::M(over.collect()))), Ok(Layout::Split));
}

#[test]
fn invalid_setting_is_an_error_that_names_the_attribute() {
    let read = |config: &Item| Layout::read(config).map_err(|error| error.attribute);
    let wrong = |attribute: &str| Err(attribute.to_owned());
    for value in [s("god_record"), n("3"), Value::L(Vec::new()), Value::Bool(true)] {
        assert_eq!(read(&config(value)), wrong("migration"));
    }
    for (name, values) in [
        ("model", vec![s("godrecord"), s(""), n("1")]),
        ("phase", vec![n("29"), n("-1"), n("256"), n("1.5"), s("20")]),
        ("fence", vec![n("-1"), n("1.5"), n("1e3"), n("9223372036854775808"), s("31")]),
        ("since", vec![s("yesterday"), n("1700000000000")]),
        ("contracting", vec![s("yes"), n("1"), Value::M(Item::new())]),
        ("contracted_at", vec![s("yesterday"), n("1700000000000"), Value::Bool(false)]),
    ] {
        for value in values {
            let mut stored = good();
            stored.insert(name.to_owned(), value.clone());
            assert_eq!(read(&config(Value::M(stored))), wrong(name), "{value:?}");
        }
        let mut stored = good();
        if stored.remove(name).is_some() {
            assert_eq!(read(&config(Value::M(stored))), wrong(name), "missing");
        }
    }
    // The other model does not have this phase.
    let mut stored = good();
    stored.extend(item(&[("model", s("half_way")), ("phase", n("25"))]));
    assert_eq!(read(&config(Value::M(stored))), wrong("phase"));
    // An explicit `false` means not contracting.
    let stored = good().into_iter().chain(item(&[("contracting", Value::Bool(false))])).collect();
    assert_eq!(Layout::read(&config(Value::M(stored))), Ok(Layout::Migrating(migration(Model::GodRecord, 20, 31))));
    // Unreadable terms are an error, not a tenant without a migration.
    let mut terms = config(Value::M(good()));
    terms.remove("points_rate");
    assert_eq!(read(&terms), wrong("points_rate"));
}

#[test]
fn aggregates_beside_a_balance_have_no_place_in_a_legacy_model() {
    let migration = migration(Model::GodRecord, 0, 0);
    for counterpart in migration.counterparts(&customer_ref()) {
        for aggregate in Aggregate::ALL {
            assert_eq!(counterpart.name(aggregate.beside_balance()), None, "{counterpart:?}");
        }
    }
}
