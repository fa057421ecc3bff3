use super::super::posting;
use super::*;
use crate::ids::{CustomerId, MerchantId, Tenant, TerminalId, TransactionId};
use crate::keys::Partition;
use crate::memo::Memo;
use crate::personal::FreeText;
use proptest::prelude::*;
use std::collections::BTreeSet;

const CUSTOMER: &str = "019a0000-0000-7000-8000-00000000000a";
const OTHER: &str = "019a0000-0000-7000-8000-00000000000b";
const CARD: &str = "019a0000-0000-7000-8000-0000000000c1";
const MERCHANT_ID: &str = "019a0000-0000-7000-8000-0000000000e1";
const STAFF: &str = "019a0000-0000-7000-8000-000000000051";
const PAYMENT: &str = "019aa000-0000-7000-8000-000000000081";
const TXN: &str = "019aa000-0000-7000-8000-000000000071";

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn id() -> TransactionId {
    TransactionId::parse(TXN).unwrap()
}

fn customers_entry() -> Key {
    Partition::customer(&tenant(), CustomerId::parse(CUSTOMER).unwrap()).entry(id())
}

fn merchants_entry() -> Key {
    Partition::merchant(&tenant(), MerchantId::parse(MERCHANT_ID).unwrap()).entry(id())
}

fn merchants_reference() -> Key {
    Partition::merchant(&tenant(), MerchantId::parse(MERCHANT_ID).unwrap()).entry_reference(id())
}

fn texts(pairs: &[(&str, &str)]) -> Item {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), Value::s(text))).collect()
}

/// An entry with what every entry has.
fn entry(operation: &str, principal: &str, actor: &str, key: &str, more: &[(&str, &str)]) -> Item {
    let mut item = texts(&[
        ("transaction_id", TXN),
        ("operation", operation),
        ("principal", principal),
        ("actor", actor),
        ("idempotency_key", key),
        ("created_at", "2026-11-21T03:00:00.000Z"),
    ]);
    item.extend(texts(more));
    item
}

/// Postings of an account, an asset and a number; `*` before the account is its held part.
fn postings(of: &[(&str, &str, &str)]) -> Value {
    let posting = |(account, asset, delta): &(&str, &str, &str)| {
        let mut item = texts(&[("account", account.trim_start_matches('*')), ("asset", asset)]);
        item.insert("delta".to_owned(), Value::N((*delta).to_owned()));
        if account.starts_with('*') {
            item.insert("bucket".to_owned(), Value::s("held"));
        }
        Value::M(item)
    };
    Value::L(of.iter().map(posting).collect())
}

fn with(mut item: Item, name: &str, value: Value) -> Item {
    item.insert(name.to_owned(), value);
    item
}

/// What a builder writes that has the attributes of an expanded item; `None` if it writes no such item.
fn line(key: &Key, full: &Item) -> Option<Item> {
    let mut attributes = full.clone();
    let (postings, changes) = (attributes.remove(POSTINGS), attributes.remove(CHANGES));
    let line = StoredLine::under(key, attributes)?;
    match (postings, changes) {
        (None, None) => Some(line.item),
        (Some(_), None) => Some(line.with_postings(&full.maps(POSTINGS, posting).unwrap())),
        (None, Some(_)) => {
            let delta =
                |asset: &str, number: &str| Ok(Delta::from_stored(Asset::parse(asset).unwrap(), number).unwrap());
            Some(line.with_changes(&full.numbers::<_, Vec<_>>(CHANGES, delta).unwrap()))
        }
        (Some(_), Some(_)) => None,
    }
}

/// The item as it is stored: with its key.
fn stored(key: &Key, item: &Item) -> Item {
    with(with(item.clone(), attr::PK, Value::s(key.pk())), attr::SK, Value::s(key.sk()))
}

fn bytes(id: &str) -> Vec<u8> {
    parse_uuid(id).unwrap().as_bytes().to_vec()
}

fn memo() -> [(String, Value); 2] {
    Memo::new(&FreeText::parse("tea", 140).unwrap(), [7; 16]).attributes()
}

