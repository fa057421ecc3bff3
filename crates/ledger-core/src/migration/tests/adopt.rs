use super::*;
use crate::migration::{Adoption, Unadoptable, UnsupportedType};

fn adoption_texts(
    model: Model,
    items: &[(Key, Item)],
    unsupported: &[(&str, UnsupportedType)],
) -> Result<Vec<String>, Unadoptable> {
    let unsupported = unsupported.iter().map(|(name, unsupported)| ((*name).to_owned(), *unsupported)).collect();
    let items = items.iter().map(|(key, item)| (key.clone(), Some(item.clone())));
    match adopt(&migration(model, 0, 0), &customer_ref(), &Snapshot::new(items, unsupported), now())? {
        Adoption::Change(change) => Ok(action_texts(&change)),
        Adoption::Adopted => Ok(vec!["adopted".to_owned()]),
        Adoption::Missing => Ok(vec!["missing".to_owned()]),
    }
}

/// Adopts a customer with a God Record and no other item.
fn of(values: &[(&str, Value)], unsupported: &[(&str, UnsupportedType)]) -> Result<Vec<String>, Unadoptable> {
    adoption_texts(Model::GodRecord, &[(god(), item(values))], unsupported)
}

#[test]
fn attribute_that_cannot_be_kept_is_named_in_the_error() {
    let kind = "has a type that the ledger does not read";
    let null = "is null: remove it, or set it to a number";
    let text = "is not text";
    let time = crate::migration::legacy::NO_TIME;
    let terms = "is a balance in an asset that is not in the tenant's terms";
    let (number, exact) = ("is not a number", "is not a number that can be stored exactly");
    let refused = "is not a valid balance: it is negative, too large, or with more decimals than its asset has";
    let ours = "has a name that the ledger reserves";
    let long = n("0.12345678901234567890123456789012345678");
    for (unsupported, why, names) in [
        (
            UnsupportedType::Other,
            kind,
            &[
                "name",
                "email",
                "phone_number",
                "balance",
                "point",
                "jcredit",
                "regional",
                "co2_total",
                "created_at",
                "updated_at",
            ][..],
        ),
        (UnsupportedType::Null, null, &["balance", "point", "jcredit", "regional", "co2_total"]),
    ] {
        for name in names {
            let wrong = Unadoptable { attribute: (*name).to_owned(), why };
            assert_eq!(of(&[("rank", s("gold"))], &[(name, unsupported)]), Err(wrong));
        }
    }
    let held = Unadoptable { attribute: "balance_held".to_owned(), why: ours };
    assert_eq!(of(&[], &[("balance_held", UnsupportedType::Null)]), Err(held));
    for (name, value, attribute, why) in [
        ("name", n("1"), "name", text),
        ("email", m(&[]), "email", text),
        ("phone_number", Value::Bool(true), "phone_number", text),
        ("created_at", n("0"), "created_at", time),
        ("created_at", n("1617235200123456"), "created_at", time),
        ("updated_at", Value::Bool(true), "updated_at", time),
        ("updated_at", m(&[]), "updated_at", time),
        ("jcredit", n("1"), "jcredit", terms),
        ("jcredit", s("1"), "jcredit", terms),
        ("regional", m(&[("aoba", n("1")), ("gone", n("0.01"))]), "regional.gone", terms),
        ("regional", m(&[("no.key", n("1"))]), "regional.no.key", terms),
        ("regional", m(&[("gone", s("0"))]), "regional.gone", terms),
        ("regional", Value::L(Vec::new()), "regional", "is not a map"),
        ("regional", m(&[("aoba", s("1"))]), "regional.aoba", number),
        ("regional", m(&[("aoba", n("0.125"))]), "regional.aoba", refused),
        ("co2_total", s("1"), "co2_total", number),
        ("co2_total", long.clone(), "co2_total", exact),
        ("balance", s("10"), "balance", number),
        ("balance", Value::L(vec![n("1")]), "balance", number),
        ("balance", long, "balance", exact),
        ("balance", n("1.23456789012345678901234567890123E+2"), "balance", exact),
        ("balance", n("-1"), "balance", refused),
        ("balance", n("0.5"), "balance", refused),
        ("point", n("1000000000000000"), "point", refused),
        ("balance_held", n("5"), "balance_held", ours),
        ("point_frozen", s("by_staff"), "point_frozen", ours),
        ("regional_aoba_corrected_at", s("then"), "regional_aoba_corrected_at", ours),
        ("profile_frozen", s("by_staff"), "profile_frozen", ours),
        ("profile_status", s("closed"), "profile_status", ours),
        ("metrics_payments", n("5"), "metrics_payments", ours),
    ] {
        assert_eq!(
            of(&[(name, value.clone())], &[]),
            Err(Unadoptable { attribute: attribute.to_owned(), why }),
            "{value:?}"
        );
    }
    // Unknown attributes may have any type.
    assert!(of(&[], &[("nickname", UnsupportedType::Null), ("tags", UnsupportedType::Other)]).is_ok());
    let wrong = Unadoptable { attribute: "point".to_owned(), why: number };
    assert_eq!(wrong.to_string(), "the God Record's `point` is not a number");
}

