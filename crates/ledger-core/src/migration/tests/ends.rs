use super::*;
use crate::dynamo::ItemError;
use Concern::{History, Metrics, Money, Points, Profile};
use std::collections::BTreeSet;

const NOT_LEGACY: &str = "(NOT truth_profile = 'legacy') AND (NOT truth_history = 'legacy') AND (NOT truth_metrics = \
     'legacy') AND (NOT truth_points = 'legacy') AND (NOT truth_jcredit = 'legacy') AND (NOT truth_regional = 'legacy') \
     AND (NOT truth_money = 'legacy')";

#[test]
fn number_timestamp_is_equal_to_the_text_that_was_copied() {
    let migration = migration(Model::GodRecord, at_stage(Profile, Stage::Backfilled), 3);
    let parity_of = |stored: Value, copied: &str| {
        let record = adopted(3, &[(Profile, "both")], &[("name", s("Hana")), ("created_at", stored)]);
        let profile =
            item(&[("customer_id", s(ID)), ("name", s("Hana")), ("status", s("active")), ("created_at", s(copied))]);
        parity(&migration, &customer_ref(), &seen(&[(god(), record), (partition().profile(), profile)]))
            .unwrap()
            .differences
    };
    let attributes = |found: Vec<Difference>| found.into_iter().map(|one| one.attribute).collect::<Vec<_>>();
    for (number, text) in [("1617235200", "2021-04-01T00:00:00.000Z"), ("1617235200123", "2021-04-01T00:00:00.123Z")] {
        assert_eq!(attributes(parity_of(n(number), text)), [""; 0], "{number}");
        assert_eq!(attributes(parity_of(n(number), "2021-04-01T00:00:01.000Z")), ["created_at"], "{number}");
    }
    for wrong in [n("7"), Value::Bool(true), m(&[])] {
        assert_eq!(attributes(parity_of(wrong, "2021-04-01T00:00:00.000Z")), ["created_at"]);
    }
}

/// The result of a comparison in which points are the only concern that is in both models.
fn compared(truth: &str, legacy: &[(&str, Value)], wallet: &[(&str, Value)]) -> Result<Parity, ItemError> {
    let points = Key::stored(&customer_ref().tenant, partition().as_str(), "BALANCE#POINT").unwrap();
    let items = [(god(), adopted(3, &[(Points, truth)], legacy)), (points, item(wallet))];
    let mut migration = migration(Model::GodRecord, at_stage(Points, Stage::Backfilled), 3);
    migration.assets.truncate(2);
    let mut parity = parity(&migration, &customer_ref(), &seen(&items))?;
    // The concerns that moved before points are reported as not copied.
    let before = BTreeSet::from([Profile, History, Metrics]);
    assert!(parity.not_copied.is_superset(&before));
    parity.not_copied.retain(|concern| !before.contains(concern));
    Ok(parity)
}

#[test]
fn attributes_that_differ_between_models_are_named() {
    let differ = |attributes: &[&str]| {
        let named = |attribute: &&str| Difference {
            concern: Points,
            record: "BALANCE#POINT".to_owned(),
            attribute: (*attribute).to_owned(),
        };
        Parity { not_copied: BTreeSet::new(), differences: attributes.iter().map(named).collect() }
    };
    for (legacy, wallet, want) in [
        // Sums are compared as numbers, and an absent sum is zero.
        (vec![("point", n("5.0"))], vec![("balance", n("5")), ("held", n("0.00")), ("exposure", n("0"))], &[][..]),
        (vec![], vec![], &[]),
        (vec![("point", n("5"))], vec![("balance", n("5.01"))], &["balance"]),
        (vec![("point", n("5"))], vec![], &["balance"]),
        (vec![("point", n("-5"))], vec![("balance", n("5"))], &["balance"]),
        (
            vec![("point_held", n("1")), ("point_exposure", n("2"))],
            vec![("reserved", n("3"))],
            &["held", "reserved", "exposure"],
        ),
        // A value that is not a number equals no number.
        (vec![("point", s("5"))], vec![("balance", n("5"))], &["balance"]),
        (vec![], vec![("balance", s("0"))], &["balance"]),
        (vec![("point", s("x"))], vec![("balance", s("x"))], &["balance"]),
        // Fields are compared as they are, and an empty text is absent. Stamps are not compared.
        (vec![("point_frozen", s("a")), ("point_corrected_at", s(""))], vec![("frozen", s("a"))], &[]),
        (
            vec![("point_frozen", s("a"))],
            vec![("frozen", s("b")), ("corrected_at", s("then"))],
            &["frozen", "corrected_at"],
        ),
        (vec![("created_at", s("a")), ("point_updated_at", s("b"))], vec![("updated_at", s("c"))], &[]),
        // Unknown attributes are not compared.
        (vec![("rank", s("gold"))], vec![("colour", s("red"))], &[]),
    ] {
        let parity = compared("both", &legacy, &wallet).unwrap();
        assert_eq!(parity, differ(want), "{legacy:?} {wallet:?}");
        assert_eq!(parity.is_clean(), want.is_empty());
    }
    assert_eq!(compared("rubbish", &[], &[]), Err(ItemError::invalid("truth_points")));
    for truth in ["legacy", "split"] {
        let parity = compared(truth, &[("point", n("5"))], &[("balance", n("4"))]).unwrap();
        assert_eq!(parity, Parity { not_copied: BTreeSet::from([Points]), differences: Vec::new() });
        assert!(!parity.is_clean());
    }
}

