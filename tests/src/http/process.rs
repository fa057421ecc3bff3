//! The real binary as a process of its own, for what a process in this one cannot suffer: to be killed,
//! interrupted and started again on its data file.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A running `ledger-local`, killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// The API's base URL.
    pub url: String,
    /// The embedded DynamoDB's URL.
    pub dynamodb_url: String,
}

impl Process {
    /// Starts the binary and waits for its start-up text.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    /// The same with these variables in its environment.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start_with(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(ledger_local())
            .args(arguments)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (found, looking) = mpsc::channel();
        // Reads to the end, so that the pipe never fills.
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let mut words = line.split_whitespace();
                if let (Some(name @ ("API" | "table")), Some(url)) = (words.next(), words.next_back()) {
                    let _ = found.send((name.to_owned(), url.to_owned()));
                }
            }
        });
        let next = |name: &str| {
            let (found, url) = looking.recv_timeout(START_TIMEOUT).expect("the start-up text");
            assert_eq!(found, name);
            url
        };
        let (url, dynamodb_url) = (next("API"), next("table"));
        Self { child, url, dynamodb_url }
    }

    /// `kill -9`.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        let _ = self.child.wait();
    }

    /// Ctrl-C, and how it ended.
    ///
    /// # Panics
    /// When the signal cannot be sent.
    #[must_use]
    pub fn interrupt(mut self) -> ExitStatus {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the signal is sent");
        self.child.wait().expect("it ends")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary, built if it is absent or older than what it is made of. `cargo test --workspace` has
/// built it already, because `ledger-local` has tests of its own that run it.
fn ledger_local() -> PathBuf {
    let this = std::env::current_exe().expect("a path");
    let folder = this.ancestors().nth(2).expect("target/<profile>/deps/<test>");
    let binary = folder.join(format!("ledger-local{}", std::env::consts::EXE_SUFFIX));
    let built = binary.metadata().and_then(|data| data.modified());
    if built.is_ok_and(|built| built >= newest_source()) {
        return binary;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(other) => other,
    };
    let built = Command::new(cargo)
        .args(["build", "--offline", "--quiet", "-p", "ledger-local", "--bin", "ledger-local", "--profile", profile])
        .current_dir(root())
        .status();
    assert!(built.is_ok_and(|status| status.success()), "ledger-local does not build");
    binary
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

fn newest_source() -> SystemTime {
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut folders = vec![root().join("crates"), root().join("functions")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("sources").flatten() {
            let (path, data) = (entry.path(), entry.metadata().expect("a file"));
            let is_test = path.file_name().is_some_and(|name| name == "tests");
            if data.is_dir() && !is_test {
                folders.push(path);
            } else if data.is_file() {
                newest = newest.max(data.modified().expect("a time"));
            }
        }
    }
    newest
}
