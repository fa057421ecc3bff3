//! Each function without its environment says in one line what is missing, and ends. For this test cargo builds the
//! functions' binaries, which `tests/tests/processes/lambda.rs` runs.

use std::process::Command;

#[test]
fn function_without_its_environment_says_so_and_ends() {
    let binaries = [
        env!("CARGO_BIN_EXE_admin"),
        env!("CARGO_BIN_EXE_customer"),
        env!("CARGO_BIN_EXE_jobs"),
        env!("CARGO_BIN_EXE_merchant"),
        env!("CARGO_BIN_EXE_migrate"),
        env!("CARGO_BIN_EXE_outbox"),
        env!("CARGO_BIN_EXE_reconcile"),
        env!("CARGO_BIN_EXE_reconcile-export"),
        env!("CARGO_BIN_EXE_settlement"),
        env!("CARGO_BIN_EXE_stripe-webhook"),
        env!("CARGO_BIN_EXE_terminal"),
        env!("CARGO_BIN_EXE_token-claims"),
    ];
    for binary in binaries {
        let ended = Command::new(binary).env_clear().output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), said.lines().count()), (Some(1), 1), "{binary}: {said}");
        assert!(ended.stdout.is_empty(), "{binary}: {}", String::from_utf8_lossy(&ended.stdout));
    }
}
