//! `golden-relay prove <revision>`: every golden file of the revision, which is in the layout of then, says the same as
//! the file that is there. `golden-relay write <revision>` writes those files, and
//! the worlds that were written by hand, in the layout of [`ledger_tests::layout`].

use ledger_tests::golden::relay::Old;
use ledger_tests::golden::vector::directory;
use ledger_tests::golden::world::World;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["prove", revision] => {
            let compared = Old::of(revision).compare();
            println!("{compared:#?}");
            println!("every file of {revision} says the same in both layouts");
            ExitCode::SUCCESS
        }
        ["write", revision] => {
            for entry in std::fs::read_dir(directory("worlds")).unwrap() {
                let path = entry.unwrap().path();
                let world = World::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
                std::fs::write(path, world.text()).unwrap();
            }
            let files = Old::of(revision).laid_out();
            for (path, text) in &files {
                std::fs::write(directory(path), text).unwrap();
            }
            println!("{} files written", files.len());
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("golden-relay prove|write <revision>");
            ExitCode::FAILURE
        }
    }
}
