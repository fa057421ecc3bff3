//! Checks that the table of DynamoDB's rules is complete, that each rule refuses and allows its cases, and the forms,
//! order and sizes of values.

use ledger_tests::engine::Table;
use ledger_tests::rules::cases::{self, Case};
use ledger_tests::rules::number::Number;
use ledger_tests::rules::reserved::{WORDS, is_reserved};
use ledger_tests::rules::{CODE, PAGES, RULES, Row, Rule, check, item_bytes, schema};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The names of rules without a case.
fn rules_without_case<'t>(table: &'t [Row], cases: &[Case]) -> Vec<&'t str> {
    table.iter().filter(|row| !cases.iter().any(|case| case.rule == row.rule)).map(|row| row.name).collect()
}

/// Whether a message has a row's form, in which `%` stands for any text.
fn has_form(message: &str, form: &str) -> bool {
    let mut parts = form.split('%');
    let Some(mut rest) = parts.next().and_then(|first| message.strip_prefix(first)) else { return false };
    for part in parts {
        if part.is_empty() {
            return true;
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty()
}

#[test]
fn every_rule_refuses_its_case_and_allows_the_nearest() {
    let mut wrong = Vec::new();
    for Case { rule, refused, allowed } in cases::all() {
        let row = RULES.iter().find(|row| row.rule == rule).expect("a row");
        match check(refused.operation, &refused.body) {
            Err(refusal) if refusal.rule == rule => {
                // The message about a bad value in an expression names its placeholder first.
                let message = refusal.message.strip_prefix("ExpressionAttributeValues contains invalid value: ");
                let message = message.and_then(|message| message.rsplit_once(" for key ")).map(|(message, _)| message);
                let message = message.unwrap_or(&refusal.message);
                if !has_form(message, row.error) {
                    wrong.push(format!("{}: the message is {message}", row.name));
                }
            }
            other => wrong.push(format!("{}: {other:?} at {}", row.name, short(&refused.body))),
        }
        if let Err(refusal) = check(allowed.operation, &allowed.body) {
            wrong.push(format!("{}: the allowed request: {refusal:?} at {}", row.name, short(&allowed.body)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_allowed_request_is_accepted_by_the_embedded_engine() {
    let table = Table::new();
    let refused = cases::all().into_iter().filter_map(|case| {
        let error = table.request(case.allowed.operation, &case.allowed.body).err()?;
        (error.code == CODE).then(|| format!("{:?}: {} at {}", case.rule, error.message, short(&case.allowed.body)))
    });
    let refused: Vec<String> = refused.collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn rule_without_case_is_found() {
    let cases = cases::all();
    assert!(rules_without_case(RULES, &cases).is_empty(), "{:?}", rules_without_case(RULES, &cases));
    let without: Vec<Case> = cases.into_iter().filter(|case| case.rule != Rule::BetweenInverted).collect();
    assert_eq!(rules_without_case(RULES, &without), ["BetweenInverted"]);
}

#[test]
fn every_row_names_its_error_and_a_page_of_the_documentation() {
    let names: BTreeSet<&str> = RULES.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), RULES.len());
    for row in RULES {
        assert!(row.error.len() > 20, "{}", row.name);
        let page = row.source.strip_prefix("developerguide/").or_else(|| row.source.strip_prefix("APIReference/"));
        assert!(page.is_some_and(|page| page.ends_with(".html")), "{}: {PAGES}{}", row.name, row.source);
    }
}

#[test]
fn due_read_from_an_empty_bound_is_refused() {
    let read = cases::due_from_an_empty_bound();
    let refusal = check(read.operation, &read.body).expect_err("an empty bound");
    assert_eq!(
        refusal.message,
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty \
         string value. Key: _due_sk"
    );
    // The embedded engine accepts it.
    assert!(Table::new().request(read.operation, &read.body).is_ok());
}

#[test]
fn filter_may_name_keys_in_a_scan_and_other_keys_in_a_query() {
    let of_due = schema::INDEXES.into_iter().find(|(name, _)| *name == "due").expect("the index").1;
    assert_eq!(of_due.both(), ["_due_pk", "_due_sk"]);
    let mut read = cases::due_from_an_empty_bound();
    read.body["KeyConditionExpression"] = "#pk = :pk AND #sk >= :low".into();
    read.body["ExpressionAttributeValues"][":low"]["S"] = "a".into();
    for (attribute, rule) in [("_due_pk", true), ("_due_sk", true), ("owner_sk", false), ("balance", false)] {
        read.body["FilterExpression"] = "#f > :high".into();
        read.body["ExpressionAttributeNames"]["#f"] = attribute.into();
        assert_eq!(check("Query", &read.body).is_err(), rule, "{attribute}");
    }
}

fn short(json: &Value) -> String {
    json.to_string().chars().take(600).collect()
}

#[test]
fn reserved_word_list_has_the_573_words_of_the_documentation() {
    assert_eq!(WORDS.len(), 573);
    for word in ["type", "Uuid", "ttl", "STATE", "role"] {
        assert!(is_reserved(word), "{word}");
    }
    for word in ["balance", "owner_pk", "_due_sk"] {
        assert!(!is_reserved(word), "{word}");
    }
}

#[test]
fn value_sizes_are_those_of_the_documentation() {
    const NAME: &str = "a";
    for (value, bytes) in [
        (json!({"S": "añb"}), 4),
        (json!({"N": "-12.5"}), 4),
        (json!({"B": "AAEC"}), 3),
        (json!({"BOOL": true}), 1),
        (json!({"NULL": true}), 1),
        (json!({"SS": ["ab", "c"]}), 3),
        (json!({"NS": ["1", "22"]}), 4),
        (json!({"L": []}), 3),
        (json!({"L": [{"S": "ab"}, {"N": "1"}]}), 9),
        (json!({"M": {"ab": {"S": "c"}}}), 7),
    ] {
        assert_eq!(item_bytes(&json!({ NAME: value })), NAME.len() + bytes, "{value}");
    }
}

#[test]
fn numbers_are_ordered_by_value() {
    let texts = ["-2e3", "-10", "-9.5", "-0.1", "0", "1E-130", "0.01", "0.1", "9", "10", "10.5", "2e3", "1e125"];
    let numbers = texts.map(|text| Number::parse(text).expect(text));
    assert!(numbers.is_sorted(), "{numbers:?}");
    for (one, other) in [("1", "1.0"), ("0", "-0.00"), ("100", "1e2"), ("+.5", "0.50"), ("5.", "05")] {
        assert_eq!(Number::parse(one), Number::parse(other), "{one}");
    }
}

#[test]
fn number_takes_one_byte_per_two_digits_and_one_more() {
    for (text, bytes) in [("0", 1), ("7", 2), ("42", 2), ("-42", 3), ("100", 2), ("123", 3), ("1.5", 3), ("0.25", 2)] {
        assert_eq!(Number::parse(text).expect(text).bytes(), bytes, "{text}");
    }
}

#[test]
fn malformed_number_is_refused() {
    for text in ["", "-", ".", "1e", "e2", "1 ", "NaN", "1_000", "--1", "1.2.3", "0x1"] {
        assert_eq!(Number::parse(text).expect_err(text).rule, Rule::NumberMalformed, "{text}");
    }
}
