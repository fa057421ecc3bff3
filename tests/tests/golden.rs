//! Every golden vector is read strictly, built, compared byte for byte, executed on the embedded
//! engine and judged. Nothing is ever written here.

use ledger_tests::golden::{cases, create, judge, vector};
use ledger_tests::wire;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `check` on every id and names all that fail, not only the first.
fn each<T>(of: impl IntoIterator<Item = (String, T)>, check: impl Fn(&str, T)) {
    let mut failed = Vec::new();
    for (id, value) in of {
        if catch_unwind(AssertUnwindSafe(|| check(&id, value))).is_err() {
            failed.push(id);
        }
    }
    assert!(failed.is_empty(), "{} fail: {failed:#?}", failed.len());
}

#[test]
fn every_vector_builds_executes_and_means_what_it_says() {
    each(vector::files("v1"), |id, text| judge::check(&vector::Vector::read(id, &text)));
}

#[test]
fn every_file_has_its_case_and_every_case_its_file() {
    let files: BTreeSet<String> = vector::files("v1").into_keys().collect();
    let cases: Vec<String> = cases::all().into_iter().map(|case| case.id.to_owned()).collect();
    let ids: BTreeSet<String> = cases.iter().cloned().collect();
    assert_eq!(ids.len(), cases.len(), "a case's id twice");
    let missing: Vec<_> = ids.difference(&files).collect();
    assert!(missing.is_empty(), "run `cargo run -p ledger-tests --bin golden-new` for {missing:#?}");
    let orphans: Vec<_> = files.difference(&ids).collect();
    assert!(orphans.is_empty(), "no case in code for {orphans:#?}");
}

#[test]
fn every_case_still_makes_its_file() {
    let files = vector::files("v1");
    each(cases::all().into_iter().map(|case| (case.id.to_owned(), case)), |id, case| {
        // A standing vector never changes: neither the case nor what is built from it.
        wire::assert_same(id, &create::vector(&case).text(), &files[id]);
    });
}

#[test]
fn decoding_is_strict() {
    let id = "adjustment_approve/credit";
    let text = &vector::files("v1")[id];
    // Beside each of these, at every depth, a field that nobody knows.
    for known in ["why", "now", "tenant", "principal", "decision", "secret", "content_type", "outcome"] {
        let broken = text.replacen(&format!("\"{known}\":"), &format!("\"unknown\": \"x\", \"{known}\":"), 1);
        assert_ne!(&broken, text);
        let error = serde_json::from_str::<vector::Vector>(&broken).expect_err(known);
        assert!(error.to_string().contains("unknown field"), "{known}: {error}");
    }
    // And in what moves money from outside: before a field of each object of the command.
    let nested = [
        ("topup/claimed", "ledger"),
        ("topup_events/paid", "fact"),
        ("topup_events/paid", "received"),
        ("topup_refund_events/paid", "intent"),
        ("clawback/covered", "withdrawn"),
        ("clawback/covered", "currency"),
        ("flight/refused", "marker"),
        ("flight/refused", "burnt"),
        ("attention/topup-given-up", "refusal"),
    ];
    for (id, known) in nested {
        let text = &vector::files("v1")[id];
        let (before, does) = text.split_once("\"does\":").unwrap();
        let does = does.replacen(&format!("\"{known}\":"), &format!("\"unknown\": \"x\", \"{known}\":"), 1);
        let error = serde_json::from_str::<vector::Vector>(&format!("{before}\"does\":{does}")).expect_err(known);
        // A variant's name is refused as a variant.
        let error = error.to_string();
        assert!(error.contains("unknown field") || error.contains("unknown variant"), "{known}: {error}");
    }
    // The same document in another layout, or under another name.
    let other = text.replacen("  \"effects\"", "\"effects\"", 1);
    assert!(serde_json::from_str::<vector::Vector>(&other).is_ok());
    assert!(catch_unwind(|| vector::Vector::read(id, &other)).is_err());
    assert!(catch_unwind(|| vector::Vector::read("pay/money", text)).is_err());
    assert_eq!(vector::Vector::read(id, text).text(), *text);
}