fn payment() -> Item {
    let (customer, merchant) = (format!("customer:{CUSTOMER}"), format!("merchant:{MERCHANT_ID}"));
    let item = entry("pay", &customer, &customer, OTHER, &[("merchant_id", MERCHANT_ID), ("payment_id", PAYMENT)]);
    let item = with(item, "co2", Value::N("17.4".to_owned()));
    let item = with(item, "co2_rate", Value::N("0.01".to_owned()));
    let item = [("co2_source", "municipal estimate"), ("co2_version", "2026-04"), ("credited_by", "seal")]
        .into_iter()
        .fold(item, |item, (name, text)| with(item, name, Value::s(text)));
    let item = memo().into_iter().fold(item, |item, (name, value)| with(item, &name, value));
    with(
        item,
        "postings",
        postings(&[
            (&customer, "ECOPAY", "-1740"),
            (&merchant, "ECOPAY", "1740"),
            ("points_issued", "POINT", "-17"),
            (&customer, "POINT", "17"),
        ]),
    )
}

#[test]
fn payment_leaves_out_what_follows_from_its_key() {
    let compact = line(&customers_entry(), &payment()).unwrap();
    let expected = Item::from([
        ("ca".to_owned(), Value::int(1_795_230_000_000)),
        ("op".to_owned(), Value::s("pay")),
        ("ik".to_owned(), Value::B(bytes(OTHER))),
        ("mi".to_owned(), Value::B(bytes(MERCHANT_ID))),
        ("pi".to_owned(), Value::B(bytes(PAYMENT))),
        ("po".to_owned(), Value::s("h-1740 m+1740 points_issued-17P h+17P")),
        ("co2".to_owned(), Value::N("17.4".to_owned())),
        ("cr".to_owned(), Value::N("0.01".to_owned())),
        ("cs".to_owned(), Value::s("municipal estimate")),
        ("cv".to_owned(), Value::s("2026-04")),
        ("credited_by".to_owned(), Value::s("seal")),
    ]);
    let expected: Item = expected.into_iter().chain(memo()).collect();
    assert_eq!(compact, expected);
    let whole = stored(&customers_entry(), &compact);
    assert_eq!(expanded(whole.clone()), Ok(stored(&customers_entry(), &payment())));
    assert_eq!(expand(&whole).unwrap().into_owned(), stored(&customers_entry(), &payment()));
}

#[test]
fn other_parties_and_the_held_part_are_kept() {
    let (merchant, card) = (format!("merchant:{MERCHANT_ID}"), format!("card:{CARD}"));
    let (home, other) = (format!("customer:{CUSTOMER}"), format!("customer:{OTHER}"));
    let full = entry(
        "capture",
        &merchant,
        &format!("merchant_staff:{STAFF}"),
        "k-1",
        &[("merchant_id", MERCHANT_ID), ("payment_id", "not an id"), ("payment_status", "captured")],
    );
    let all = [
        (format!("*{home}"), "ECOPAY", "-2"),
        (other.clone(), "POINT", "1"),
        (card, "REGIONAL#a-b", "0.25"),
        (other, "JCREDIT", "-0.001"),
        (format!("*{merchant}"), "ECOPAY", "2"),
    ];
    let all: Vec<(&str, &str, &str)> =
        all.iter().map(|(account, asset, delta)| (account.as_str(), *asset, *delta)).collect();
    let full = with(full, "postings", postings(&all));
    let compact = line(&customers_entry(), &full).unwrap();
    assert_eq!(compact["po"], Value::s("h*-2 1+1P 2+0.25R#a-b 1-0.001J m*+2"));
    assert_eq!(compact["oa"], Value::B([b"c".to_vec(), bytes(OTHER), b"d".to_vec(), bytes(CARD)].concat()));
    assert_eq!((&compact["pr"], &compact["kt"]), (&Value::B(b"m".to_vec()), &Value::s("k-1")));
    assert_eq!(compact["ac"], Value::B([b"e".to_vec(), bytes(STAFF)].concat()));
    // What is no id stays as it is.
    assert_eq!(compact["payment_id"], Value::s("not an id"));
    assert_eq!(expand_under(&customers_entry(), &compact).unwrap(), full);
}

