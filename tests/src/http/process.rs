//! The real binary as a separate process, which tests can kill, interrupt and restart on its data file.

use super::host;
use crate::binaries;
use crate::engine::other;
use ledger_local::opened::Place;
use ledger_local::stack::TABLE_DEFAULT;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const START_TIMEOUT: Duration = Duration::from_secs(60);
/// The limits of single callers, as high as they can be.
const HIGHEST_RATES: [(&str, &str); 2] =
    [("CALLER_REQUESTS_PER_SECOND", "100000"), ("SOURCE_REQUESTS_PER_SECOND", "100000")];

/// A running `ledger-local`, killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// The API's base URL.
    pub url: String,
    /// The URL of its DynamoDB.
    pub dynamodb_url: String,
    /// The table's name.
    pub table: String,
}

impl Process {
    /// Starts the binary, and waits for its start-up text.
    ///
    /// # Panics
    /// When the binary does not start.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    /// The same with these environment variables added.
    ///
    /// # Panics
    /// When the binary does not start.
    #[must_use]
    pub fn start_with(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(ledger_local())
            .args(on_engine(arguments))
            // Tests send much in the name of few.
            .envs(HIGHEST_RATES)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (found, looking) = mpsc::channel();
        // Reads to the end, because a full pipe would block the binary.
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let mut words = line.split_whitespace();
                match (words.next(), words.next(), words.next_back()) {
                    (Some("API"), Some(url), None) => drop(found.send(["API", url, ""].map(str::to_owned))),
                    (Some("table"), Some(table), Some(url)) => {
                        let _ = found.send(["table", url, table].map(str::to_owned));
                    }
                    (_, _, _) => {}
                }
            }
        });
        let next = |name: &str| {
            let [found, url, table] = looking.recv_timeout(START_TIMEOUT).expect("the start-up text");
            assert_eq!(found, name);
            (url, table)
        };
        let ((url, _), (dynamodb_url, table)) = (next("API"), next("table"));
        Self { child, url, dynamodb_url, table }
    }

    /// The process's id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process with SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().expect("the process runs");
        let _ = self.child.wait();
    }

    /// Sends SIGINT, waits for the end, and returns the exit status.
    ///
    /// # Panics
    /// When the signal cannot be sent.
    #[must_use]
    pub fn interrupt(mut self) -> ExitStatus {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the signal must be sent");
        self.child.wait().expect("the process ends")
    }
}

/// Adds the engine that the environment names to the arguments. The table's name is derived from the data file's, so
/// that a second process finds it.
fn on_engine(arguments: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    if let (Some(url), Some(data)) = (other::given_url(), after(arguments, "--data")) {
        if let Some(at) = all.iter().position(|argument| argument == "--dynamodb-port") {
            all.drain(at..at + 2);
        }
        all.extend(["--endpoint-url".to_owned(), url, "--table".to_owned(), table_of(Path::new(data))]);
    }
    all
}

fn after<'a>(arguments: &[&'a str], name: &str) -> Option<&'a str> {
    arguments.iter().skip_while(|argument| **argument != name).nth(1).copied()
}

fn table_of(data: &Path) -> String {
    let folder = data.parent().and_then(Path::file_name).expect("the data file is in a folder").to_string_lossy();
    format!("{}{folder}", other::TEST_TABLE_PREFIX)
}

/// The table of the processes with this data file, for a command that reads it after they have ended.
#[must_use]
pub fn place(data: &Path) -> Place {
    match other::given_url() {
        Some(url) => Place::Table { name: table_of(data), endpoint_url: Some(url) },
        None => Place::File { data: data.to_owned(), table: TABLE_DEFAULT.to_owned() },
    }
}

/// Deletes the table of the processes with this data file, if it is on another engine.
///
/// # Panics
/// When no runtime can be started.
pub fn forget(data: &Path) {
    let Some(url) = other::given_url() else { return };
    let table = table_of(data);
    let deleting = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(host::delete_table(&url, &table));
    });
    let _ = deleting.join();
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary in the profile of this test. `cargo test --workspace` has built it already for the tests of
/// `ledger-local`.
#[must_use]
pub fn ledger_local() -> PathBuf {
    binaries::path(&binaries::fresh(&["ledger-local"], &binaries::own_profile()), "ledger-local")
}
