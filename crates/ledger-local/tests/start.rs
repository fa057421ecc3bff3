//! What does not start says so in one line on standard error, and exits with a code that is not 0.
//! The binary itself is run, which is also how `cargo test` comes to build it.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A folder of this test binary's own.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("start-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Runs the binary to its end, which must come by itself, and gives its one line of complaint.
#[track_caller]
fn complaint(arguments: &[&str]) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_ledger-local")).args(arguments).stdin(Stdio::null()).output().unwrap();
    let (out, err) = (String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap());
    assert!(run.status.code().is_some_and(|code| code != 0), "{arguments:?} ended with {}", run.status);
    assert_eq!(out, "", "{arguments:?}");
    assert_eq!(err.lines().count(), 1, "{arguments:?}: {err}");
    err.trim_end().to_owned()
}

#[test]
fn a_data_path_that_cannot_be_written() {
    let folder = folder("data");
    let file = folder.join("a-file");
    std::fs::write(&file, "not a database, and long enough to be taken for the header of none").unwrap();
    let below_a_file = file.join("ledger.db").display().to_string();
    let (a_folder, garbage) = (folder.display().to_string(), file.display().to_string());
    for (path, says) in [
        (below_a_file.as_str(), "cannot write the data file"),
        (a_folder.as_str(), "cannot write the data file"),
        (garbage.as_str(), "cannot open the data"),
    ] {
        let line = complaint(&["--port", "0", "--data", path]);
        assert!(line.contains(says) && line.contains(path) && line.contains("--data"), "{line}");
    }
    let untouched = std::fs::read_to_string(&file).unwrap();
    assert!(untouched.starts_with("not a database"), "a file that is not ours was overwritten");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_port_that_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let line = complaint(&["--in-memory", "--port", &port]);
    assert!(line.contains(&port) && line.contains("--port"), "{line}");
    let line = complaint(&["--in-memory", "--port", "0", "--dynamodb-port", &port]);
    assert!(line.contains(&port) && line.contains("--dynamodb-port"), "{line}");
}

#[test]
fn an_endpoint_that_does_not_answer() {
    let folder = folder("endpoint");
    let data = folder.join("ledger.db").display().to_string();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [format!("http://{closed}"), "nonsense".to_owned()] {
        let line = complaint(&["--port", "0", "--data", &data, "--endpoint-url", &url]);
        assert!(line.contains("cannot reach DynamoDB") && line.contains(&url), "{line}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