#[test]
fn merchant_of_the_partition_is_a_reference_to_the_key() {
    let merchant = format!("merchant:{MERCHANT_ID}");
    let full = entry("settlement_hold", &merchant, "system", "settlement:1:hold", &[("merchant_id", MERCHANT_ID)]);
    let full =
        with(full, "postings", postings(&[(&merchant, "ECOPAY", "-3"), (&format!("*{merchant}"), "ECOPAY", "3")]));
    let compact = line(&merchants_entry(), &full).unwrap();
    assert_eq!(compact["mi"], Value::B(b"k".to_vec()));
    assert_eq!((&compact["ac"], &compact["po"]), (&Value::B(b"y".to_vec()), &Value::s("h-3 h*+3")));
    assert!(!compact.contains_key("pr"));
    assert_eq!(expand_under(&merchants_entry(), &compact).unwrap(), full);
}

#[test]
fn reference_names_its_home() {
    let terminal = format!("terminal:{STAFF}");
    let card = format!("card:{CARD}");
    let key = format!("{STAFF}-1-8");
    let full = entry("card_pay", &terminal, &terminal, &key, &[("home", &card), ("merchant_id", MERCHANT_ID)]);
    let changes = Item::from([
        ("ECOPAY".to_owned(), Value::N("-800".to_owned())),
        ("POINT".to_owned(), Value::N("8".to_owned())),
    ]);
    let full = with(full, "changes", Value::M(changes));
    let compact = line(&merchants_reference(), &full).unwrap();
    assert_eq!(compact["ho"], Value::B([b"d".to_vec(), bytes(CARD)].concat()));
    assert_eq!(compact["ch"], Value::s("-800 +8P"));
    assert_eq!(compact["ik"], Value::B([bytes(STAFF), b"-1-8".to_vec()].concat()));
    assert_eq!((&compact["mi"], compact.len()), (&Value::B(b"k".to_vec()), 7));
    assert_eq!(expanded(stored(&merchants_reference(), &compact)), Ok(stored(&merchants_reference(), &full)));
    let of_terminal = Partition::terminal(&tenant(), TerminalId::parse(STAFF).unwrap()).entry_reference(id());
    let compact = line(&of_terminal, &full).unwrap();
    assert_eq!(compact["mi"], Value::B(bytes(MERCHANT_ID)));
    assert_eq!(expand_under(&of_terminal, &compact).unwrap(), full);
}

#[test]
fn line_lacks_nothing_that_its_form_implies() {
    let without = |name: &str| {
        let mut item = payment();
        item.remove(name);
        item
    };
    let own = |name: &str| with(payment(), name, Value::s("x"));
    for full in [
        without("transaction_id"),
        without("principal"),
        without("actor"),
        with(payment(), "transaction_id", Value::s(PAYMENT)),
        with(payment(), "principal", Value::int(1)),
        with(payment(), "legacy", Value::M(Item::new())),
        own("oa"),
        own("po"),
        own("kt"),
    ] {
        assert_eq!(line(&customers_entry(), &full), None);
    }
}

#[test]
fn reference_to_a_legacy_row_has_no_principal() {
    let full = texts(&[
        ("transaction_id", TXN),
        ("operation", "pay#2"),
        ("created_at", "2023-11-14T22:13:20.000Z"),
        ("merchant_id", "shop 7"),
        ("payment_id", PAYMENT),
        ("legacy_sk", "history#1700000000000#pay#2"),
    ]);
    let full = with(full, "legacy", Value::M(texts(&[("amount", "500 yen")])));
    let full = with(full, "changes", Value::M(Item::new()));
    let compact = line(&merchants_reference(), &full).unwrap();
    assert_eq!((&compact["op"], &compact["ch"]), (&Value::s("pay#2"), &Value::s("")));
    assert_eq!((&compact["merchant_id"], &compact["pi"]), (&Value::s("shop 7"), &Value::B(bytes(PAYMENT))));
    assert_eq!(expand_under(&merchants_reference(), &compact).unwrap(), full);
}

