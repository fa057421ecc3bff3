//! Every parser accepts only the canonical text of a value: the text as which the value is written.

use crate::account::Account;
use crate::bank_files::BankTransfer;
use crate::canonical::parse_canonical;
use crate::crediting::PeriodId;
use crate::idempotency::{IdempotencyKey, TerminalKey};
use crate::ids::*;
use crate::money::Asset;
use crate::operation::Operation;
use crate::psp::EventId;
use crate::reconcile::Group;
use crate::terminals::EnrolmentCode;
use crate::time::{BusinessDate, UtcDay};
use proptest::prelude::*;

/// Parses a text and writes the value again; `None` if the text is refused.
type Rewrite = fn(&str) -> Option<String>;

const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

fn written(value: impl ToString) -> String {
    value.to_string()
}

/// Every parser of a text that becomes part of a key or is compared in a guard, with texts that it accepts.
fn parsers() -> Vec<(&'static str, Rewrite, Vec<String>)> {
    let of_id = |before: &str, after: &str| format!("{before}{ID}{after}");
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    vec![
        (
            "uuid",
            |text| parse_uuid(text).ok().map(written),
            vec![ID.to_owned(), ID.replacen(ID.split('-').next().unwrap(), "00000000", 1)],
        ),
        ("card id", |text| CardId::parse(text).ok().map(written), vec![ID.to_owned()]),
        ("merchant id", |text| MerchantId::parse(text).ok().map(written), vec![ID.to_owned()]),
        ("payment id", |text| PaymentId::parse(text).ok().map(written), vec![ID.to_owned()]),
        (
            "bank file id",
            |text| BankFileId::parse(text).ok().map(written),
            texts(&["2026-12-10-01", "2026-12-10-10", "2026-12-10-99"]),
        ),
        (
            "place of a transfer",
            |text| BankTransfer::parse_place(text).map(|(day, settlement)| format!("{day}#{settlement}")),
            vec![of_id("2026-12-10#", "")],
        ),
        ("number", |text| parse_canonical::<u32>(text).map(written), texts(&["0", "7", "10", "4294967295"])),
        (
            "terminal key",
            |text| TerminalKey::parse(&IdempotencyKey::parse(text).ok()?).ok().map(written),
            vec![of_id("", "-0-0"), of_id("", "-1-17"), of_id("", "-10-1795264147815")],
        ),
        ("tenant", |text| Tenant::parse(text).ok().map(written), texts(&["demo", "0-a-1"])),
        (
            "principal",
            |text| Principal::parse(text).ok().map(written),
            vec![of_id("customer:", ""), of_id("terminal:", "")],
        ),
        (
            "account",
            |text| Account::parse(text).ok().map(written),
            vec![of_id("card:", ""), of_id("merchant:", ""), "cash_clearing".to_owned()],
        ),
        ("asset", |text| Asset::parse(text).ok().map(written), texts(&["ECOPAY", "REGIONAL#aoba-1"])),
        (
            "asset's attribute",
            |text| Asset::from_attribute_suffix(text).ok().map(|asset| asset.attribute_suffix()),
            texts(&["ecopay", "regional_aoba-1"]),
        ),
        ("operation", |text| Operation::parse(text).map(written), texts(&["pay", "card_reverse"])),
        ("event id", |text| EventId::parse(text).map(written), texts(&["evt_1AbC"])),
        ("business date", |text| BusinessDate::parse(text).ok().map(written), texts(&["2026-11-21", "0001-01-01"])),
        ("UTC day", |text| UtcDay::parse(text).ok().map(written), texts(&["2026-11-21"])),
        ("period", |text| PeriodId::parse(text).map(written), texts(&["L0/7", "L10/1"])),
        (
            "group of facts",
            |text| Group::parse(text).map(written),
            vec![of_id("demo/account/customer:", "/ECOPAY"), of_id("demo/payment/", "")],
        ),
        (
            "enrolment code",
            |text| {
                let code = EnrolmentCode::parse(text)?;
                let secret = text.rsplit_once('.')?.1;
                Some(format!("{}.{}.{secret}", code.tenant, code.terminal))
            },
            vec![of_id("demo.", ".AAECAwQFBgcICQoLDA0ODw")],
        ),
    ]
}

