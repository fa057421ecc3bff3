//! Every function has this test: without its environment it says in one line what is missing, and ends.
//! For it cargo builds the function's binary, which `tests/tests/lambda.rs` runs.

use std::process::Command;

#[test]
fn without_its_environment_it_says_so_and_ends() {
    let binary = env!(concat!("CARGO_BIN_EXE_", env!("CARGO_PKG_NAME")));
    let ended = Command::new(binary).env_clear().output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!((ended.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(ended.stdout.is_empty(), "{}", String::from_utf8_lossy(&ended.stdout));
}
