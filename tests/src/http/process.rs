//! The real binary as a process of its own, for what a process in this one cannot suffer: to be killed,
//! interrupted and started again on its data file.

use crate::binaries;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

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

/// The binary of this test's own profile. `cargo test --workspace` has built it already, because
/// `ledger-local` has tests of its own that run it.
fn ledger_local() -> PathBuf {
    binaries::path(&binaries::fresh(&["ledger-local"], &binaries::own_profile()), "ledger-local")
}
