//! Every golden vector is read strictly, built, compared byte for byte, executed on the embedded engine and judged.
//! No file is written here.

use ledger_tests::golden::changed::Changed;
use ledger_tests::golden::vector::GoldenFile;
use ledger_tests::golden::{cases, create, judge, manifest, patch, reads, vector, world};
use ledger_tests::{layout, rules, wire};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
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
fn every_current_vector_is_built_executed_and_judged() {
    each(named(vector::current()), |_, file| judge::check(file.vector()));
}

#[test]
fn every_superseded_vector_still_has_its_effect() {
    each(named(vector::superseded()), |_, file| judge::check_superseded(file.vector()));
}

fn named(files: impl IntoIterator<Item = &'static GoldenFile>) -> impl Iterator<Item = (String, &'static GoldenFile)> {
    files.into_iter().map(|file| (file.name(), file))
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

    /// Former reads of the workers: each range begins with an empty key.
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
        let all = vector::current().into_iter().chain(vector::superseded()).enumerate();
        let chosen = |at: usize, file: &GoldenFile| share::is_chosen(at, step) || changed.has(file);
        for (_, file) in all.filter(|(at, file)| chosen(*at, file)) {
            let (case, vector) = (if file.is_current { file.id.clone() } else { file.name() }, file.vector());
            let judging = || match file.is_current {
                true => judge::check_on(&other, vector),
                false => judge::check_superseded_on(&other, vector),
            };
            if catch_unwind(AssertUnwindSafe(judging)).is_err() {
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
    let has = |path: &str| Changed::listed(&format!("reads/v1/x.json\n{path}\n")).has(file);
    assert!(has(&format!("{}.json", file.name())) && has("defaults.json"));
    assert!(has(&format!("worlds/{}.json", file.vector().world)));
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
        for item in &vector.given.state {
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

#[test]
fn every_golden_file_has_one_case() {
    let all = cases::all();
    let ids: BTreeSet<&str> = all.iter().map(|case| case.id).collect();
    assert_eq!(ids.len(), all.len(), "case ids are unique");
    let wanted: BTreeSet<(&str, &str)> = all.iter().map(|case| (case.version, case.id)).collect();
    let files: BTreeSet<(&str, &str)> =
        vector::current().into_iter().map(|file| (file.version, file.id.as_str())).collect();
    let missing: Vec<_> = wanted.difference(&files).collect();
    assert!(missing.is_empty(), "run `cargo run -p ledger-tests --bin golden-new` for {missing:#?}");
    let orphans: Vec<_> = files.difference(&wanted).collect();
    assert!(orphans.is_empty(), "no case in code for {orphans:#?}");
    let versions = vector::VERSIONS.map(|version| (version, vector::files(version)));
    let newer = versions.iter().zip(&versions[1..]);
    let without_predecessor: Vec<_> = newer
        .flat_map(|((_, before), (version, files))| {
            files.keys().filter(|id| !before.contains_key(*id)).map(move |id| format!("{version}/{id}"))
        })
        .collect();
    assert!(
        without_predecessor.is_empty(),
        "these supersede nothing, and so belong to the version before: {without_predecessor:#?}"
    );
}

#[test]
fn every_case_still_builds_its_file() {
    let files: BTreeMap<&str, &GoldenFile> =
        vector::current().into_iter().map(|file| (file.id.as_str(), file)).collect();
    each(cases::all().into_iter().map(|case| (case.id.to_owned(), case)), |id, case| {
        // A vector never changes: neither the case nor what is built from it. A world added later may be a closer
        // match.
        let world = files[id].vector().world.clone();
        layout::assert_same(id, &create::vector(&case, Some(world)).text(), &files[id].text);
    });
}

#[test]
fn unknown_fields_and_other_layouts_are_refused() {
    let id = "adjustment_approve/credit";
    let text = &vector::files("v1")[id];
    // An unknown field next to each of these fields, at every depth, is refused.
    for known in ["why", "request", "principal", "decision", "then"] {
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
        let text = &vector::files("v1")[id];
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
    let text = &vector::files("v1")["pay/money"];
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
    assert_eq!(label("demo#stripe_event#evt_1", "SEALED#2026-11-20"), "stripe_event evt_1 SEALED#2026-11-20");
}

/// The digest of the manifest's first lines, by their number: a rewritten history must still begin with them.
/// A pair may be added for a longer beginning; no pair is changed or removed.
const PINNED: [(usize, &str); 1] = [(1156, "f7dad7fc4ba6b7664d9ceca20f45084e8f0c38a742c204306d6d286d28b38e2e")];

#[test]
fn every_file_has_the_digest_in_the_manifest() {
    let text = manifest::text();
    let listed = manifest::parse(&text).unwrap();
    let deviations = manifest::deviations(&listed, &manifest::digests());
    assert!(deviations.is_empty(), "{deviations:#?}");
    for (count, digest) in PINNED {
        let beginning: String = text.split_inclusive('\n').take(count).collect();
        assert_eq!(beginning.lines().count(), count, "the manifest has become shorter");
        assert_eq!(manifest::digest(beginning), digest, "the manifest's first {count} lines");
    }
}

#[test]
fn manifest_only_grows() {
    let files = |names: &[&str]| -> manifest::Digests {
        names.iter().map(|name| ((*name).to_owned(), manifest::digest(name))).collect()
    };
    let first = manifest::addition("", &files(&["a", "b"])).unwrap();
    assert_eq!(first.lines().count(), 2);
    assert_eq!(manifest::addition(&first, &files(&["a", "b"])).unwrap(), "");
    let second = manifest::addition(&first, &files(&["a", "b", "c"])).unwrap();
    let whole = format!("{first}{second}");
    assert_eq!(manifest::parse(&whole).unwrap(), files(&["a", "b", "c"]));
    assert_eq!(manifest::deviations(&files(&["a", "b"]), &files(&["a", "b"])), Vec::<String>::new());
    assert_eq!(manifest::deviations(&files(&["a"]), &files(&[])), ["a is missing"]);
    assert_eq!(manifest::deviations(&files(&[]), &files(&["a"])), ["a is not in the manifest: run golden-new"]);
    let changed = manifest::Digests::from([("a".to_owned(), manifest::digest("other"))]);
    assert_eq!(manifest::deviations(&files(&["a"]), &changed), ["a has been changed"]);
    // A line above a block that is replaced, removed, added or moved.
    let lines: Vec<&str> = whole.lines().collect();
    let [a, b, above, c] = lines[..] else { panic!("{whole}") };
    let other = a.replacen("  a", "  x", 1);
    for lines in [&[&other, b, above, c][..], &[b, above, c], &[a, b, &other, above, c], &[b, a, above, c]] {
        assert!(manifest::parse(&format!("{}\n", lines.join("\n"))).is_err(), "{lines:#?}");
    }
    assert!(manifest::parse(&format!("{whole}{a}\n")).is_err(), "a file has one line");
}

#[test]
fn every_read_vector_equals_its_case() {
    let files = reads::vector::files();
    let all = reads::cases::all();
    let ids: BTreeSet<String> = all.iter().map(reads::cases::Case::name).collect();
    assert_eq!(ids.len(), all.len(), "case ids are unique");
    let stored: BTreeSet<String> = files.keys().cloned().collect();
    let missing: Vec<_> = ids.difference(&stored).collect();
    assert!(missing.is_empty(), "run `cargo run -p ledger-tests --bin golden-new` for {missing:#?}");
    let orphans: Vec<_> = stored.difference(&ids).collect();
    assert!(orphans.is_empty(), "no case in code for {orphans:#?}");
    each(all.into_iter().map(|case| (case.name(), case)), |id, case| {
        let vector = reads::vector::ReadVector::read(id, &files[id]);
        layout::assert_same(id, &case.vector().text(), &files[id]);
        let answered =
            reads::judge::answered(&vector.world, &vector.question, &vector.page.clone().unwrap_or_default());
        assert_eq!(answered.requests, vector.requests, "{id}");
        assert_eq!(answered.items, vector.items, "{id}");
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
        "tenants",
        "trail",
    ];
    let is_function = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let questions: BTreeSet<&str> =
        names.filter(is_function).filter(|name| !modules.contains(name)).chain(["items"]).collect();
    assert!(questions.len() > 35, "{questions:?}");
    let files = reads::vector::files();
    let shown: BTreeSet<&str> = files.keys().filter_map(|name| name.split('/').nth(1)).collect();
    let missing: Vec<_> = questions.difference(&shown).collect();
    assert!(missing.is_empty(), "no vector of {missing:?}");
}
