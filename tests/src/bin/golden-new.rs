//! Creates missing golden vectors from the cases in code, in the version that the case names, and adds a manifest line
//! for each file without one. Never changes an existing file or line. `--check` writes nothing and lists what is
//! missing. `--show v1/pay/money` prints a vector in full: the table and the request as sent, without differences and
//! defaults.

use ledger_tests::golden::vector::Vector;
use ledger_tests::golden::{cases, create, manifest, reads, vector};
use ledger_tests::layout;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => make_missing(false),
        ["--check"] => make_missing(true),
        ["--show", path] => show(path),
        _ => {
            eprintln!("golden-new [--check | --show <version>/<operation>/<case>]");
            ExitCode::FAILURE
        }
    }
}

fn make_missing(check: bool) -> ExitCode {
    let (mut made, mut wrong) = (0, 0);
    let mut make = |name: String, path: PathBuf, text: &dyn Fn() -> String| {
        if path.exists() {
            return;
        }
        // The panic has printed how the result differs from the case.
        let Ok(text) = catch_unwind(AssertUnwindSafe(text)) else {
            wrong += 1;
            return;
        };
        if !check {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut file = OpenOptions::new().write(true).create_new(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
        println!("golden/{name}.json");
        made += 1;
    };
    for case in cases::all() {
        let path = vector::directory(case.version).join(format!("{}.json", case.id));
        make(format!("{}/{}", case.version, case.id), path, &|| create::vector(&case, None).text());
    }
    for case in reads::cases::all() {
        let name = case.name();
        make(format!("reads/{name}"), reads::vector::path(&name), &|| case.vector().text());
    }
    let lines = add_to_manifest(check);
    let verb = if check { "missing" } else { "made" };
    println!("{made} {verb}, {wrong} wrong, {lines} {verb} in the manifest");
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Adds a manifest line for each file without one; returns their number.
fn add_to_manifest(check: bool) -> usize {
    let files = manifest::digests();
    let addition =
        manifest::addition(&manifest::text(), &files).unwrap_or_else(|error| panic!("the manifest: {error}"));
    if !check && !addition.is_empty() {
        let path = vector::directory(manifest::NAME);
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(addition.as_bytes()).unwrap();
    }
    addition.lines().filter(|line| !line.starts_with('#')).count()
}

fn show(path: &str) -> ExitCode {
    let (_, id) = path.split_once('/').expect("a version and an id");
    let text = std::fs::read_to_string(vector::directory(&format!("{path}.json"))).expect("a vector's file");
    let vector = Vector::read(id, &text);
    let rows = vector.verdicts.iter().map(|row| {
        let reasons = row.reasons.iter().map(|(at, reason)| (at, json!({ "Code": reason.code, "Item": reason.item })));
        json!({ "if": reasons.collect::<std::collections::BTreeMap<_, _>>(), "then": row.outcome })
    });
    let members = [
        ("now", json!(vector.given.now)),
        ("table", json!(vector.given.state)),
        ("command", json!(vector.given.command)),
        ("TransactItems", json!(vector.items)),
        ("verdicts", rows.collect()),
    ];
    print!("{}", layout::document(members.iter().map(|(name, value)| (*name, value))));
    ExitCode::SUCCESS
}