#[test]
fn number_timestamps_are_kept_and_null_ones_are_set() {
    let god_record = |texts: Vec<String>| texts.into_iter().find(|action| action.starts_with("customer: ")).unwrap();
    let numbers = [("created_at", n("1617235200")), ("updated_at", n("1617235200123"))];
    let kept = god_record(of(&numbers, &[]).unwrap());
    let protected =
        format!("created_at = if_not_exists(created_at, {AT}), updated_at = if_not_exists(updated_at, {AT})");
    assert!(kept.contains(&protected), "{kept}");
    let null = god_record(of(&[("rank", s("gold"))], &[("created_at", UnsupportedType::Null)]).unwrap());
    assert!(null.contains(&format!("created_at = {AT}")), "{null}");
    let guard = "(attribute_not_exists(created_at) OR attribute_type(created_at, 'NULL'))";
    assert!(null.contains(guard), "{null}");
    let empty = god_record(of(&[("updated_at", s(""))], &[]).unwrap());
    assert!(empty.contains(&format!("updated_at = {AT}")) && empty.contains("updated_at = ''"), "{empty}");
}

/// The attributes that are set in every adoption.
const TAKEN: &str = "fence_phase = 0, truth_profile = 'legacy', truth_history = 'legacy', truth_metrics = 'legacy', \
     truth_points = 'legacy', truth_jcredit = 'legacy', truth_regional = 'legacy', truth_money = 'legacy', \
     profile_accounts = 3, ";
const AT: &str = "'2023-11-14T22:13:20.000Z'";
const RAW: &str = "IF attribute_exists(uuid) AND attribute_not_exists(fence_phase)";

/// The attributes that are set only if they are absent.
fn protected() -> String {
    format!(
        "profile_status = if_not_exists(profile_status, 'active'), \
         profile_customer_id = if_not_exists(profile_customer_id, '{ID}'), \
         created_at = if_not_exists(created_at, {AT}), updated_at = if_not_exists(updated_at, {AT})"
    )
}

/// The companions of a balance.
fn beside(word: &str, exposure: &str) -> String {
    format!("{word}_exposure = {exposure}, {word}_updated_at = {AT}, ")
}

