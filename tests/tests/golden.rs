//! Every golden vector is read strictly, built, compared byte for byte, executed on the embedded
//! engine and judged. Nothing is ever written here.

use ledger_tests::golden::{cases, create, judge, reads, vector};
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
    each(vector::current(), |id, text| judge::check(&vector::Vector::read(id, &text)));
}

#[test]
fn every_superseded_vector_still_does_what_it_says() {
    each(vector::superseded(), |id, text| judge::check_standing(&vector::Vector::read(id, &text)));
}

#[test]
fn every_file_has_its_case_and_every_case_its_file() {
    let all = cases::all();
    let ids: BTreeSet<&str> = all.iter().map(|case| case.id).collect();
    assert_eq!(ids.len(), all.len(), "a case's id twice");
    let wanted: BTreeSet<(&str, &str)> = all.iter().map(|case| (case.version, case.id)).collect();
    let (first, newer) = (vector::files("v1"), vector::files("v2"));
    let in_v1 = first.keys().filter(|id| !newer.contains_key(*id)).map(|id| ("v1", id.as_str()));
    let files: BTreeSet<(&str, &str)> = in_v1.chain(newer.keys().map(|id| ("v2", id.as_str()))).collect();
    let missing: Vec<_> = wanted.difference(&files).collect();
    assert!(missing.is_empty(), "run `cargo run -p ledger-tests --bin golden-new` for {missing:#?}");
    let orphans: Vec<_> = files.difference(&wanted).collect();
    assert!(orphans.is_empty(), "no case in code for {orphans:#?}");
    let of_nothing: Vec<_> = newer.keys().filter(|id| !first.contains_key(*id)).collect();
    assert!(of_nothing.is_empty(), "these supersede nothing, and so belong to v1: {of_nothing:#?}");
}

#[test]
fn every_case_still_makes_its_file() {
    let files = vector::current();
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
        ("migration/copy-points", "concern"),
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

#[test]
fn every_vector_of_a_read_is_what_its_case_makes() {
    let files = reads::vector::files();
    let all = reads::cases::all();
    let ids: BTreeSet<&str> = all.iter().map(|case| case.id).collect();
    assert_eq!(ids.len(), all.len(), "a case's id twice");
    let stored: BTreeSet<&str> = files.keys().map(String::as_str).collect();
    let missing: Vec<_> = ids.difference(&stored).collect();
    assert!(missing.is_empty(), "run `cargo run -p ledger-tests --bin golden-new` for {missing:#?}");
    let orphans: Vec<_> = stored.difference(&ids).collect();
    assert!(orphans.is_empty(), "no case in code for {orphans:#?}");
    each(all.into_iter().map(|case| (case.id.to_owned(), case)), |id, case| {
        let vector = reads::vector::ReadVector::read(id, &files[id]);
        wire::assert_same(id, &case.vector().text(), &files[id]);
        let answered =
            reads::judge::answered(&vector.world, &vector.question, &vector.page.clone().unwrap_or_default());
        assert_eq!(answered.requests, vector.requests, "{id}");
        assert_eq!(answered.items, vector.items, "{id}");
    });
}

/// A read without a vector is checked by no engine.
#[test]
fn every_question_has_a_vector() {
    let exports = include_str!("../../crates/ledger-core/src/reads/mod.rs");
    let exported = exports.split("pub use ").skip(1).filter_map(|export| export.split(';').next());
    let names = exported.flat_map(|export| export.split(['{', '}', ',', ':']).map(str::trim));
    let modules = ["query", "request", "table", "accounts", "due", "items", "merchants", "tenants", "trail"];
    let is_function = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let questions: BTreeSet<&str> =
        names.filter(is_function).filter(|name| !modules.contains(name)).chain(["items"]).collect();
    assert!(questions.len() > 35, "{questions:?}");
    let files = reads::vector::files();
    let shown: BTreeSet<&str> = files.keys().filter_map(|id| Some(id.split_once('/')?.0)).collect();
    let missing: Vec<_> = questions.difference(&shown).collect();
    assert!(missing.is_empty(), "no vector asks {missing:?}");
}
