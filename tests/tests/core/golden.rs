//! Every golden vector is read strictly, built, compared byte for byte, executed on the embedded engine and judged.
//! No file is written here.

use ledger_tests::golden::changed::Changed;
use ledger_tests::golden::fill::fill;
use ledger_tests::golden::vector::GoldenFile;
use ledger_tests::golden::{judge, patch, reads, vector, world};
use ledger_tests::{layout, rules, wire};
use serde_json::json;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `check` on every id, then fails with all ids that failed.
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
fn every_vector_is_built_executed_and_judged() {
    each(named(vector::all()), |_, file| judge::check(file.vector()));
}

fn named(files: impl IntoIterator<Item = &'static GoldenFile>) -> impl Iterator<Item = (String, &'static GoldenFile)> {
    files.into_iter().map(|file| (file.id.clone(), file))
}

/// On the engine at `LEDGER_ENGINE_URL`; without it, on the embedded one over the network.
#[cfg(feature = "stack")]
mod on_another_engine {
    use super::*;
    use ledger_tests::engine::other::OtherEngine;
    use ledger_tests::engine::{Embedded, Engine, deviations};
    use ledger_tests::golden::{compare, compare_reads};
    use ledger_tests::share;
    use serde_json::Value as Json;
    use std::time::Duration;

    /// Reads whose range begins with an empty key.
    const RANGES_FROM_AN_EMPTY_KEY: &str = include_str!("../../engines/empty-key-ranges.json");

    /// Without another engine the transport alone is under test: every so many vectors are enough.
    const EMBEDDED_STEP: usize = 20;
    /// By default another engine executes every so many vectors, beside those that have changed.
    const STEP: usize = 20;
    const INDEX_LOOKS_MAX: u32 = 20;
    const INDEX_PAUSE: Duration = Duration::from_millis(250);

    #[test]
    fn every_vector_has_the_same_result_on_both_engines() {
        let (other, embedded) = (OtherEngine::judged(), Embedded::default());
        let (known, mut differs, mut ran) = (deviations::known("writes/"), BTreeSet::new(), 0_usize);
        let (step, changed) = match other.is_embedded() {
            true => (EMBEDDED_STEP, Changed::none()),
            false => (share::step(STEP), Changed::given()),
        };
        let chosen = |at: usize, file: &GoldenFile| share::is_chosen(at, step) || changed.has(file);
        for (_, file) in vector::all().iter().enumerate().filter(|(at, file)| chosen(*at, file)) {
            let (case, vector) = (&file.id, file.vector());
            if catch_unwind(AssertUnwindSafe(|| judge::check_on(&other, vector))).is_err() {
                differs.insert(format!("writes/{case} judged"));
            }
            if vector.items.is_empty() {
                continue;
            }
            let (there, here) = (compare::runs(vector, &other), compare::runs(vector, &embedded));
            for (run, (there, here)) in compare::RUNS.into_iter().zip(there.iter().zip(&here)) {
                ran += 1;
                if there != here {
                    println!(
                        "{case} {run}:\n  there {:?} {:?}\n  here  {:?} {:?}",
                        there.code, there.reasons, here.code, here.reasons
                    );
                    differs.insert(format!("writes/{case} {run}"));
                }
            }
        }
        println!("{ran} requests were executed on both engines, {} differ", differs.len());
        drop(other);
        deviations::check(&known, &differs);
        assert!(ran > 1_500 / step, "{ran}");
    }

    #[test]
    fn every_read_has_the_same_answer_on_both_engines() {
        let (other, embedded) = (OtherEngine::judged(), Embedded::default());
        let (known, mut differs) = (deviations::known("reads/"), BTreeSet::new());
        let cases = compare_reads::all();
        for case in &cases {
            let world: Vec<Json> = case.world.values().cloned().collect();
            other.hold(&world);
            embedded.hold(&world);
            let here = case.answers(&embedded);
            let mut there = case.answers(&other);
            // An index of DynamoDB may lag behind its table.
            for _ in 0..INDEX_LOOKS_MAX {
                if there == here {
                    break;
                }
                std::thread::sleep(INDEX_PAUSE);
                there = case.answers(&other);
            }
            if there != here || !there.as_ref().is_ok_and(|there| case.is_answered_by(there)) {
                println!("{}:\n  there {there:?}\n  here  {here:?}", case.id);
                differs.insert(format!("reads/{}", case.id));
            }
        }
        println!("{} reads were answered by both engines, {} differ", cases.len(), differs.len());
        drop(other);
        deviations::check(&known, &differs);
        assert!(cases.len() > 60, "{}", cases.len());
    }