#[test]
fn only_concerns_in_both_models_are_compared() {
    let nothing = seen(&[(god(), adopted(3, &[], &[]))]);
    for model in Model::ALL {
        for phase in Phase::all(model) {
            let found = parity(&migration(model, phase.number(), 3), &customer_ref(), &nothing).unwrap();
            let both =
                |concern: &Concern| phase.stage(*concern).writes_legacy() && phase.stage(*concern).writes_split();
            assert_eq!(found.not_copied, Concern::ALL.into_iter().filter(both).collect(), "{phase}");
            assert!(found.differences.is_empty());
        }
    }
}

fn row(name: &str, more: &[(&str, Value)]) -> Item {
    item(&[&[(attr::PK, s(partition().as_str())), (attr::SK, s(name))][..], more].concat())
}

#[test]
fn entry_or_reference_of_a_legacy_row_is_found_under_at_most_two_keys() {
    let keys = |row: &Item| reference_keys(row).iter().map(|key| key.sk().to_owned()).collect::<Vec<_>>();
    let name = format!("history#1700000000000#pay#{ID}");
    let ours = row(&name, &[("transaction_id", s(ID))]);
    assert_eq!(keys(&ours), [format!("TXN#{ID}"), format!("TXNREF#{ID}")]);
    assert!(reference_keys(&ours).iter().all(|key| key.pk() == partition().as_str()));
    let theirs = row("history#1700000000000#pay", &[]);
    assert_eq!(reference_keys(&theirs), [reference(&theirs).unwrap().0]);
    for none in ["history#yesterday#pay", "customer"] {
        assert_eq!(keys(&row(none, &[])), [""; 0]);
    }
    let names = |name: &str| row("TXN#1", &[(LEGACY_SK, s(name))]);
    assert!(refers_to(&names(&name), &ours) && !refers_to(&names(&name), &theirs));
    assert!(
        !refers_to(&row("TXN#1", &[]), &ours) && !refers_to(&ours, &ours) && !refers_to(&names(&name), &Item::new())
    );
}

fn emptied(model: Model, items: &[(Key, Item)]) -> Contraction {
    looked_at(model, items).unwrap()
}

fn looked_at(model: Model, items: &[(Key, Item)]) -> Result<Contraction, ItemError> {
    let last = Phase::all(model).last().unwrap().number();
    let migration = Migration { contracting: true, ..migration(model, last, 29) };
    contract(&migration, &customer_ref(), &seen(items))
}

/// A God Record after every concern has moved to the split records.
fn moved(fence: i64, more: &[(&str, Value)]) -> Item {
    let truths = Concern::ALL.map(|concern| (concern, if concern == Money { "both" } else { "split" }));
    adopted(fence, &truths, more)
}

