//! Items by which merchants are credited: entries, the sums of lanes, closed periods, and records that credit nothing.

use super::*;

const AT: &str = "2026-01-01T00:50:00Z";
const PAYER: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d60";

fn item(partition: &str, sk: &str, more: &[(&str, Value)]) -> Item {
    let own = [
        ("uuid", Value::S(format!("demo#{partition}"))),
        ("type", Value::s(sk)),
        ("created_at", Value::s(AT)),
        ("updated_at", Value::s(AT)),
    ];
    own.iter().chain(more).map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn with(mut item: Item, more: &[(&str, Value)]) -> Item {
    item.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    item
}

fn without(mut item: Item, names: &[&str]) -> Item {
    names.iter().for_each(|name| drop(item.remove(*name)));
    item
}

fn posting(account: &str, delta: &str) -> Value {
    let parts = [("account", Value::s(account)), ("asset", Value::s("ECOPAY")), ("delta", Value::N(delta.to_owned()))];
    Value::M(parts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// The entry of a payment of 60, published and not sealed, whose seal credits the merchant.
fn entry() -> Item {
    let postings = vec![posting(&format!("customer:{PAYER}"), "-60"), posting(&format!("merchant:{ID}"), "60")];
    let more = [
        ("transaction_id", Value::s(ID)),
        ("operation", Value::s("pay")),
        ("principal", Value::S(format!("customer:{PAYER}"))),
        ("idempotency_key", Value::s("k")),
        ("payment_id", Value::s(OTHER)),
        ("postings", Value::L(postings)),
        ("credited_by", Value::s("seal")),
        ("_due_pk", Value::s("demo#due#publish#3")),
        ("_due_sk", Value::s(ID)),
    ];
    item(&format!("customer#{PAYER}"), &format!("TXN#{ID}"), &more)
}

/// The same, sealed.
fn sealed() -> Item {
    let more = [("_sealed", Value::s("L3/9")), ("_credited_at", Value::s(AT)), ("_period", Value::s("L3/2"))];
    with(without(entry(), &["_due_pk", "_due_sk"]), &more)
}

fn observed(item: &Item) -> Vec<Observation> {
    of_item(item, Timestamp::parse("2026-01-01T00:55:00Z").unwrap(), Limits::default())
}

fn broken(item: &Item) -> Vec<&'static str> {
    let kinds = observed(item).into_iter().filter_map(|observation| match observation {
        Observation::Break(finding) => Some(finding.kind.name()),
        Observation::Fact(_) | Observation::Newer(_) => None,
    });
    kinds.collect()
}

fn facts(item: &Item) -> Vec<GroupFact> {
    let facts = observed(item).into_iter().filter_map(|observation| match observation {
        Observation::Fact(fact) => Some(fact.content),
        Observation::Break(_) | Observation::Newer(_) => None,
    });
    facts.collect()
}

fn of_periods(item: &Item) -> Vec<(String, PeriodFact)> {
    let facts = facts(item).into_iter().filter_map(|fact| {
        let GroupFact::Period(merchant, id, fact) = fact else { return None };
        Some((format!("{merchant}/{id}"), fact))
    });
    facts.collect()
}

fn of_merchants(item: &Item) -> Vec<AccountFact> {
    let facts = facts(item).into_iter().filter_map(|fact| {
        let GroupFact::Account(Account::Merchant(_), _, fact) = fact else { return None };
        Some(fact)
    });
    facts.collect()
}

fn by_seal(item: &Item) -> Vec<bool> {
    let facts = facts(item).into_iter().filter_map(|fact| {
        let GroupFact::Payment(_, PaymentFact::Entry(entry)) = fact else { return None };
        Some(entry.by_seal)
    });
    facts.collect()
}

#[test]
fn sealed_entry_is_credited_in_a_period_of_its_lane() {
    assert!(broken(&sealed()).is_empty() && broken(&entry()).is_empty());
    let at = Timestamp::parse(AT).unwrap().millis();
    let taken = (SettledSum { side: SettledSide::Taken, asset: Asset::Ecopay }, num("60"));
    let sums = PeriodTotals { records: 1, totals: [taken].into() };
    let credited = PeriodFact::Credited { sums, at, segment: Some(9) };
    assert_eq!(of_periods(&sealed()), [(format!("{ID}/L3/2"), credited)]);
    assert!(of_periods(&entry()).is_empty(), "not sealed");
    assert!(of_merchants(&sealed()).is_empty(), "its period has it");
    assert_eq!((by_seal(&entry()), by_seal(&sealed())), (vec![true], vec![true]));
    // Once it is sealed, an entry whose event was not taken is due to be published late.
    let late = [("_due_pk", Value::s("demo#due#publish_late#3")), ("_due_sk", Value::s(ID))];
    assert!(broken(&with(sealed(), &late)).is_empty());
    let before = without(sealed(), &["credited_by", "_credited_at", "_period"]);
    assert!(broken(&before).is_empty(), "a break of its payment");
    assert_eq!(by_seal(&before), [false]);
}

#[test]
fn entry_that_is_sealed_and_not_credited_is_a_break() {
    for missing in
        [&["_sealed"][..], &["_credited_at"], &["_period"], &["_credited_at", "_period"], &["_sealed", "_period"]]
    {
        assert_eq!(broken(&without(sealed(), missing)), ["period_differs"], "without {missing:?}");
    }
    assert_eq!(broken(&without(sealed(), &["credited_by"])), ["period_differs"], "credited by nothing");
    for (stamp, period) in [("L2/9", "L3/2"), ("L3/9", "L2/2"), ("2026-01-01/9", "L3/2"), ("L3/09", "L3/2")] {
        let changed = with(sealed(), &[("_sealed", Value::s(stamp)), ("_period", Value::s(period))]);
        assert_eq!(broken(&changed), ["period_differs"], "{stamp} {period}");
    }
    for (name, value) in [("_period", "L3"), ("_period", "2"), ("credited_by", "worker"), ("_credited_at", "yesterday")]
    {
        assert_eq!(broken(&with(sealed(), &[(name, Value::s(value))])), ["unreadable_item"], "{name}");
    }
}

#[test]
fn entry_that_is_not_sealed_is_due_for_its_credit() {
    let with_mark = |mark: &str| broken(&with(entry(), &[("_due_pk", Value::s(mark))]));
    assert!(with_mark("demo#due#publish#3").is_empty());
    for other in ["demo#due#publish_late#3", "demo#due#3", "other#due#publish#3"] {
        assert_eq!(with_mark(other), ["credit_outstanding"], "{other}");
    }
    assert_eq!(broken(&without(entry(), &["_due_pk", "_due_sk"])), ["credit_outstanding"]);
    let early = [("created_at", Value::s("2026-01-01T00:40:00Z"))];
    assert_eq!(broken(&with(entry(), &early)), ["credit_outstanding", "event_unsent"], "15 minutes");
}

#[test]
fn sums_of_a_lane_are_of_its_open_period() {
    let lane = |sk: &str| {
        let sums = [("period_records", Value::int(1)), ("taken_ecopay", Value::int(60))];
        let more = [("period", Value::int(2)), ("segment", Value::int(9))];
        item(&format!("merchant#{ID}"), sk, &[&sums[..], &more].concat())
    };
    let [(group, PeriodFact::Open { sums, until })] = &of_periods(&lane("CREDITED#03"))[..] else { panic!() };
    assert_eq!((group.as_str(), sums.records, *until), (&*format!("{ID}/L3/2"), 1, 9));
    assert!(of_merchants(&lane("CREDITED#03")).is_empty());
    for other in ["CREDITED#3", "CREDITED#+3", "CREDITED#x", "CREDITED#"] {
        assert_eq!(broken(&lane(other)), ["unreadable_item"], "{other}");
    }
    for missing in ["period", "segment"] {
        assert_eq!(broken(&without(lane("CREDITED#03"), &[missing])), ["unreadable_item"], "without {missing}");
    }
    let sealed_until = of_periods(&sealed());
    let facts: Vec<PeriodFact> =
        [of_periods(&lane("CREDITED#03")), sealed_until].concat().into_iter().map(|(_, fact)| fact).collect();
    assert!(kinds(&group_of_lane(), &facts, &scope()).is_empty());
}

fn group_of_lane() -> Group {
    group(&format!("period/{ID}/L3/2"))
}

#[test]
fn closed_period_of_a_lane_moves_its_sums_to_the_balances() {
    let sums = [("period_records", 3), ("taken_ecopay", 60), ("refunded_ecopay", 100), ("taken_point", 5)];
    let sums = sums.map(|(name, sum)| (name, Value::int(sum)));
    let closed = |sk: &str, period: (&'static str, Value)| {
        let more = [("merchant_id", Value::s(ID)), ("settlement_id", Value::s(OTHER)), period];
        item(&format!("merchant#{ID}"), sk, &[&sums[..], &more].concat())
    };
    let of_lane = closed("PERIOD#L03#00000002", ("period_id", Value::s("L3/2")));
    let at = Timestamp::parse(AT).unwrap().millis();
    assert_eq!(of_merchants(&of_lane), [posted(false, "-40", at), posted(false, "5", at)]);
    assert_eq!(of_periods(&of_lane)[0].0, format!("{ID}/L3/2"));
    for (sk, period) in [("PERIOD#L03#00000003", "L3/2"), ("PERIOD#L02#00000002", "L3/2"), ("PERIOD#00000002", "L3/2")]
    {
        assert_eq!(broken(&closed(sk, ("period_id", Value::s(period)))), ["unreadable_item"], "{sk}");
    }
}

#[test]
fn return_says_how_it_changes_what_its_merchant_is_owed() {
    let parts = Value::M(Item::from([("ECOPAY".to_owned(), Value::int(-20))]));
    let refund = |more: &[(&str, Value)]| {
        let own = [
            ("payment_id", Value::s(OTHER)),
            ("refund_id", Value::s(ID)),
            ("transaction_id", Value::s(ID)),
            ("merchant_id", Value::s(ID)),
            ("kind", Value::s("refund")),
            ("parts", parts.clone()),
        ];
        item(&format!("payment#{OTHER}"), &format!("REFUND#{ID}"), &[&own[..], more].concat())
    };
    let owed = |item: &Item| {
        let facts = facts(item).into_iter().filter_map(|fact| {
            let GroupFact::Payment(_, PaymentFact::Return(returned)) = fact else { return None };
            Some(returned.delta)
        });
        facts.collect::<Vec<_>>()
    };
    assert!(broken(&refund(&[])).is_empty());
    assert_eq!(owed(&refund(&[])), [nums(&[("ECOPAY", "-20")])]);
    let not_a_map = refund(&[("parts", Value::int(-20))]);
    for (item, why) in [(not_a_map, "no map"), (without(refund(&[]), &["parts"]), "none")] {
        assert_eq!(broken(&item), ["unreadable_item"], "{why}");
    }
}