#[test]
fn god_record_is_adopted_with_absent_zero_and_large_balances() {
    let none = |word: &str| format!("{}{word} = 0, ", beside(word, "0"));
    let nothing = "attribute_not_exists(balance) AND attribute_not_exists(point)";
    let empty_map = format!("{}regional = {{aoba: 0}}, ", beside("regional_aoba", "0"));
    // Each case: the God Record, the attributes set, the guards, and the opening balances.
    let cases = [
        // No balances; attributes unknown to the ledger are not touched.
        (
            vec![("rank", s("gold")), ("tags", Value::L(vec![n("1")])), ("name", s(""))],
            format!("{}{}{empty_map}", none("balance"), none("point")),
            format!("{nothing} AND attribute_not_exists(regional.aoba) AND attribute_not_exists(regional)"),
            vec![],
        ),
        // Zero in several forms; a map without the tenant's currency, and with one that it does not have.
        (
            vec![
                ("balance", n("0.000")),
                ("point", n("-0")),
                ("jcredit", n("0")),
                ("regional", m(&[("gone", n("0"))])),
            ],
            format!(
                "{}{}{}regional.aoba = 0, ",
                beside("balance", "0"),
                beside("point", "0"),
                beside("regional_aoba", "0")
            ),
            "balance = 0.000 AND point = -0 AND attribute_not_exists(regional.aoba)".to_owned(),
            vec![],
        ),
        // Decimals, the largest balance, and a number with an exponent; guards compare the stored form.
        (
            vec![
                ("balance", n("999999999999999.0")),
                ("point", n("1.5E+3")),
                ("regional", m(&[("aoba", n("12.340")), ("gone", n("0.00"))])),
                ("co2_total", n("12.3456789")),
            ],
            format!(
                "{}{}{}",
                beside("balance", "999999999999999"),
                beside("point", "1500"),
                beside("regional_aoba", "12.34")
            ),
            "balance = 999999999999999.0 AND point = 1.5E+3 AND regional.aoba = 12.340".to_owned(),
            vec![("ECOPAY", "999999999999999"), ("POINT", "1500"), ("REGIONAL#aoba", "12.34")],
        ),
    ];
    for (values, set, guards, opens) in cases {
        let taken = of(&values, &[]).unwrap();
        let record = format!("customer: SET {TAKEN}{set}{} {RAW} AND {guards}", protected());
        assert_eq!(taken.last(), Some(&record));
        let postings: Vec<String> = opens
            .iter()
            .flat_map(|(asset, opens)| {
                let short = match *asset {
                    "ECOPAY" => String::new(),
                    "POINT" => "P".to_owned(),
                    "JCREDIT" => "J".to_owned(),
                    regional => regional.replace("REGIONAL#", "R#"),
                };
                [format!("h+{opens}{short}"), format!("opening_balances-{opens}{short}")]
            })
            .collect();
        // If a balance opens: a marker, an entry, and its legacy history item before the God Record.
        assert_eq!(taken.len(), if opens.is_empty() { 1 } else { 4 }, "{taken:#?}");
        if let [marker, entry, ..] = &taken[..taken.len() - 1] {
            assert!(marker.starts_with("ledger_idem#opening_balance#opening balance: PUT "), "{marker}");
            assert!(marker.contains(" IF (attribute_not_exists(uuid) OR ttl < "), "{marker}");
            assert!(entry.contains(&format!("po: '{}'", postings.join(" "))), "{entry}");
        }
    }
}

#[test]
fn adoption_distinguishes_unknown_split_and_adopted_customers() {
    let born = "customer: PUT {fence_phase: 0, regional: {}, truth_history: 'split', truth_jcredit: 'split', \
         truth_metrics: 'split', truth_money: 'split', truth_points: 'split', truth_profile: 'split', \
         truth_regional: 'split'} IF attribute_not_exists(uuid)";
    assert_eq!(adoption_texts(Model::GodRecord, &[], &[]), Ok(vec!["missing".to_owned()]));
    assert_eq!(
        adoption_texts(Model::GodRecord, &[(partition().profile(), Item::new())], &[]),
        Ok(vec![born.to_owned()])
    );
    // A fence means adopted; the other attributes are not read.
    assert_eq!(of(&[("fence_phase", n("0")), ("balance", s("x"))], &[]), Ok(vec!["adopted".to_owned()]));
}

#[test]
fn half_way_model_opens_points_from_aggregates() {
    let values = item(&[("balance", n("0")), ("regional", m(&[("aoba", n("0"))]))]);
    let aggregates = item(&[("point", n("40")), ("co2_total", n("3.5"))]);
    let taken = adoption_texts(Model::HalfWay, &[(god(), values), (metrics(), aggregates)], &[]).unwrap();
    let [.., record, beside] = &taken[..] else { panic!("{taken:?}") };
    assert!(record.contains("truth_metrics = 'split', truth_points = 'legacy'"), "{record}");
    assert!(record.ends_with(&format!("{RAW} AND balance = 0 AND regional.aoba = 0")), "{record}");
    assert_eq!(*beside, format!("METRICS: SET point_exposure = 40, point_updated_at = {AT} IF point = 40"));
}