#[test]
fn contraction_removes_what_split_records_hold_and_keeps_the_rest() {
    let whole = [
        ("name", s("Hana")),
        ("profile_status", s("active")),
        ("balance", n("5")),
        ("balance_held", n("0")),
        ("point", n("3")),
        ("regional_aoba_exposure", n("1")),
        ("co2_total", n("1.5")),
        ("metrics_payments", n("2")),
        ("created_at", s("then")),
        ("rank", s("gold")),
        ("jcredit", n("0")),
    ];
    let truths =
        "truth_history, truth_jcredit, truth_metrics, truth_money, truth_points, truth_profile, truth_regional";
    let written = |regional: Value| {
        let record = moved(28, &[&whole[..], &[("regional", regional)]].concat());
        let Contraction::Change(change) = emptied(Model::GodRecord, &[(god(), record)]) else { panic!() };
        action_texts(&change)
    };
    let removal = |regional: &str| {
        format!(
            "customer: SET fence_phase = 29 REMOVE balance, balance_held, co2_total, created_at, metrics_payments, name, \
             point, profile_status, {regional}, regional_aoba_exposure, {truths} IF fence_phase <= 29"
        )
    };
    // The map of currencies is removed as it was read; a currency outside the tenant's terms keeps the map.
    let known = written(m(&[("aoba", n("1"))]));
    assert_eq!(known, [format!("{} AND regional = {{aoba: 1}} AND {NOT_LEGACY}", removal("regional"))]);
    let unknown_currency = written(m(&[("aoba", n("1")), ("gone", n("0"))]));
    assert_eq!(unknown_currency, [format!("{} AND {NOT_LEGACY}", removal("regional.aoba"))]);
}

#[test]
fn concern_held_by_the_god_record_alone_is_not_removed() {
    assert_eq!(emptied(Model::GodRecord, &[]), Contraction::Done);
    assert_eq!(emptied(Model::GodRecord, &[(god(), item(&[("balance", n("5"))]))]), Contraction::NotCopied(Profile));
    assert_eq!(emptied(Model::GodRecord, &[(god(), moved(30, &[]))]), Contraction::Fenced);
    for concern in Concern::ALL {
        // Refused if the God Record says that it holds the concern alone, or says something unknown.
        let attribute = format!("truth_{}", concern.name());
        let mut record = moved(29, &[]);
        record.insert(attribute.clone(), s("legacy"));
        assert_eq!(emptied(Model::GodRecord, &[(god(), record)]), Contraction::NotCopied(concern));
        for truth in [s("Split"), n("1")] {
            let mut record = moved(29, &[]);
            record.insert(attribute.clone(), truth);
            assert_eq!(looked_at(Model::GodRecord, &[(god(), record)]).unwrap_err().attribute, attribute);
        }
    }
    // An emptied God Record gets the fence only, which rejects writers with an earlier setting.
    let rest = |fence: i64| item(&[("fence_phase", Value::int(fence)), ("rank", s("gold"))]);
    assert_eq!(emptied(Model::GodRecord, &[(god(), rest(29))]), Contraction::Done);
    let Contraction::Change(change) = emptied(Model::GodRecord, &[(god(), rest(28))]) else { panic!() };
    assert_eq!(
        action_texts(&change),
        [format!("customer: SET fence_phase = 29 IF fence_phase <= 29 AND {NOT_LEGACY}")]
    );
}

#[test]
fn half_way_model_contraction_removes_points_and_keeps_aggregates() {
    let aggregates =
        item(&[("point", n("3")), ("point_held", n("0")), ("co2_total", n("1")), ("updated_at", s("then"))]);
    let record = item(&[("fence_phase", n("29")), ("balance", n("5")), ("point", n("9")), ("co2_total", n("7"))]);
    let items = [(god(), record), (metrics(), aggregates.clone())];
    let Contraction::Change(change) = emptied(Model::HalfWay, &items) else { panic!() };
    let want = [
        "METRICS: REMOVE point, point_held".to_owned(),
        format!("customer: SET fence_phase = 29 REMOVE balance IF fence_phase <= 29 AND {NOT_LEGACY}"),
    ];
    assert_eq!(action_texts(&change), want);
    // In the God Record model, the aggregates item was never part of the God Record.
    let items = [(god(), item(&[("fence_phase", n("29"))])), (metrics(), aggregates)];
    assert_eq!(emptied(Model::GodRecord, &items), Contraction::Done);
}

#[test]
fn legacy_history_expires_in_a_week() {
    let (due, name) = (now().plus(HISTORY_KEPT).seconds(), "history#1700000000000#pay");
    let kept =
        [row("TXN#1", &[]), row("customer", &[]), row(name, &[(attr::TTL, n("1"))]), item(&[(attr::SK, s(name))])];
    assert_eq!(expire_history(&kept, now()), None);
    let mut rows = kept.to_vec();
    rows.extend([row(name, &[]), row("history#yesterday", &[])]);
    let change = expire_history(&rows, now()).unwrap();
    assert_eq!(due - now().seconds(), 604_800);
    let want = [name, "history#yesterday"].map(|name| format!("{name}: SET ttl = {due} IF attribute_exists(uuid)"));
    assert_eq!(action_texts(&change), want);
    assert!(change.items().iter().all(|item| item.key().pk() == partition().as_str()));
}
