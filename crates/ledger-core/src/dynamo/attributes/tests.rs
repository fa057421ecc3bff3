use super::*;
use crate::dynamo::{ItemFault, Value as V};
use crate::ids::CustomerId;
use crate::money::Co2Kg;
use std::fmt::Debug;

const NAME: &str = "name";
const ID: &str = "01900000-0000-7000-8000-000000000001";
const INSTANT: &str = "2026-11-21T09:00:00.000Z";

fn n(number: &str) -> V {
    V::N(number.to_owned())
}

fn map<const N: usize>(entries: [(&str, V); N]) -> V {
    V::M(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Checks a read of an item without the attribute, and with each value.
#[track_caller]
fn check<T: PartialEq + Debug>(
    read: impl Fn(&Item) -> Result<T, ItemError>,
    absent: Result<T, ItemFault>,
    cases: impl IntoIterator<Item = (V, Result<T, ItemFault>)>,
) {
    let fault = |error: ItemError| {
        assert_eq!(error.attribute, NAME);
        error.fault
    };
    assert_eq!(read(&Item::new()).map_err(fault), absent, "absent");
    for (value, want) in cases {
        let item = Item::from([(NAME.to_owned(), value.clone())]);
        assert_eq!(read(&item).map_err(fault), want, "{value:?}");
    }
}

/// Checks a read and its optional form: they differ only if the attribute is absent.
#[track_caller]
fn check_both<T: PartialEq + Debug + Clone>(
    read: impl Fn(&Item) -> Result<T, ItemError>,
    opt_read: impl Fn(&Item) -> Result<Option<T>, ItemError>,
    expected: AttributeKind,
    cases: impl IntoIterator<Item = (V, Result<T, ItemFault>)>,
) {
    let mut cases: Vec<_> = cases.into_iter().collect();
    cases.extend([(V::of_unknown_type(), Err(ItemFault::WrongType(expected)))]);
    let optional = cases.iter().cloned().map(|(value, want)| (value, want.map(Some)));
    check(opt_read, Ok(None), optional);
    check(read, Err(ItemFault::Missing), cases);
}

#[test]
fn text_is_any_string() {
    let wrong = Err(ItemFault::WrongType(AttributeKind::Text));
    let cases = [(V::s("a"), Ok("a".to_owned())), (V::s(""), Ok(String::new())), (n("1"), wrong.clone())];
    let text = |item: &Item| item.text(NAME).map(str::to_owned);
    let opt_text = |item: &Item| Ok(item.opt_text(NAME)?.map(str::to_owned));
    check_both(text, opt_text, AttributeKind::Text, cases.clone());
    check_both(|item| item.string(NAME), |item| item.opt_string(NAME), AttributeKind::Text, cases);
}

#[test]
fn parsed_bytes_that_are_refused_are_invalid() {
    let two = |bytes: &[u8]| <[u8; 2]>::try_from(bytes).ok();
    check_both(
        |item| item.parsed_bytes(NAME, two),
        |item| item.opt_parsed_bytes(NAME, two),
        AttributeKind::Bytes,
        [
            (V::B(vec![1, 2]), Ok([1, 2])),
            (V::B(vec![1]), Err(ItemFault::Invalid)),
            (V::s("12"), Err(ItemFault::WrongType(AttributeKind::Bytes))),
        ],
    );
}

#[test]
fn key_text_is_a_string_or_absent() {
    let item = Item::from([("pk".to_owned(), V::s("demo#customer"))]);
    assert_eq!((item.key_text("pk"), item.key_text("sk")), (Some("demo#customer"), None));
}

#[test]
fn parsed_text_that_is_refused_is_invalid() {
    let wrong = Err(ItemFault::WrongType(AttributeKind::Text));
    check_both(
        |item| item.parsed(NAME, CustomerId::parse),
        |item| item.opt_parsed(NAME, CustomerId::parse),
        AttributeKind::Text,
        [(V::s(ID), Ok(CustomerId::parse(ID).unwrap())), (V::s("1"), Err(ItemFault::Invalid)), (n("1"), wrong)],
    );
    let wrong = Err(ItemFault::WrongType(AttributeKind::Text));
    check_both(
        |item| item.timestamp(NAME),
        |item| item.opt_timestamp(NAME),
        AttributeKind::Text,
        [
            (V::s(INSTANT), Ok(Timestamp::parse(INSTANT).unwrap())),
            (V::s("noon"), Err(ItemFault::Invalid)),
            (n("1"), wrong),
        ],
    );
}

#[test]
fn unknown_name_is_invalid() {
    let side = |name: &str| ["left", "right"].iter().position(|side| *side == name);
    check_both(
        |item| item.named(NAME, side),
        |item| item.opt_named(NAME, side),
        AttributeKind::Text,
        [
            (V::s("right"), Ok(1)),
            (V::s("up"), Err(ItemFault::Invalid)),
            (V::Bool(true), Err(ItemFault::WrongType(AttributeKind::Text))),
        ],
    );
}

#[test]
fn number_is_its_decimal_text() {
    let wrong = Err(ItemFault::WrongType(AttributeKind::Number));
    check_both(
        |item| item.number(NAME).map(str::to_owned),
        |item| Ok(item.opt_number(NAME)?.map(str::to_owned)),
        AttributeKind::Number,
        [(n("1.50"), Ok("1.50".to_owned())), (V::s("1"), wrong)],
    );
    let wrong = Err(ItemFault::WrongType(AttributeKind::Number));
    check_both(
        |item| item.parsed_number(NAME, Co2Kg::from_stored),
        |item| item.opt_parsed_number(NAME, Co2Kg::from_stored),
        AttributeKind::Number,
        [(n("0"), Ok(Co2Kg::ZERO)), (n("1e200"), Err(ItemFault::Invalid)), (V::s("1"), wrong)],
    );
}

#[test]
fn int_that_its_type_cannot_hold_is_invalid() {
    let wrong = || ItemFault::WrongType(AttributeKind::WholeNumber);
    check_both(
        |item| item.int::<u8>(NAME),
        |item| item.opt_int::<u8>(NAME),
        AttributeKind::WholeNumber,
        [
            (n("255"), Ok(255)),
            (n("256"), Err(ItemFault::Invalid)),
            (n("-1"), Err(ItemFault::Invalid)),
            (n("1.5"), Err(wrong())),
            (n("9223372036854775808"), Err(wrong())),
            (V::s("1"), Err(wrong())),
        ],
    );
    check_both(
        |item| item.int::<i64>(NAME),
        |item| item.opt_int::<i64>(NAME),
        AttributeKind::WholeNumber,
        [(n("-9223372036854775808"), Ok(i64::MIN)), (n("9223372036854775808"), Err(wrong()))],
    );
}

#[test]
fn int_that_its_check_refuses_is_invalid() {
    let even = |number: u8| number.is_multiple_of(2).then_some(number / 2);
    check_both(
        |item| item.checked_int(NAME, even),
        |item| item.opt_checked_int(NAME, even),
        AttributeKind::WholeNumber,
        [
            (n("4"), Ok(2)),
            (n("3"), Err(ItemFault::Invalid)),
            (n("256"), Err(ItemFault::Invalid)),
            (V::Bool(true), Err(ItemFault::WrongType(AttributeKind::WholeNumber))),
        ],
    );
}

#[test]
fn quantity_that_its_kind_does_not_allow_is_invalid() {
    let balance = |number| Balance::from_stored(Asset::Ecopay, number).unwrap();
    let amount = |number| balance(number).as_amount().unwrap();
    let delta = |number| Delta::from_stored(Asset::Ecopay, number).unwrap();
    let wrong = || ItemFault::WrongType(AttributeKind::Number);
    check_both(
        |item| item.amount(NAME, Asset::Ecopay),
        |item| item.opt_amount(NAME, Asset::Ecopay),
        AttributeKind::Number,
        [
            (n("3"), Ok(amount("3"))),
            (n("0"), Err(ItemFault::Invalid)),
            (n("-3"), Err(ItemFault::Invalid)),
            (n("1e200"), Err(ItemFault::Invalid)),
            (V::s("3"), Err(wrong())),
        ],
    );
    check_both(
        |item| item.balance(NAME, Asset::Ecopay),
        |item| item.opt_balance(NAME, Asset::Ecopay),
        AttributeKind::Number,
        [
            (n("0"), Ok(balance("0"))),
            (n("-3"), Ok(balance("-3"))),
            (n("1e200"), Err(ItemFault::Invalid)),
            (V::s("3"), Err(wrong())),
        ],
    );
    check_both(
        |item| item.delta(NAME, Asset::Ecopay),
        |item| item.opt_delta(NAME, Asset::Ecopay),
        AttributeKind::Number,
        [(n("-3"), Ok(delta("-3"))), (n("0"), Err(ItemFault::Invalid)), (V::s("3"), Err(wrong()))],
    );
    check(
        |item| item.balance_or_zero(NAME, Asset::Ecopay),
        Ok(balance("0")),
        [(n("3"), Ok(balance("3"))), (n("1e200"), Err(ItemFault::Invalid)), (V::s("3"), Err(wrong()))],
    );
}

#[test]
fn rate_outside_its_bounds_is_invalid() {
    check(
        |item| item.rate(NAME),
        Err(ItemFault::Missing),
        [
            (n("0.015"), Ok(Rate::parse("0.015").unwrap())),
            (n("101"), Err(ItemFault::Invalid)),
            (V::s("0.015"), Err(ItemFault::WrongType(AttributeKind::Number))),
        ],
    );
}

#[test]
fn absent_flag_is_false_and_a_wrong_one_is_an_error() {
    check(
        |item| item.flag(NAME),
        Ok(false),
        [
            (V::Bool(true), Ok(true)),
            (V::Bool(false), Ok(false)),
            (V::s("true"), Err(ItemFault::WrongType(AttributeKind::Flag))),
        ],
    );
}

#[test]
fn nested_map_is_read_as_an_item() {
    let inner = [("a".to_owned(), V::s("b"))];
    check_both(
        |item| item.map(NAME).cloned(),
        |item| Ok(item.opt_map(NAME)?.cloned()),
        AttributeKind::Map,
        [
            (V::M(Item::from(inner.clone())), Ok(Item::from(inner))),
            (V::L(Vec::new()), Err(ItemFault::WrongType(AttributeKind::Map))),
        ],
    );
    let item = Item::from([(NAME.to_owned(), map([("a", V::s("b"))]))]);
    assert_eq!(item.map(NAME).unwrap().text("a"), Ok("b"));
}

#[test]
fn map_of_numbers_with_an_entry_of_another_type_is_invalid() {
    let read = |entry: &str, number: &str| Ok(format!("{entry}={number}"));
    check(
        |item| item.numbers::<_, Vec<_>>(NAME, read),
        Ok(Vec::new()),
        [
            (map([("a", n("1")), ("b", n("2"))]), Ok(vec!["a=1".to_owned(), "b=2".to_owned()])),
            (map([("a", n("1")), ("b", V::s("2"))]), Err(ItemFault::Invalid)),
            (V::L(vec![n("1")]), Err(ItemFault::WrongType(AttributeKind::Map))),
        ],
    );
    let item = Item::from([(NAME.to_owned(), map([("a", n("1"))]))]);
    let refused = item.numbers::<(), Vec<_>>(NAME, |entry, _| Err(ItemError::invalid(entry)));
    assert_eq!(refused, Err(ItemError::invalid("a")));
}

#[test]
fn list_with_an_element_of_another_type_is_invalid() {
    let wrong = || ItemFault::WrongType(AttributeKind::List);
    check(
        |item| item.list(NAME).map(<[V]>::to_vec),
        Ok(Vec::new()),
        [(V::L(vec![n("1")]), Ok(vec![n("1")])), (V::s("a"), Err(wrong()))],
    );
    check(
        |item| item.texts(NAME, CustomerId::parse),
        Ok(Vec::new()),
        [
            (V::L(vec![V::s(ID)]), Ok(vec![CustomerId::parse(ID).unwrap()])),
            (V::L(vec![V::s(ID), V::s("1")]), Err(ItemFault::Invalid)),
            (V::L(vec![V::s(ID), n("1")]), Err(ItemFault::Invalid)),
            (V::s(ID), Err(wrong())),
        ],
    );
    check(
        |item| item.maps(NAME, |element| element.string("a")),
        Ok(Vec::new()),
        [
            (V::L(vec![map([("a", V::s("b"))])]), Ok(vec!["b".to_owned()])),
            (V::L(vec![V::s("b")]), Err(ItemFault::Invalid)),
            (map([("a", V::s("b"))]), Err(wrong())),
        ],
    );
    let item = Item::from([(NAME.to_owned(), V::L(vec![map([])]))]);
    assert_eq!(item.maps(NAME, |element| element.string("a")), Err(ItemError::missing("a")));
}

#[test]
fn attributes_by_asset_are_read_under_their_own_names() {
    let stored = |name: &str, value: V| Item::from([("state".to_owned(), V::s("paid")), (name.to_owned(), value)]);
    let read = |item: &Item| item.by_asset("captured_", Item::amount);
    let yen = Balance::from_stored(Asset::Ecopay, "3").unwrap().as_amount().unwrap();
    assert_eq!(read(&Item::new()), Ok(BTreeMap::new()));
    assert_eq!(read(&stored("captured_ecopay", n("3"))), Ok(BTreeMap::from([(Asset::Ecopay, yen)])));
    assert_eq!(read(&stored("captured_ecopay", n("0"))), Err(ItemError::invalid("captured_ecopay")));
    assert_eq!(read(&stored("captured_gold", n("3"))), Err(ItemError::invalid("captured_gold")));
    let wrong = ItemError::wrong_type("captured_ecopay", AttributeKind::Number);
    assert_eq!(read(&stored("captured_ecopay", V::s("3"))), Err(wrong));
}