/// One change of a text, of a kind that lenient parsers ignore.
#[derive(Clone, Debug)]
enum Change {
    FlipCase(usize),
    Capitals,
    Insert(usize, char),
    Replace(usize, char),
    Remove(usize),
    NoHyphens,
    Around(&'static str, &'static str),
}

fn changes() -> impl Strategy<Value = Change> {
    let place = 0..64_usize;
    let character = prop::sample::select("0+-_ \t\n{}\"#./aATZ٣é".chars().collect::<Vec<_>>());
    prop_oneof![
        place.clone().prop_map(Change::FlipCase),
        Just(Change::Capitals),
        (place.clone(), character.clone()).prop_map(|(at, character)| Change::Insert(at, character)),
        (place.clone(), character).prop_map(|(at, character)| Change::Replace(at, character)),
        place.prop_map(Change::Remove),
        Just(Change::NoHyphens),
        prop::sample::select(vec![
            ("{", "}"),
            ("urn:uuid:", ""),
            (" ", ""),
            ("", " "),
            ("+", ""),
            ("0", ""),
            ("", "T00")
        ])
        .prop_map(|(before, after)| Change::Around(before, after)),
    ]
}

fn changed(text: &str, change: &Change) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let place = |at: usize| at.checked_rem(letters.len()).unwrap_or(0);
    match change {
        Change::FlipCase(at) => {
            let at = place(*at);
            if let Some(letter) = letters.get_mut(at) {
                *letter =
                    if letter.is_ascii_lowercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
            }
        }
        Change::Capitals => return text.to_uppercase(),
        Change::Insert(at, character) => {
            let at = place(*at);
            letters.insert(at, *character);
        }
        Change::Replace(at, character) => {
            let at = place(*at);
            if let Some(letter) = letters.get_mut(at) {
                *letter = *character;
            }
        }
        Change::Remove(at) => {
            let at = place(*at);
            if at < letters.len() {
                letters.remove(at);
            }
        }
        Change::NoHyphens => return text.replace('-', ""),
        Change::Around(before, after) => return format!("{before}{text}{after}"),
    }
    letters.into_iter().collect()
}

#[test]
fn canonical_text_is_accepted() {
    for (what, rewrite, texts) in parsers() {
        assert!(!texts.is_empty());
        for text in texts {
            assert_eq!(rewrite(&text).as_deref(), Some(text.as_str()), "{what}");
        }
    }
}

#[test]
fn other_spelling_of_an_id_is_refused() {
    let spellings = [
        ID.to_uppercase(),
        ID.replacen('d', "D", 1),
        ID.replace('-', ""),
        format!("{{{ID}}}"),
        format!("urn:uuid:{ID}"),
        format!(" {ID}"),
        format!("{ID}\n"),
    ];
    for text in spellings {
        assert_eq!(CustomerId::parse(&text), Err(IdError), "{text}");
        assert_eq!(TerminalId::parse(&text), Err(IdError), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4_000) })]

    #[test]
    fn parsed_text_equals_the_written_text(
        parser in 0..64_usize,
        sample in 0..8_usize,
        changes in prop::collection::vec(changes(), 1..4),
    ) {
        let parsers = parsers();
        let (what, rewrite, texts) = &parsers[parser.checked_rem(parsers.len()).unwrap()];
        let text = changes.iter().fold(texts[sample.checked_rem(texts.len()).unwrap()].clone(), |text, change| changed(&text, change));
        if let Some(written) = rewrite(&text) {
            prop_assert_eq!(written, text, "{}", what);
        }
    }

    #[test]
    fn every_uuid_has_its_canonical_text(bits in any::<u128>()) {
        let id = Uuid::from_u128(bits);
        let text = id.to_string();
        prop_assert_eq!(parse_uuid(&text), Ok(id));
        let upper = text.to_uppercase();
        prop_assert_eq!(parse_uuid(&upper).is_ok(), upper == text);
    }
}
