//! Instructions of a request, counted by valgrind's callgrind: the same on every machine of an architecture, whatever
//! else runs on it.
//!
//! A process is counted from its start to its end, with the same requests each time but for the operation's own; the
//! difference is theirs. Valgrind's processor lacks the instructions for SHA-256 that a real one has.

use super::operation::{Operation, PerOperation};
use super::program::on_path;
use super::shared_stack::Candidate;
use ledger_tests::lambda::Program;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

/// The requests of each operation before those that are counted: they fill caches and connections.
const WARM_UP: u32 = 30;
/// Valgrind executes about 50 times as slowly.
const PATIENCE: Duration = Duration::from_secs(300);

/// Whether valgrind is installed.
#[must_use]
pub fn has_valgrind() -> bool {
    on_path("valgrind").is_some()
}

/// The instructions of one request of each operation, from this number of them.
///
/// # Errors
/// If valgrind counts nothing, or a reply is not as expected.
pub async fn count_instructions(candidate: &Candidate, requests: u32) -> Result<PerOperation<u64>, String> {
    let base = total(candidate, None).await?;
    let mut counts = PerOperation::default();
    for operation in Operation::ALL {
        let more = total(candidate, Some((operation, requests))).await?;
        counts[operation.place()] = of_one(base, more, requests);
    }
    Ok(counts)
}

/// The share of one request in the difference of two counts.
fn of_one(base: u64, more: u64, requests: u32) -> u64 {
    more.saturating_sub(base) / u64::from(requests.max(1))
}

/// The instructions of a process from its start to its end.
async fn total(candidate: &Candidate, more: Option<(Operation, u32)>) -> Result<u64, String> {
    let log = TemporaryFile::new(candidate.name);
    let mut function = candidate.start(&under_valgrind(&candidate.program, &log.0)?).await;
    let _ = function.ready().await;
    candidate.warm_up(&function, WARM_UP).await?;
    if let Some((operation, requests)) = more {
        for _ in 0..requests {
            candidate.request(&function, operation).await?;
        }
    }
    function.terminate();
    let _ = function.ended().await;
    let text = fs::read_to_string(&log.0).map_err(|error| format!("{}: {error}", log.0.display()))?;
    collected(&text).ok_or_else(|| format!("{}: valgrind counted nothing: {text}", candidate.name))
}

/// The command that runs a program under callgrind.
fn under_valgrind(program: &Program, log: &Path) -> Result<Program, String> {
    let path = on_path("valgrind").ok_or("valgrind is not on the PATH")?;
    let mut arguments = vec![
        "--tool=callgrind".to_owned(),
        "--callgrind-out-file=/dev/null".to_owned(),
        format!("--log-file={}", log.display()),
        program.path.display().to_string(),
    ];
    arguments.extend(program.arguments.iter().cloned());
    Ok(Program { path, arguments, patience: PATIENCE, ..program.clone() })
}

/// The number of instructions in a log of callgrind.
fn collected(log: &str) -> Option<u64> {
    let line = log.lines().rev().find_map(|line| line.split_once("Collected :"))?.1;
    line.split_whitespace().next()?.parse().ok()
}

/// A file that is deleted when it is dropped.
#[derive(Debug)]
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(name: &str) -> Self {
        Self(env::temp_dir().join(format!("ledger-bench-{}-{name}.log", process::id())))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // Valgrind may have written none.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
==42== Callgrind, a call-graph generating cache profiler
==42== Command: target/release/customer
==42== 
==42== Events    : Ir
==42== Collected : 312345678
==42== 
==42== Process terminating with default action of signal 15 (SIGTERM)
";

    #[test]
    fn instructions_are_read_from_the_log() {
        assert_eq!(collected(LOG), Some(312_345_678));
        assert_eq!(collected("==42== Events    : Ir\n"), None);
        assert_eq!(collected("==42== Collected : none\n"), None);
    }

    #[test]
    fn request_has_its_share_of_the_difference() {
        assert_eq!(of_one(1_000, 4_000, 300), 10);
        assert_eq!((of_one(4_000, 1_000, 300), of_one(0, 7, 0)), (0, 7));
    }
}
