use super::*;
use crate::account::Account;
use crate::dynamo::{Item, Value};
use crate::forms;
use crate::ids::{CustomerId, Tenant};
use crate::keys::attr;
use crate::money::{Amount, Asset, AssetSpec};
use crate::time::Timestamp;
use crate::transaction::{RenderedAction, Role, TransactItem};
use uuid::Uuid;

fn yen(units: &str) -> Amount {
    Amount::parse(&AssetSpec::ECOPAY, units).unwrap()
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn change(text: &str) -> LimitChange {
    LimitChange::parse(Holder::Customer, &AssetSpec::ECOPAY, text).unwrap()
}

fn terms(changes: &[&str]) -> LimitTerms {
    let with = |terms: LimitTerms, text: &&str| terms.with(Holder::Customer, &Asset::Ecopay, &change(text));
    changes.iter().fold(LimitTerms::none(), with)
}

/// The terms as they are read once some account has limits of its own.
fn with_accounts(terms: &LimitTerms) -> LimitTerms {
    let mut item = terms.item();
    item.insert(ACCOUNTS.to_owned(), Value::Bool(true));
    LimitTerms::read(&item).unwrap()
}

fn account() -> Account {
    Account::Customer(CustomerId::new(Uuid::from_u128(1)))
}

fn debit(amount: &Amount, now: Timestamp) -> TransactItem {
    forms::debit(&Tenant::parse("demo").unwrap(), Role::Payer, account(), amount, now).unwrap()
}

fn counted_debit(terms: &LimitTerms, units: &str, now: Timestamp) -> Result<TransactItem, LimitRefusal> {
    let amount = yen(units);
    UseCounter::new(Some(terms), account(), LimitKind::Pay, now).count(debit(&amount, now), &amount)
}

fn wallet(attributes: &[(&str, &str)]) -> Item {
    let mut item = Item::from([
        (attr::PK.to_owned(), Value::s("demo#customer#1")),
        (attr::SK.to_owned(), Value::s("BALANCE#ECOPAY")),
        (attr::BALANCE.to_owned(), Value::int(1_000_000)),
    ]);
    item.extend(attributes.iter().map(|(name, number)| ((*name).to_owned(), Value::N((*number).to_owned()))));
    item
}

#[test]
fn without_limits_the_action_is_the_same() {
    let (amount, now) = (yen("5"), at("2026-11-23T03:00:00Z"));
    let plain = debit(&amount, now);
    for terms in [None, Some(LimitTerms::none()), Some(terms(&["transfer_day=1"]))] {
        let mut uses = UseCounter::new(terms.as_ref(), account(), LimitKind::Pay, now);
        assert_eq!(uses.count(plain.clone(), &amount).unwrap(), plain);
        assert_eq!(uses.counted(), None);
    }
}

#[test]
fn guard_admits_exactly_the_limit() {
    let (terms, now) = (terms(&["pay_day=1000", "pay_month=5000"]), at("2026-11-23T03:00:00Z"));
    let item = counted_debit(&terms, "400", now).unwrap();
    let hit = |attributes: &[(&str, &str)]| {
        let hit = LimitHit::of_guard(&item, Some(&wallet(attributes)))?;
        Some((hit.period, hit.resets_at.unwrap().rfc3339()))
    };
    let (day, month) = ("use_pay_20261123", "use_pay_202611");
    assert_eq!(hit(&[]), None);
    assert_eq!(hit(&[(day, "600"), (month, "4600")]), None);
    assert_eq!(hit(&[(day, "601")]), Some((LimitPeriod::Day, "2026-11-23T15:00:00.000Z".to_owned())));
    assert_eq!(hit(&[(month, "4601")]), Some((LimitPeriod::Month, "2026-11-30T15:00:00.000Z".to_owned())));
    // Another day's count, and another kind's, are not this one's.
    assert_eq!(hit(&[("use_pay_20261122", "1000"), ("use_transfer_20261123", "1000")]), None);
}

#[test]
fn action_keeps_yesterday_and_removes_earlier_counts() {
    let item = counted_debit(&terms(&["pay_day=1000", "pay_month=5000"]), "400", at("2026-03-01T15:30:00Z")).unwrap();
    let rendered = item.render().unwrap();
    let RenderedAction::Update(_, update) = rendered.action else { panic!("an update") };
    // In Japan it is the second of March.
    assert!(update.contains("#use_pay_20260302 :counted, #use_pay_202603 :counted SET"), "{update}");
    let removed = update.split_once("REMOVE ").unwrap().1;
    for name in ["use_pay_20260228", "use_pay_20260129", "use_pay_202601", "use_pay_202511"] {
        assert!(removed.contains(&format!("#{name}")), "{name} in {removed}");
    }
    for name in ["use_pay_20260301", "use_pay_202602"] {
        assert!(!removed.split(", ").any(|removed| removed == format!("#{name}")), "{name} in {removed}");
    }
}

#[test]
fn day_is_that_of_japan() {
    let terms = terms(&["pay_day=1000"]);
    let names = |now| {
        let rendered = counted_debit(&terms, "1", at(now)).unwrap().render().unwrap();
        let names = rendered.names.into_values().filter(|name| name.starts_with("use_pay_202611"));
        names.max().unwrap()
    };
    assert_eq!(names("2026-11-23T14:59:59.999Z"), "use_pay_20261123");
    assert_eq!(names("2026-11-23T15:00:00Z"), "use_pay_20261124");
}

#[test]
fn amount_above_a_limit_is_refused_without_a_transaction() {
    let now = at("2026-11-23T03:00:00Z");
    for (rule, period) in
        [("operation", LimitPeriod::Operation), ("day", LimitPeriod::Day), ("month", LimitPeriod::Month)]
    {
        let terms = terms(&[&format!("pay_{rule}=1000")]);
        assert!(counted_debit(&terms, "1000", now).is_ok());
        let Err(LimitRefusal::Exceeded(hit)) = counted_debit(&terms, "1001", now) else { panic!("{rule}") };
        assert_eq!((hit.account, hit.kind, hit.period), (account(), LimitKind::Pay, period));
        assert_eq!(hit.resets_at, period.resets_at(now));
    }
    assert!(counted_debit(&terms(&["pay_day=0"]), "1", now).is_err());
}

#[test]
fn own_limits_replace_those_of_the_tenant() {
    let now = at("2026-11-23T03:00:00Z");
    let unread = with_accounts(&terms(&["pay_operation=1000", "pay_day=2000"]));
    // Unread: the plan assumes none, and what they might allow is never refused.
    assert_eq!(counted_debit(&unread, "1001", now), Err(LimitRefusal::Unread));
    let assumed = counted_debit(&unread, "1000", now).unwrap();
    let mut item = wallet(&[]);
    assert_eq!(assumed.failure_on(Some(&item)), None);
    let own = ["pay_operation=none", "pay_day=50000", "pay_month=60000"];
    let own = own.iter().fold(OwnLimits::default(), |own, text| own.with(&change(text)));
    assert_eq!(own.text().unwrap(), "pay_operation=none pay_day=50000 pay_month=60000");
    item.insert(OWN.to_owned(), Value::s(own.text().unwrap()));
    let failed = assumed.failure_on(Some(&item)).unwrap();
    assert_eq!(failed.failure, crate::failure::Failure::StalePlan);

    let read = unread.of_account(std::slice::from_ref(&item)).unwrap();
    let planned = counted_debit(&read, "50000", now).unwrap();
    assert_eq!(planned.failure_on(Some(&item)), None);
    item.insert("use_pay_20261123".to_owned(), Value::int(1));
    assert!(LimitHit::of_guard(&planned, Some(&item)).is_some());
    assert!(matches!(counted_debit(&read, "50001", now), Err(LimitRefusal::Exceeded(_))));
    // They changed after they were read.
    item.insert(OWN.to_owned(), Value::s("pay_day=1"));
    assert_eq!(planned.failure_on(Some(&item)).unwrap().failure, crate::failure::Failure::StalePlan);
    // An account that was read and has none is guarded on having none.
    let without = unread.of_account(&[wallet(&[])]).unwrap();
    assert!(matches!(counted_debit(&without, "1001", now), Err(LimitRefusal::Exceeded(_))));
    assert!(counted_debit(&without, "1000", now).unwrap().failure_on(Some(&item)).is_some());
    let removed = own.with(&change("pay_operation=default")).with(&change("pay_day=default"));
    assert_eq!(removed.with(&change("pay_month=default")).text(), None);
}

#[test]
fn stored_limits_are_read_as_written() {
    let terms = terms(&["pay_day=1000", "topup_month=30000", "transfer_operation=0"]);
    assert_eq!(LimitTerms::read(&terms.item()).unwrap(), terms);
    assert_eq!(LimitTerms::read(&with_accounts(&terms).item()).unwrap(), with_accounts(&terms));
    for wrong in [Value::s("x"), Value::M(Item::from([("ECOPAY".to_owned(), Value::int(1))]))] {
        let mut item = terms.item();
        item.insert("customer".to_owned(), wrong);
        assert!(LimitTerms::read(&item).is_err());
    }
    for wrong in ["pay_day", "pay_day=x", "pay=1", "fly_day=1"] {
        let mut item = wallet(&[]);
        item.insert(OWN.to_owned(), Value::s(wrong));
        assert!(OwnLimits::read(&item, &Asset::Ecopay).is_err(), "{wrong}");
    }
}

#[test]
fn invalid_change_is_refused() {
    for wrong in ["pay_day", "pay=5", "pay_week=5", "fly_day=5", "pay_day=0.5", "pay_day=-1", "cash_topup_day=5"] {
        assert!(LimitChange::parse(Holder::Customer, &AssetSpec::ECOPAY, wrong).is_err(), "{wrong}");
    }
    assert!(LimitChange::parse(Holder::Card, &AssetSpec::ECOPAY, "cash_topup_day=5").is_ok());
}

#[test]
fn standing_has_used_and_remaining() {
    let terms = with_accounts(&terms(&["pay_operation=500", "pay_day=1000"]));
    let mut item = wallet(&[("use_pay_20261123", "300"), ("use_pay_20261122", "999"), ("use_pay_202611", "1299")]);
    let now = at("2026-11-23T03:00:00Z");
    let all = |item: &Item| standings(&terms, Holder::Customer, std::slice::from_ref(item), now).unwrap();
    let texts = |standing: &LimitStanding| {
        let LimitStanding { rule, limit, used, remaining, .. } = standing;
        format!("{rule} {} {} {}", limit.text(), used.text(), remaining.text())
    };
    let said: Vec<String> = all(&item).iter().map(texts).collect();
    assert_eq!(said, ["pay_operation 500 0 500", "pay_day 1000 300 700"]);
    item.insert(OWN.to_owned(), Value::s("pay_day=200 pay_month=none transfer_day=5"));
    let said: Vec<String> = all(&item).iter().map(texts).collect();
    assert_eq!(said, ["pay_operation 500 0 500", "pay_day 200 300 0", "transfer_day 5 0 5"]);
}

#[test]
fn reversal_takes_back_only_what_is_still_counted() {
    let (day, month) = ("use_pay_20261123", "use_pay_202611");
    let terms = terms(&["pay_day=1000", "pay_month=5000"]);
    let amount = yen("400");
    let now = at("2026-11-23T03:00:00Z");
    let mut uses = UseCounter::new(Some(&terms), account(), LimitKind::Pay, now);
    let _ = uses.count(debit(&amount, now), &amount).unwrap();
    let (name, value) = uses.counted().unwrap();
    assert_eq!(name, crate::journal::COUNTED);
    let Value::M(assets) = value else { panic!("a map") };
    assert_eq!(assets["ECOPAY"], Value::M(Item::from([day, month].map(|name| (name.to_owned(), Value::int(400))))));
    let names = [day, month].map(|name| (name.to_owned(), amount.clone())).into();

    let later = at("2026-11-24T03:00:00Z");
    let credit = || forms::credit(&Tenant::parse("demo").unwrap(), Role::Card, account(), &amount, later).unwrap();
    let back = uncount(credit(), &names, Some(&wallet(&[(month, "900")])));
    let rendered = back.render().unwrap();
    let RenderedAction::Update(_, update) = &rendered.action else { panic!("an update") };
    assert!(update.contains("#use_pay_202611 :uncounted") && !update.contains(day), "{update}");
    assert_eq!(rendered.values[":uncounted"], Value::int(-400));
    // The count was removed since it was read: planned again, and not created.
    assert_eq!(back.failure_on(Some(&wallet(&[]))).unwrap().failure, crate::failure::Failure::StalePlan);
    assert_eq!(uncount(credit(), &names, None), credit());
}

/// What a member with `used` may grant alone: `counted` with the guard's limit and failure, `needs_approval` or `exceeded`.
fn alone(of_role: Option<&str>, limit: &str, used: &str, units: &str) -> String {
    let terms = match of_role {
        Some(rule) => {
            let change = LimitChange::parse(Holder::Treasurer, &AssetSpec::ECOPAY, rule).unwrap();
            LimitTerms::none().with(Holder::Treasurer, &Asset::Ecopay, &change)
        }
        None => LimitTerms::none(),
    };
    let (now, amount) = (at("2026-11-23T03:00:00Z"), yen(units));
    let seen = wallet(&[("use_grant_20261123_ecopay", used), ("use_grant_20261122_ecopay", "9000")]);
    let used = used_by_member(&seen, (LimitKind::Grant, &amount), now).unwrap();
    let (of, kind) = ((&terms, [Holder::Treasurer].as_slice()), (LimitKind::Grant, &amount));
    let item = debit(&amount, now);
    let before = item.clauses().len();
    match count_alone(of, item, kind, (&yen(limit), &used), now).unwrap() {
        Alone::Counted(item) => {
            let guards: Vec<String> = item.clauses()[before..]
                .iter()
                .map(|clause| format!("{} {:?}", clause.condition.attribute(), clause.failure))
                .collect();
            format!("counted: {}", guards.join(", "))
        }
        Alone::NeedsApproval => "needs_approval".to_owned(),
        Alone::Exceeded => "exceeded".to_owned(),
    }
}

#[test]
fn what_a_member_does_alone_is_bounded_by_the_lower_limit_of_the_day() {
    let stale = "counted: use_grant_20261123_ecopay StalePlan";
    let limited = "counted: use_grant_20261123_ecopay LimitExceeded";
    for (of_role, limit, used, units, expected) in [
        (None, "1000", "0", "1000", stale),
        (None, "1000", "600", "400", stale),
        (None, "1000", "600", "401", "needs_approval"),
        (None, "1000", "0", "1001", "needs_approval"),
        (Some("grant_day=1000"), "1000", "600", "400", limited),
        (Some("grant_day=900"), "1000", "600", "400", limited),
        (Some("grant_day=900"), "1000", "0", "901", "exceeded"),
        (Some("grant_day=2000"), "1000", "600", "400", stale),
        (Some("grant_day=2000"), "1000", "600", "401", "needs_approval"),
        (Some("grant_operation=300"), "1000", "600", "400", "exceeded"),
        (Some("grant_operation=300"), "1000", "600", "300", stale),
    ] {
        assert_eq!(alone(of_role, limit, used, units), expected, "{of_role:?} {limit} {used} {units}");
    }
}