#[test]
fn expanded_item_is_returned_as_it_is() {
    assert_eq!(expanded(payment()), Ok(payment()));
    assert!(matches!(expand(&payment()), Ok(Cow::Borrowed(_))));
}

#[test]
fn malformed_attribute_is_named_as_it_is_stored() {
    let whole = stored(&customers_entry(), &line(&customers_entry(), &payment()).unwrap());
    let empty = || Value::B(Vec::new());
    for (name, value) in [
        ("ca", Value::N("1.5".to_owned())),
        ("ca", Value::int(i64::MAX)),
        ("ca", Value::s("2026-11-21T03:00:00.000Z")),
        ("op", Value::int(1)),
        ("ik", Value::B(vec![1; 15])),
        ("ik", Value::B([vec![1; 16], vec![0xff]].concat())),
        ("mi", empty()),
        ("mi", Value::B(vec![b'm'])),
        ("pi", Value::B(vec![1; 17])),
        ("pi", Value::s(PAYMENT)),
        ("pr", Value::B(vec![b'x'])),
        ("pr", Value::B(vec![b'x'; 17])),
        ("ac", Value::s("system")),
        ("oa", Value::B(vec![b'c'; 16])),
        ("oa", Value::s("x")),
        ("po", Value::s("1-5")),
        ("po", Value::s("0-5")),
        ("po", Value::s("h5")),
        ("po", Value::s("h-5X")),
        ("po", Value::s("unknown-5")),
        ("po", Value::s(" ")),
        ("po", Value::L(Vec::new())),
        ("cr", Value::s("0.01")),
        // Under both names.
        ("operation", Value::s("pay")),
        ("postings", Value::L(Vec::new())),
    ] {
        let error = expand(&with(whole.clone(), name, value.clone())).unwrap_err();
        let short = ATTRIBUTES.iter().find(|(full, ..)| *full == name).map(|(_, short, _)| *short);
        assert!(error.attribute == name || Some(error.attribute.as_str()) == short, "{name} {value:?}: {error}");
    }
    let mut no_merchant = with(whole.clone(), "pr", Value::B(vec![b'm']));
    no_merchant.remove("mi");
    assert_eq!(expand(&no_merchant).unwrap_err().attribute, "po");
    for (pk, sk) in [("demo", "TXN#1"), ("demo#customer", "TXN#1"), ("demo#customer#1", "PROFILE")] {
        let item = with(with(whole.clone(), attr::PK, Value::s(pk)), attr::SK, Value::s(sk));
        assert!(expand(&item).is_err(), "{pk} {sk}");
    }
}

#[test]
fn names_and_letters_have_one_meaning() {
    fn distinct<T: Ord>(of: impl Iterator<Item = T> + Clone) {
        assert_eq!(of.clone().collect::<BTreeSet<T>>().len(), of.count());
    }
    distinct(ATTRIBUTES.iter().map(|(_, short, _)| *short).chain([OTHER_ACCOUNTS]));
    distinct(KINDS.iter().map(|(_, letter)| *letter));
    distinct(PARTIES.iter().map(|(_, letter)| *letter).chain([OF_MERCHANT]));
    let shorts: BTreeSet<&str> = ATTRIBUTES.iter().map(|(_, short, _)| *short).collect();
    assert!(ATTRIBUTES.iter().all(|(full, ..)| !shorts.contains(full)));
}

