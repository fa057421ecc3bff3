//! Makes the golden vectors that are missing, from the cases in code, in the version that a case names. What
//! stands is never touched: there is no way to overwrite one. With `--check` nothing is made and the missing are only named.

use ledger_tests::golden::{cases, create, vector};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::catch_unwind;
use std::process::ExitCode;

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let (mut made, mut wrong) = (0, 0);
    for case in cases::all() {
        let path = vector::directory(case.version).join(format!("{}.json", case.id));
        if path.exists() {
            continue;
        }
        // The panic says what happened instead of what the case says.
        let Ok(text) = catch_unwind(|| create::vector(&case).text()) else {
            wrong += 1;
            continue;
        };
        if !check {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut file = OpenOptions::new().write(true).create_new(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
        println!("golden/{}/{}.json", case.version, case.id);
        made += 1;
    }
    println!("{made} {}, {wrong} wrong", if check { "missing" } else { "made" });
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
