//! Makes the golden vectors that are missing, from the cases in code, in the version that a case names. What
//! stands is never touched: there is no way to overwrite one. With `--check` nothing is made and the missing are only named.

use ledger_tests::golden::{cases, create, reads, vector};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let (mut made, mut wrong) = (0, 0);
    let mut make = |name: String, path: PathBuf, text: &dyn Fn() -> String| {
        if path.exists() {
            return;
        }
        // The panic says what happened instead of what the case says.
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
        make(format!("{}/{}", case.version, case.id), path, &|| create::vector(&case).text());
    }
    for case in reads::cases::all() {
        make(format!("reads/v1/{}", case.id), reads::vector::path(case.id), &|| case.vector().text());
    }
    println!("{made} {}, {wrong} wrong", if check { "missing" } else { "made" });
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