    #[test]
    fn range_with_empty_key_is_refused() {
        let other = OtherEngine::judged();
        let reads: Vec<Json> = serde_json::from_str(RANGES_FROM_AN_EMPTY_KEY).unwrap();
        assert_eq!(reads.len(), 3);
        for read in reads {
            let mut request = read["request"].clone();
            let code = other.read("Query", &request).err().map(|refused| refused.code);
            // The embedded engine accepts it, so no test on that engine alone finds such a read.
            let expected = (!other.is_embedded()).then(|| "ValidationException".to_owned());
            assert_eq!(code, expected, "{}", read["worker"]);
            request["KeyConditionExpression"] = Json::from("#pk = :pk AND #sk <= :high");
            request["ExpressionAttributeValues"].as_object_mut().unwrap().remove(":low");
            assert!(other.read("Query", &request).is_ok(), "{}", read["worker"]);
        }
    }
}

#[test]
fn vector_has_changed_with_its_file_its_world_or_the_defaults() {
    let file = &vector::all()[0];
    let has = |path: &str| Changed::listed(&format!("reads/x.json\n{path}\n")).has(file);
    assert!(has(&format!("{}.json", file.id)) && has("defaults.json"));
    assert!(has(&format!("worlds/{}.json", file.vector().case.world)));
    assert!(!has("worlds/of-another.json") && !Changed::none().has(file));
}

/// Checks the requests and items as plain data, before any engine sees them.
#[test]
fn every_request_of_every_vector_obeys_dynamodbs_rules() {
    each(named(vector::all()), |_, file| {
        let vector = file.vector();
        if !vector.items.is_empty() {
            let request = json!({ "TransactItems": vector.items });
            assert_eq!(rules::check("TransactWriteItems", &request), Ok(()));
        }
        for item in &vector.case.given.state {
            assert_eq!(rules::check("PutItem", &json!({ "TableName": wire::TABLE, "Item": item })), Ok(()));
        }
    });
    each(reads::vector::files(), |id, text| {
        let vector = reads::vector::ReadVector::read(id, &text);
        for (operation, request) in vector.requests.iter().flat_map(|request| request.as_object().unwrap()) {
            assert_eq!(rules::check(operation, request), Ok(()));
        }
        for item in reads::vector::world(&vector.world).values() {
            assert_eq!(rules::check("PutItem", &json!({ "TableName": wire::TABLE, "Item": item })), Ok(()));
        }
    });
}

/// What `golden-new` fills in follows from what is written by hand: no request and no verdict is written by hand.
#[test]
fn every_file_is_what_golden_new_fills_in() {
    each(named(vector::all()), |id, file| {
        layout::assert_same(id, &fill(file.vector().case.clone()).text(), &file.text);
    });
}

#[test]
fn file_that_lacks_request_and_verdicts_is_filled_in_and_no_other_is() {
    let file = vector::all().iter().find(|file| file.id == "pay/money").unwrap();
    assert_eq!(vector::Case::unfilled(&file.text), Ok(None));
    let (by_hand, _) = file.text.split_once(",\n  \"request\":").unwrap();
    let by_hand = format!("{by_hand}\n}}\n");
    let case = vector::Case::unfilled(&by_hand).unwrap().expect("it lacks both");
    assert_eq!(fill(case.clone()).text(), file.text);
    let error = vector::Vector::parse(&by_hand).unwrap_err();
    assert!(error.contains("golden-new"), "{error}");
    let wrong = vector::Case { then: "replay".to_owned(), ..case };
    assert!(catch_unwind(|| fill(wrong)).is_err(), "another outcome than it states");
    let contradicting = file.text.replacen("\"then\": \"applied\"", "\"then\": \"replay\"", 1);
    assert!(vector::Vector::parse(&contradicting).is_err());
}

#[test]
fn unknown_fields_and_other_layouts_are_refused() {
    let id = "approval_approve/adjustment-credit";
    let text = &vector::files()[id];
    // An unknown field next to each of these fields, at every depth, is refused.
    for known in ["why", "request", "principal", "by", "if"] {
        let broken = text.replacen(&format!("\"{known}\":"), &format!("\"unknown\": \"x\", \"{known}\":"), 1);
        assert_ne!(&broken, text);
        let error = vector::Vector::parse(&broken).expect_err(known);
        assert!(error.contains("unknown field"), "{known}: {error}");
    }
    // Also in the commands of money from outside: before a field of each object.
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
        ("attention/topup-given-up", "content_type"),
    ];
    for (id, known) in nested {
        let text = &vector::files()[id];
        let (before, command) = text.split_once("\"command\":").unwrap();
        let broken = command.replacen(&format!("\"{known}\":"), &format!("\"unknown\": \"x\", \"{known}\":"), 1);
        assert_ne!(broken, command, "{id} has no {known}");
        let error = vector::Vector::parse(&format!("{before}\"command\":{broken}")).expect_err(known);
        // Next to the name of a variant it would be a second variant.
        assert!(error.contains("unknown field") || error.contains("a single key"), "{known}: {error}");
    }
    // The same document in another layout, or under another id.
    let other = text.replacen("  \"effects\"", "\"effects\"", 1);
    assert_eq!(vector::Vector::parse(&other), vector::Vector::parse(text));
    assert!(catch_unwind(|| vector::Vector::read(id, &other)).is_err());
    assert!(catch_unwind(|| vector::Vector::read("pay/money", text)).is_err());
    assert_eq!(vector::Vector::read(id, text).text(), *text);
}

