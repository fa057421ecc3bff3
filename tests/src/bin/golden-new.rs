//! Fills in golden files that lack their request and verdicts, or a read's requests, as golden/README.md says: their other
//! members are written by hand. Every other file is left as it is. `--check` writes nothing and lists what would be filled
//! in. `--show pay/money` prints a vector in full: the table and the request as sent, without differences and defaults.

use ledger_tests::golden::fill::fill;
use ledger_tests::golden::reads::vector::ReadVector;
use ledger_tests::golden::vector::{Case, Vector};
use ledger_tests::golden::{reads, vector};
use ledger_tests::layout;
use serde_json::json;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => fill_in(false),
        ["--check"] => fill_in(true),
        ["--show", id] => show(id),
        _ => {
            eprintln!("golden-new [--check | --show <operation>/<case>]");
            ExitCode::FAILURE
        }
    }
}

fn fill_in(check: bool) -> ExitCode {
    let (mut filled, mut wrong) = (0, 0);
    let mut each = |name: String, path: PathBuf, text: &dyn Fn() -> Result<Option<String>, String>| {
        // A panic has printed how the result differs from what the file states.
        let text = match catch_unwind(AssertUnwindSafe(text)) {
            Ok(Ok(Some(text))) => text,
            Ok(Ok(None)) => return,
            Ok(Err(error)) => {
                eprintln!("golden/{name}.json: {error}");
                wrong += 1;
                return;
            }
            Err(_) => {
                wrong += 1;
                return;
            }
        };
        if !check {
            std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        println!("golden/{name}.json");
        filled += 1;
    };
    for (id, text) in vector::files() {
        let path = vector::directory(&format!("{id}.json"));
        let filled = || Ok(Case::unfilled(&text)?.map(|case| fill(case).text()));
        each(id, path, &filled);
    }
    for (id, text) in reads::vector::files() {
        let filled = || Ok(ReadVector::filled(&text)?.map(|vector| vector.text()));
        each(format!("reads/{id}"), reads::vector::path(&id), &filled);
    }
    println!("{filled} {}, {wrong} wrong", if check { "to fill in" } else { "filled in" });
    if wrong == 0 && !(check && filled > 0) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn show(id: &str) -> ExitCode {
    let file = vector::directory(&format!("{id}.json"));
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{}: {error}", file.display());
            return ExitCode::FAILURE;
        }
    };
    let vector = Vector::read(id, &text);
    let rows = vector.verdicts.iter().map(|row| {
        let reasons = row.reasons.iter().map(|(at, reason)| (at, json!({ "Code": reason.code, "Item": reason.item })));
        json!({ "if": reasons.collect::<BTreeMap<_, _>>(), "then": row.outcome })
    });
    let members = [
        ("now", json!(vector.case.given.now)),
        ("table", json!(vector.case.given.state)),
        ("command", json!(vector.case.given.command)),
        ("TransactItems", json!(vector.items)),
        ("verdicts", rows.collect()),
    ];
    print!("{}", layout::document(members.iter().map(|(name, value)| (*name, value))));
    ExitCode::SUCCESS
}