#[test]
fn empty_or_null_text_is_removed_if_unchanged() {
    let removal = |values: &[(&str, Value)], unsupported: &[(&str, UnsupportedType)]| {
        let taken =
            of(&[values, &[("balance", n("0")), ("point", n("0")), ("regional", m(&[]))]].concat(), unsupported)
                .unwrap();
        let (_, rest) = taken[0].split_once(&protected()).unwrap();
        let (removed, guards) = rest.split_once(RAW).unwrap();
        let sums = " AND balance = 0 AND point = 0 AND attribute_not_exists(regional.aoba)";
        (removed.trim().to_owned(), guards.replace(sums, ""))
    };
    let is_null = |name: &str| format!(" AND (attribute_not_exists({name}) OR attribute_type({name}, 'NULL'))");
    let nothing = (String::new(), String::new());
    assert_eq!(removal(&[("name", s("")), ("email", s("a@example.jp")), ("phone_number", s("1"))], &[]), nothing);
    let (removed, guards) = removal(&[("email", s("")), ("phone_number", s(""))], &[]);
    assert_eq!(
        (removed.as_str(), guards.as_str()),
        ("REMOVE email, phone_number", " AND email = '' AND phone_number = ''")
    );
    let (removed, guards) =
        removal(&[("email", s(""))], &[("name", UnsupportedType::Null), ("phone_number", UnsupportedType::Null)]);
    assert_eq!(removed, "REMOVE email, phone_number, name");
    assert_eq!(guards, format!(" AND email = ''{}{}", is_null("phone_number"), is_null("name")));
    // The God Record may have a text under a name under which the aggregates have a null.
    assert_eq!(
        removal(
            &[("email", s("a@example.jp")), ("name", s("Hana"))],
            &[("email", UnsupportedType::Null), ("name", UnsupportedType::Null)]
        ),
        nothing
    );
}

#[test]
fn balance_in_the_item_of_the_other_model_is_refused() {
    let why = "is a balance in an item that has none in the tenant's model";
    let refused = |name: &str| Err(Unadoptable { attribute: name.to_owned(), why });
    let (units, none) = (item(&[("point", n("5"))]), item(&[("point", n("0")), ("jcredit", n("0.0"))]));
    assert_eq!(
        adoption_texts(Model::GodRecord, &[(god(), Item::new()), (metrics(), units.clone())], &[]),
        refused("point")
    );
    assert_eq!(adoption_texts(Model::HalfWay, &[(god(), units)], &[]), refused("point"));
    let jcredit = item(&[("jcredit", s("?"))]);
    assert_eq!(adoption_texts(Model::HalfWay, &[(god(), jcredit), (metrics(), Item::new())], &[]), refused("jcredit"));
    for (model, items) in [
        (Model::GodRecord, [(god(), Item::new()), (metrics(), none.clone())]),
        (Model::HalfWay, [(god(), none), (metrics(), Item::new())]),
    ] {
        assert!(adoption_texts(model, &items, &[]).unwrap().iter().any(|action| action.contains("point_exposure = 0")));
    }
}

#[test]
fn totals_are_checked_in_the_item_that_holds_them() {
    let wrong = |name: &str, why| Err(Unadoptable { attribute: name.to_owned(), why });
    for name in ["co2_total", "payments", "paid_total", "refunds", "refunded_total"] {
        let aggregates = (metrics(), item(&[(name, s("many"))]));
        assert_eq!(
            adoption_texts(Model::HalfWay, &[(god(), Item::new()), aggregates], &[]),
            wrong(name, "is not a number")
        );
    }
    // A total in the God Record is not read in the half-way model.
    assert!(adoption_texts(Model::HalfWay, &[(god(), item(&[("co2_total", s("many"))]))], &[]).is_ok());
    // Money, for a tenant without money.
    let of = |values: &[(&str, Value)]| {
        let assets = vec![AssetSpec::POINT];
        adopt(
            &Migration { assets, ..migration(Model::GodRecord, 0, 0) },
            &customer_ref(),
            &seen(&[(god(), item(values))]),
            now(),
        )
    };
    let why = "is a balance in an asset that is not in the tenant's terms";
    assert_eq!(of(&[("balance", n("1"))]), Err(Unadoptable { attribute: "balance".to_owned(), why }));
    assert!(of(&[("balance", n("0"))]).is_ok());
}