fn texts_of_any_form() -> impl Strategy<Value = String> {
    let ids = prop::sample::select(vec![CUSTOMER, OTHER, CARD, MERCHANT_ID, STAFF, PAYMENT, TXN]);
    let kinds = prop::sample::select(vec!["customer", "card", "merchant", "terminal", "staff", "merchant_staff", "x"]);
    prop_oneof![
        ids.clone().prop_map(str::to_owned),
        ids.clone().prop_map(str::to_uppercase),
        (ids.clone(), ".{0,6}").prop_map(|(id, rest)| format!("{id}{rest}")),
        (kinds, ids).prop_map(|(kind, id)| format!("{kind}:{id}")),
        prop::sample::select(vec!["stripe", "system", "h", "m", "ECOPAY", "REGIONAL#a", "points_issued", "pay"])
            .prop_map(str::to_owned),
        (-1_000_000_000_i64..4_000_000_000_000).prop_map(|millis| Timestamp::from_millis(millis).rfc3339()),
        Just("2026-11-21T03:00:00Z".to_owned()),
        ".{0,12}",
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let numbers = prop_oneof!["-?[1-9][0-9]{0,5}", "-?0\\.[0-9]{1,3}", "[+-]?[0-9]E[0-9]", ".{0,3}"];
    let leaf = prop_oneof![
        4 => texts_of_any_form().prop_map(Value::S),
        2 => numbers.prop_map(Value::N),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => prop::collection::vec(any::<u8>(), 0..20).prop_map(Value::B),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::L),
            prop::collection::btree_map(names(), inner, 0..4).prop_map(Value::M),
        ]
    })
}

fn names() -> impl Strategy<Value = String> {
    let known: Vec<&str> = ATTRIBUTES.iter().map(|(full, ..)| *full).collect();
    let shorts: Vec<&str> = ATTRIBUTES.iter().map(|(_, short, _)| *short).chain([OTHER_ACCOUNTS]).collect();
    let of_postings = vec!["account", "asset", "delta", "bucket", "ECOPAY", "POINT", "REGIONAL#a"];
    prop_oneof![
        20 => prop::sample::select(known).prop_map(str::to_owned),
        1 => prop::sample::select(shorts).prop_map(str::to_owned),
        4 => prop::sample::select(of_postings).prop_map(str::to_owned),
        4 => "[a-z_]{1,8}",
    ]
}

fn posting_lists() -> impl Strategy<Value = Value> {
    let ids = prop::sample::select(vec![CUSTOMER, OTHER, CARD, MERCHANT_ID, STAFF]);
    let kinds = prop::sample::select(vec!["customer", "card", "merchant"]);
    let accounts = prop_oneof![
        3 => (kinds, ids).prop_map(|(kind, id)| format!("{kind}:{id}")),
        1 => prop::sample::select(vec!["points_issued", "stripe_clearing", "fees"]).prop_map(str::to_owned),
    ];
    let assets = prop::sample::select(vec!["ECOPAY", "POINT", "JCREDIT", "REGIONAL#a-1"]);
    let posting = (accounts, assets, "-?[1-9][0-9]{0,4}(\\.[0-9]?[1-9])?", any::<bool>());
    let posting = posting.prop_map(|(account, asset, delta, is_held)| {
        let mut item = texts(&[("account", account.as_str()), ("asset", asset)]);
        item.insert("delta".to_owned(), Value::N(delta));
        if is_held {
            item.insert("bucket".to_owned(), Value::s("held"));
        }
        Value::M(item)
    });
    prop::collection::vec(posting, 0..6).prop_map(Value::L)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// What is written of any attributes at all expands to exactly them.
    #[test]
    fn line_of_any_attributes_expands_to_them(
        more in prop::collection::btree_map(names(), values(), 0..14),
        postings in prop::option::of(posting_lists()),
        has_all in prop::bool::weighted(0.9),
        of in prop::sample::select(vec![customers_entry(), merchants_entry(), merchants_reference()]),
    ) {
        let mut full = if has_all { entry("pay", "customer:x", "system", "k", &[]) } else { Item::new() };
        full.extend(more);
        // A line is given these by their types.
        full.retain(|name, _| ![POSTINGS, CHANGES].contains(&name.as_str()));
        full.extend(postings.map(|postings| ("postings".to_owned(), postings)));
        // It is refused, or says exactly the same.
        if let Some(kept) = line(&of, &full) {
            prop_assert_eq!(expand_under(&of, &kept).unwrap(), full);
        }
    }
}
