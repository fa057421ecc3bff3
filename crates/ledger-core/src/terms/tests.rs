//! Versions of terms: which one holds at an instant, what a change may set, and what is stored.

mod settlement;

use super::*;
use crate::dynamo::{Item, Value};
use crate::keys::Shards;
use crate::limits::{Holder, LimitChange, LimitTerms};
use crate::money::{Amount, Asset, AssetSpec, Rate, RegionalKey, Share};
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The attributes of `CONFIG` that are no terms of the programme: they hold at once.
const SWITCHES: [&str; 4] = ["due_shards", "format", "key_phase", TermsVersion::ATTRIBUTE];

fn regional() -> Asset {
    Asset::Regional(RegionalKey::parse("yama").unwrap())
}

/// Terms in which every attribute is present.
fn whole() -> TenantTerms {
    let rate = |text| Rate::parse(text).unwrap();
    let yen = |text| Amount::parse(&AssetSpec::ECOPAY, text).unwrap();
    let specs =
        [AssetSpec::ECOPAY, AssetSpec::POINT, AssetSpec::regional(RegionalKey::parse("yama").unwrap(), 2).unwrap()];
    let asset = |spec: AssetSpec| (spec.asset().clone(), AssetTerms::running(spec, None));
    let limit = LimitChange::parse(Holder::Customer, &AssetSpec::ECOPAY, "pay_day=2000").unwrap();
    let limits = LimitTerms::none().with(Holder::Customer, &Asset::Ecopay, &limit).suspending(true);
    let points = Amount::parse(&AssetSpec::POINT, "1000").unwrap();
    TenantTerms {
        version: TermsVersion::new(2).unwrap(),
        display_name: DisplayName::parse("Aoba").unwrap(),
        key_phase: KeyPhase::Mandatory,
        assets: specs.map(asset).into(),
        co2: Co2Terms { rate: rate("0.01"), source: "estimate".to_owned(), version: "2026-04".to_owned() },
        points_rate: Share::parse("0.01").unwrap(),
        card_cap: yen("20000"),
        card_bonus_rate: Share::parse("0.01").unwrap(),
        card_pin: CardPinTerms::Above(yen("3000").as_balance()),
        spent_points: SpentPoints::Deduct,
        due_shards: Shards::ONE,
        topup: Some(TopupTerms {
            points_rate: Share::parse("0.02").unwrap(),
            abandoned_after: Duration::from_secs(3600),
        }),
        requests_per_second: crate::rate::RequestRate::new(7),
        hold_hours: HoldHours::new(48),
        settlement: Some(SettlementTerms {
            fee_rate: Share::parse("0.03").unwrap(),
            tax_rate: Share::parse("0.1").unwrap(),
            ..SettlementTerms::free()
        }),
        settlement_schedule: None,
        limits: Some(limits),
        cash_bonus: CashBonusTerms::WhenCovered,
        ceilings: CeilingTerms { refund: yen("100000").as_balance(), cash: CeilingTerms::zero().cash },
        grant_limits: GrantLimits(BTreeMap::from([(Asset::Point, points)])),
        sign_ins: SignInTerms::OwnIds,
    }
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// A configuration with the whole terms, and a version 3 that follows them.
fn config(from: Timestamp, next: &TenantTerms) -> Item {
    let mut config = whole().item();
    let next = Item::from([
        (VERSION.to_owned(), Value::int(3)),
        (FROM.to_owned(), Value::s(from)),
        (TERMS.to_owned(), Value::M(next.programme())),
    ]);
    config.insert(NEXT.to_owned(), Value::M(next));
    config.insert(LAST.to_owned(), Value::int(3));
    config
}

fn wanted(changes: &[(&str, Option<&str>)]) -> BTreeMap<String, Option<String>> {
    changes.iter().map(|(field, to)| ((*field).to_owned(), to.map(str::to_owned))).collect()
}

fn changed(changes: &[(&str, Option<&str>)]) -> TenantTerms {
    TermsChanges::plan(&whole(), &wanted(changes)).unwrap().applied(&whole()).unwrap()
}

/// A further attribute of the terms must be in the list of the programme, or be a switch.
#[test]
fn every_attribute_of_terms_is_of_the_programme_or_a_switch() {
    let terms = whole();
    let all: BTreeSet<String> = terms.item().into_keys().collect();
    let programme: BTreeSet<String> = terms.programme().into_keys().collect();
    let switches: BTreeSet<String> = all.difference(&programme).cloned().collect();
    assert_eq!(switches, SWITCHES.map(str::to_owned).into());
    // Nothing of a version is lost between its writing and its reading.
    let read = TenantTerms::of_programme(&terms.item(), &terms.programme()).unwrap();
    assert_eq!(read, terms);
}

#[test]
fn version_holds_from_its_time_on() {
    let from = at("2026-12-01T00:00:00Z");
    let next = TenantTerms { version: TermsVersion::new(3).unwrap(), ..changed(&[("points_rate", Some("0.05"))]) };
    let schedule = TermsSchedule::read(&config(from, &next)).unwrap();
    let before = from.minus(Duration::from_millis(1));
    assert_eq!((schedule.at(before).as_ref(), schedule.at(from).as_ref()), (&whole(), &next));
    assert_eq!((schedule.from(before), schedule.from(from)), (None, Some(from)));
    assert!(schedule.scheduled(before).is_some() && schedule.scheduled(from).is_none());
    let settled = from.plus(TERMS_LEAD);
    assert!(schedule.unsettled(settled.minus(Duration::from_millis(1))).is_some());
    assert!(schedule.unsettled(settled).is_none());
    assert_eq!(schedule.last().number(), 3);
    assert!(schedule.is_versioned());
    let can_be_cancelled = |now| schedule.next().unwrap().can_be_cancelled(now);
    assert!(can_be_cancelled(from.minus(TERMS_LEAD)));
    assert!(!can_be_cancelled(from.minus(TERMS_LEAD).plus(Duration::from_millis(1))));
    // A tenant whose terms were never changed.
    let first = TenantTerms { version: TermsVersion::FIRST, ..whole() };
    let schedule = TermsSchedule::read(&first.item()).unwrap();
    assert_eq!(
        (schedule.at(from).as_ref(), schedule.last(), schedule.is_versioned()),
        (&first, TermsVersion::FIRST, false)
    );
}

/// Switches and limits of accounts hold at once, whatever version is in force.
#[test]
fn version_has_the_switches_of_the_configuration() {
    let from = at("2026-12-01T00:00:00Z");
    let mut config = config(from, &changed(&[("limits.customer.ECOPAY.pay_day", Some("500"))]));
    config.insert("due_shards".to_owned(), Value::int(16));
    let Some(Value::M(limits)) = config.get_mut("limits") else { panic!("limits") };
    limits.insert("accounts".to_owned(), Value::Bool(true));
    limits.insert("version".to_owned(), Value::int(8));
    let next = TenantTerms::read(&config, from).unwrap();
    assert_eq!(next.due_shards.count(), 16);
    let limits = next.limits.unwrap();
    assert_eq!((limits.has_own_limits(), limits.version()), (true, 8));
    let rule = crate::limits::Rule::parse("pay_day").unwrap();
    assert_eq!(limits.rule(Holder::Customer, &Asset::Ecopay, rule).unwrap().text(), "500");
}

/// A version may have limits where the configuration has none: then no account has any of its own.
#[test]
fn limits_of_a_version_are_not_stored_in_the_configuration_until_the_fold() {
    let from = at("2026-12-01T00:00:00Z");
    let mut config = config(from, &whole());
    config.remove("limits");
    let next = TenantTerms::read(&config, from).unwrap();
    let limits = next.limits.clone().unwrap();
    assert_eq!((limits.is_stored(), limits.has_own_limits(), limits.version()), (false, false, 0));
    let Some(Value::M(stored)) = folded(&config, &next).remove("limits").flatten() else { panic!("limits") };
    assert_eq!((stored.get("accounts"), stored.get("version")), (Some(&Value::Bool(false)), Some(&Value::int(0))));
}

#[test]
fn version_that_has_begun_is_folded_into_the_configuration() {
    let from = at("2026-12-01T00:00:00Z");
    let next = changed(&[("points_rate", Some("0.05")), ("hold_hours", None), ("card.pin_above", None)]);
    let mut config = config(from, &next);
    let begun = TenantTerms::read(&config, from).unwrap();
    for (name, value) in folded(&config, &begun) {
        match value {
            Some(value) => drop(config.insert(name.to_owned(), value)),
            None => drop(config.remove(name)),
        }
    }
    config.remove(NEXT);
    config.insert(TermsVersion::ATTRIBUTE.to_owned(), begun.version.value());
    let read = TenantTerms::read(&config, from).unwrap();
    assert_eq!(read, begun);
}

/// Each field: another value than the present one, how it is shown, and whether it can be cleared.
const FIELDS: [(&str, &str, &str, bool); 30] = [
    ("assets.ECOPAY.cap", "50000", "50000", true),
    ("assets.ECOPAY.spendable", "false", "false", false),
    ("assets.REGIONAL#yama.transferable", "false", "false", false),
    ("card.bonus_rate", "0.020", "0.02", false),
    ("card.cap", "30000", "30000", false),
    ("card.pin_above", "0", "0", true),
    ("cash_bonus", "never", "never", false),
    ("cash_ceiling", "300000", "300000", false),
    ("co2.kg_per_yen", "0.5", "0.5", false),
    ("co2.source", "another", "another", false),
    ("display_name", " \u{304b}\u{3099}Pay ", "\u{304c}Pay", false),
    ("co2.version", "2027-04", "2027-04", false),
    ("grant_limits.POINT", "500", "500", true),
    ("hold_hours", "720", "720", true),
    ("limits.customer.ECOPAY.pay_day", "0", "0", true),
    ("limits.suspend", "false", "false", false),
    ("points_rate", "0.05", "0.05", false),
    ("refund_ceiling", "50000", "50000", false),
    ("requests_per_second", "20", "20", true),
    ("settlement.bank_ahead_days", "60", "60", false),
    ("settlement.bank_cut_off", "09:30", "09:30", false),
    ("settlement.bank_file_cut", "09:30", "09:30", false),
    ("settlement.bank_lead_days", "0", "0", false),
    ("settlement.fee_rate", "0.04", "0.04", false),
    ("settlement.registration_number", "T1234567890123", "T1234567890123", true),
    ("settlement.schedule", "weekly:friday bank_days:2", "weekly:friday bank_days:2", true),
    ("settlement.tax_rate", "0", "0", false),
    ("spent_points", "forgive", "forgive", false),
    ("topup.abandoned_after_s", "60", "60", false),
    ("topup.points_rate", "0", "0", false),
];

#[test]
fn every_field_is_set_shown_stored_and_cleared_where_it_may_be() {
    let names: BTreeSet<&str> = FIELDS.iter().map(|(field, ..)| *field).collect();
    for (field, _) in whole().fields() {
        let is_listed = names.contains(&*field) || field.starts_with("assets.");
        assert!(is_listed, "{field}");
    }
    for (field, to, shown, is_optional) in FIELDS {
        let changes =
            TermsChanges::plan(&whole(), &wanted(&[(field, Some(to))])).unwrap_or_else(|e| panic!("{field}: {e:?}"));
        let after = changes.applied(&whole()).unwrap();
        assert_eq!(after.fields().get(field).map(String::as_str), Some(shown), "{field}");
        let others =
            |terms: &TenantTerms| terms.fields().into_iter().filter(|(name, _)| name != field).collect::<Vec<_>>();
        assert_eq!(others(&after), others(&whole()), "{field}");
        assert_eq!(TenantTerms::of_programme(&whole().item(), &after.programme()).unwrap(), after, "{field}");
        let item = Item::from([("changes".to_owned(), changes.item())]);
        assert_eq!(TermsChanges::read(&item, "changes").unwrap(), changes);
        // A change is made for the value that was seen.
        assert_eq!(changes.applied(&after), None, "{field}");
        match TermsChanges::plan(&after, &wanted(&[(field, None)])) {
            Ok(cleared) => {
                assert!(is_optional, "{field}");
                let cleared = cleared.applied(&after).unwrap();
                assert_eq!(cleared.fields().get(field), None, "{field}");
                assert_eq!(
                    TenantTerms::of_programme(&whole().item(), &cleared.programme()).unwrap(),
                    cleared,
                    "{field}"
                );
            }
            Err(errors) => {
                assert!(!is_optional && errors[0].why == "cannot be cleared", "{field}: {errors:?}");
            }
        }
    }
}

#[test]
fn invalid_fields_are_named_all_of_them() {
    for (field, to) in [
        ("points_rate", "-0.1"),
        ("points_rate", "5%"),
        ("card.cap", "0"),
        ("card.cap", "1.5"),
        ("card.pin_above", "-1"),
        ("cash_bonus", "always"),
        ("refund_ceiling", "-1"),
        ("cash_ceiling", "1.5"),
        ("assets.JCREDIT.cap", "1"),
        ("assets.REGIONAL#yama.cap", "1.234"),
        ("assets.ECOPAY.spendable", "yes"),
        ("grant_limits.JCREDIT", "1"),
        ("hold_hours", "0"),
        ("hold_hours", "721"),
        ("hold_hours", "048"),
        ("requests_per_second", "0"),
        ("spent_points", "keep"),
        ("topup.abandoned_after_s", "0"),
        ("limits.customer.ECOPAY.pay_week", "1"),
        ("limits.merchant.ECOPAY.transfer_day", "1"),
        ("limits.customer.JCREDIT.pay_day", "1"),
        ("co2.source", ""),
        ("display_name", " "),
        ("display_name", "a\u{200b}b"),
        ("display_name", "4242 4242 4242 4242"),
        ("key_phase", "optional"),
        ("records", "6"),
        ("assets.ECOPAY.scale", "2"),
        ("Points_rate", "0.1"),
    ] {
        let errors = TermsChanges::plan(&whole(), &wanted(&[(field, Some(to)), ("card.bonus_rate", Some("0.5"))]));
        let errors = errors.unwrap_err();
        assert_eq!((errors.len(), &*errors[0].field), (1, field), "{to}: {errors:?}");
        assert!(to.len() < 2 || !errors[0].why.contains(to), "{field}: a refusal repeats no value: {errors:?}");
    }
    let many =
        wanted(&[("points_rate", Some("x")), ("card.cap", None), ("colour", Some("red")), ("hold_hours", Some("48"))]);
    let named: Vec<String> =
        TermsChanges::plan(&whole(), &many).unwrap_err().into_iter().map(|error| error.field).collect();
    assert_eq!(named, ["card.cap", "colour", "points_rate"]);
    // What cannot be a name is not repeated.
    let name = "a".repeat(81);
    for name in [&*name, "4242 4242 4242 4242", "日本"] {
        let errors = TermsChanges::plan(&whole(), &wanted(&[(name, Some("1"))])).unwrap_err();
        assert_eq!(errors[0].field, "changes");
    }
}

#[test]
fn change_that_changes_nothing_is_refused() {
    for changes in [&[][..], &[("points_rate", Some("0.010"))], &[("assets.ECOPAY.cap", None)]] {
        let errors = TermsChanges::plan(&whole(), &wanted(changes)).unwrap_err();
        assert_eq!(errors[0].field, "changes", "{changes:?}");
    }
    // Fields that have the value already are left out of the others.
    let some = wanted(&[("points_rate", Some("0.010")), ("hold_hours", Some("24"))]);
    let changes = TermsChanges::plan(&whole(), &some).unwrap();
    let (from, to) = (Some("48".to_owned()), Some("24".to_owned()));
    assert_eq!(changes.iter().collect::<Vec<_>>(), [&TermsFieldChange { field: TermsField::HoldHours, from, to }]);
}

#[test]
fn stored_changes_are_read_strictly() {
    let field =
        |name: &str| Value::M(Item::from([("field".to_owned(), Value::s(name)), ("to".to_owned(), Value::s("1"))]));
    let read =
        |fields: Vec<Value>| TermsChanges::read(&Item::from([("changes".to_owned(), Value::L(fields))]), "changes");
    assert!(read(vec![field("card.cap"), field("points_rate")]).is_ok());
    for wrong in [
        vec![],
        vec![field("points_rate"), field("card.cap")],
        vec![field("card.cap"), field("card.cap")],
        vec![field("colour")],
    ] {
        assert!(read(wrong.clone()).is_err(), "{wrong:?}");
    }
}

#[test]
fn first_version_is_written_without_a_number() {
    assert_eq!(TermsVersion::FIRST.attribute(), None);
    assert_eq!(TermsVersion::read(&Item::new()).unwrap(), TermsVersion::FIRST);
    let second = TermsVersion::FIRST.next();
    let item: Item = second.attribute().into_iter().collect();
    assert_eq!(TermsVersion::read(&item).unwrap(), second);
    assert_eq!(TermsVersion::new(0), None);
    let zero = Item::from([(TermsVersion::ATTRIBUTE.to_owned(), Value::int(0))]);
    assert!(TermsVersion::read(&zero).is_err());
}

#[test]
fn regional_currency_of_the_tenant_is_a_field() {
    assert!(whole().fields().contains_key(&format!("assets.{}.spendable", regional())));
}

fn leaf() -> Asset {
    Asset::Regional(RegionalKey::parse("leaf").unwrap())
}

fn refused(terms: &TenantTerms, changes: &[(&str, Option<&str>)]) -> Vec<String> {
    let errors = TermsChanges::plan(terms, &wanted(changes)).unwrap_err();
    errors.into_iter().map(|error| error.field).collect()
}

#[test]
fn regional_currency_is_added_with_its_terms_in_one_change() {
    let added = [
        ("assets.REGIONAL#leaf.budgeted", Some("true")),
        ("assets.REGIONAL#leaf.cap", Some("1000.50")),
        ("assets.REGIONAL#leaf.scale", Some("2")),
        ("assets.REGIONAL#leaf.transferable", Some("false")),
        ("grant_limits.REGIONAL#leaf", Some("10.5")),
    ];
    let changes = TermsChanges::plan(&whole(), &wanted(&added)).unwrap();
    let after = changes.applied(&whole()).unwrap();
    let leaf = after.asset(&leaf()).unwrap();
    assert_eq!((leaf.spec.scale(), leaf.cap.as_ref().map(Amount::text)), (2, Some("1000.5".to_owned())));
    assert_eq!(
        (leaf.transferable, leaf.spendable, leaf.budgeted, leaf.state),
        (false, true, true, AssetState::Running)
    );
    let item = Item::from([("changes".to_owned(), changes.item())]);
    assert_eq!(TermsChanges::read(&item, "changes").unwrap(), changes);
    assert_eq!(TenantTerms::of_programme(&whole().item(), &after.programme()).unwrap(), after);
    // Without the scale there is nothing to set.
    assert_eq!(refused(&whole(), &added[1..2]), ["assets.REGIONAL#leaf.cap"]);
    // A scale is for ever, and a budget from the beginning.
    let fields = ["assets.REGIONAL#leaf.budgeted", "assets.REGIONAL#leaf.scale"];
    assert_eq!(refused(&after, &[(fields[0], Some("false")), (fields[1], Some("3"))]), fields);
    assert_eq!(
        refused(&whole(), &[("assets.REGIONAL#yama.budgeted", Some("true"))]),
        ["assets.REGIONAL#yama.budgeted"]
    );
    assert_eq!(refused(&after, &[(fields[1], None)]), [fields[1]]);
    for scale in ["7", "-1", "02", "1.0"] {
        assert_eq!(refused(&whole(), &[(fields[1], Some(scale))]), [fields[1]], "{scale}");
    }
}

#[test]
fn assets_have_a_ceiling() {
    let names: Vec<String> = (3..=40).map(|number| format!("assets.REGIONAL#c{number}.scale")).collect();
    let all: Vec<(&str, Option<&str>)> = names.iter().map(|name| (&**name, Some("0"))).collect();
    assert_eq!(changed(&all[..37]).assets.len(), 40);
    assert_eq!(refused(&whole(), &all), ["assets.REGIONAL#c9.scale"]);
}

#[test]
fn asset_goes_through_its_states_and_is_retired_for_ever() {
    let field = "assets.REGIONAL#yama.state";
    let in_state = |state| {
        let mut terms = whole();
        terms.assets.get_mut(&regional()).unwrap().state = state;
        terms
    };
    use AssetState::{NotIssued, NotSpent, Retired, Running};
    let allowed = [
        (Running, vec![NotIssued]),
        (NotIssued, vec![Running, NotSpent]),
        (NotSpent, vec![Running, Retired]),
        (Retired, vec![]),
    ];
    for (from, next) in allowed {
        let terms = in_state(from);
        assert_eq!(TenantTerms::of_programme(&whole().item(), &terms.programme()).unwrap(), terms);
        for to in AssetState::ALL {
            match TermsChanges::plan(&terms, &wanted(&[(field, Some(to.name()))])) {
                Ok(changes) => {
                    assert!(next.contains(&to), "{from:?} -> {to:?}");
                    assert_eq!(changes.applied(&terms).unwrap().asset(&regional()).unwrap().state, to);
                }
                Err(errors) if from == to => assert_eq!(errors[0].field, "changes", "{from:?}"),
                Err(errors) => {
                    assert!(!next.contains(&to) && errors[0].field == field, "{from:?} -> {to:?}: {errors:?}")
                }
            }
        }
    }
    for asset in ["ECOPAY", "POINT", "JCREDIT"] {
        let field = format!("assets.{asset}.state");
        assert_eq!(refused(&whole(), &[(&field, Some("not_issued"))]), [&*field]);
    }
    assert_eq!(refused(&whole(), &[(field, Some("stopped"))]), [field]);
}

#[test]
fn asset_that_runs_without_a_budget_is_stored_as_by_earlier_releases() {
    let Value::M(assets) = whole().item().remove("assets").unwrap() else { panic!("a map") };
    let Some(Value::M(yama)) = assets.get("REGIONAL#yama") else { panic!("a map") };
    assert_eq!(yama.keys().collect::<Vec<_>>(), ["scale", "spendable", "transferable"]);
}

#[test]
fn version_without_grant_limits_removes_those_before_it() {
    let next = TenantTerms { grant_limits: GrantLimits::default(), ..whole() };
    let (from, config) = (at("2026-12-01T00:00:00Z"), config(at("2026-12-01T00:00:00Z"), &next));
    assert_eq!(TenantTerms::read(&config, from).unwrap().grant_limits, GrantLimits::default());
    assert_eq!(folded(&config, &next).get(GrantLimits::ATTRIBUTE), Some(&None));
}