/// A file omits defaults; one that repeats a default has another layout.
#[test]
fn file_that_repeats_a_default_is_refused() {
    let text = &vector::files()["pay/money"];
    let refused = |from: &str, to: &str| {
        let other = text.replacen(from, to, 1);
        assert_ne!(&other, text, "{from}");
        let parsed = vector::Vector::parse(&other);
        assert_eq!(parsed, vector::Vector::parse(text), "{from}");
        assert!(catch_unwind(|| vector::Vector::read("pay/money", &other)).is_err(), "{from}");
    };
    refused("  \"command\":", "  \"now\": \"2026-11-21T03:00:00.000Z\",\n  \"command\":");
    refused("  \"command\":", "  \"given\": {},\n  \"command\":");
    refused("\"claim\":", "\"tenant\": \"demo\", \"claim\":");
    refused("\"UpdateExpression\":", "\"TableName\": \"ecopay\", \"UpdateExpression\":");
    refused("{ \"then\": \"applied\" }", "{ \"if\": {}, \"then\": \"applied\" }");
    // Values that no file can have are refused.
    for (from, to) in [
        ("\"world\": \"payment\"", "\"world\": \"nowhere\""),
        ("\"0\": \"written\"", "\"9\": \"written\""),
        ("\"0\": \"written\"", "\"0\": { \"elsewhere\": {} }"),
        ("{ \"Update\":", "{ \"Delete\": {}, \"Update\":"),
    ] {
        let other = text.replacen(from, to, 1);
        assert_ne!(&other, text, "{from}");
        assert!(vector::Vector::parse(&other).is_err(), "{to}");
    }
}

#[test]
fn applied_difference_restores_the_document() {
    let documents = [
        json!({}),
        json!({ "a": { "N": "1" } }),
        json!({ "a": { "S": "1" }, "b": { "L": [{ "N": "1" }] } }),
        json!({ "a": { "M": { "x": { "N": "1" }, "y": { "N": "2" } } } }),
        json!({ "a": { "M": {} }, "b": { "L": [] } }),
        json!({ "a": "text" }),
    ];
    for from in &documents {
        for to in &documents {
            assert_eq!(&patch::apply(from, &patch::difference(from, to)), to, "of {from}");
        }
    }
    assert_eq!(patch::difference(&documents[1], &documents[2])["a"], json!({ "N": null, "S": "1" }));
}

#[test]
fn label_abbreviates_ids_only() {
    let label = |pk: &str, sk: &str| world::label(&json!({ "uuid": { "S": pk }, "type": { "S": sk } }));
    let id = "019a0000-0000-7000-8000-00000000000a";
    assert_eq!(label(&format!("demo#customer#{id}"), "BALANCE#POINT"), "customer a BALANCE#POINT");
    assert_eq!(label("demo#tenant#root", &format!("RETURN#{id}")), "tenant root RETURN#a");
    assert_eq!(label("demo#stripe_event#evt_1", "SEAL#2026-11-20"), "stripe_event evt_1 SEAL#2026-11-20");
}

#[test]
fn every_read_vector_is_what_golden_new_fills_in() {
    each(reads::vector::files(), |id, text| {
        let vector = reads::vector::ReadVector::read(id, &text);
        let (by_hand, _) = text.split_once(",\n  \"requests\":").unwrap();
        let filled =
            reads::vector::ReadVector::filled(&format!("{by_hand}\n}}\n")).unwrap().expect("it lacks requests");
        assert_eq!(filled, vector, "{id}");
        assert_eq!(reads::vector::ReadVector::filled(&text), Ok(None), "{id}");
    });
}

/// A read without a vector is not checked on any engine.
#[test]
fn every_read_has_a_vector() {
    let exports = include_str!("../../../crates/ledger-core/src/reads/mod.rs");
    let exported = exports.split("pub use ").skip(1).filter_map(|export| export.split(';').next());
    let names = exported.flat_map(|export| export.split(['{', '}', ',', ':']).map(str::trim));
    let modules = [
        "query",
        "request",
        "table",
        "accounts",
        "due",
        "figures",
        "finding",
        "items",
        "merchants",
        "registry",
        "tenants",
        "trail",
    ];
    let is_function = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let questions: BTreeSet<&str> =
        names.filter(is_function).filter(|name| !modules.contains(name)).chain(["items"]).collect();
    assert!(questions.len() > 35, "{questions:?}");
    let files = reads::vector::files();
    let shown: BTreeSet<&str> = files.keys().filter_map(|name| name.split('/').next()).collect();
    let missing: Vec<_> = questions.difference(&shown).collect();
    assert!(missing.is_empty(), "no vector of {missing:?}");
}
