//! Runs `bench/postgres/run`, and reads its lines.

use super::report::Run;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

const SCRIPT: &str = "bench/postgres/run";

/// The options of the script.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder of the cluster.
    pub folder: PathBuf,
    /// The numbers of clients.
    pub clients: Vec<u32>,
    /// The measured seconds of each run.
    pub seconds: u64,
    /// The seconds before them.
    pub warm_up: u64,
    /// Customers.
    pub customers: usize,
    /// Merchants.
    pub merchants: usize,
}

/// What the server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The version.
    pub version: String,
    /// The settings of durability.
    pub durability: String,
}

/// Runs the script over TCP with its output on standard error, and returns its JSON lines.
///
/// # Errors
/// If the script cannot be run, or fails.
pub fn run(options: &Options) -> Result<String, String> {
    let script = ledger_tests::tree::root().join(SCRIPT);
    fs::create_dir_all(&options.folder).map_err(|error| format!("{}: {error}", options.folder.display()))?;
    let lines = options.folder.join("runs.jsonl");
    let clients: Vec<String> = options.clients.iter().map(ToString::to_string).collect();
    let numbers = [
        ("--seconds", options.seconds.to_string()),
        ("--warm-up", options.warm_up.to_string()),
        ("--clients", clients.join(",")),
        ("--customers", options.customers.to_string()),
        ("--merchants", options.merchants.to_string()),
    ];
    let mut command = Command::new(&script);
    command.args(["--transports", "tcp"]).args(numbers.iter().flat_map(|(name, value)| [*name, value.as_str()]));
    command.arg("--dir").arg(&options.folder).arg("--json").arg(&lines).stdout(Stdio::from(std::io::stderr()));
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("{SCRIPT} ended with {status}; --without-postgres leaves it out")),
        Err(error) => return Err(format!("{SCRIPT} cannot be run: {error}; --without-postgres leaves it out")),
    }
    fs::read_to_string(&lines).map_err(|error| format!("{}: {error}", lines.display()))
}

/// The server and the runs in the script's lines.
///
/// # Errors
/// The line that cannot be read.
pub fn runs(lines: &str) -> Result<(Environment, Vec<Run>), String> {
    let (mut environment, mut runs) = (None, Vec::new());
    for line in lines.lines() {
        let unreadable = || format!("not a line of {SCRIPT}: {line}");
        let read: Value = serde_json::from_str(line).map_err(|_| unreadable())?;
        match read["kind"].as_str() {
            Some("environment") => {
                let setting = |name: &str| format!("{name} {}", read[name].as_str().unwrap_or("unknown"));
                let durability = ["fsync", "synchronous_commit", "full_page_writes"].map(setting).join(", ");
                let version = read["version"].as_str().ok_or_else(unreadable)?.to_owned();
                environment = Some(Environment { version, durability });
            }
            Some("run") => runs.extend(run_in(&read).ok_or_else(unreadable)?),
            Some("check") => {}
            Some(_) | None => return Err(unreadable()),
        }
    }
    Ok((environment.ok_or_else(|| format!("no environment in the lines of {SCRIPT}"))?, runs))
}

/// A run over TCP; `Some(None)` if it was over a UNIX socket.
fn run_in(line: &Value) -> Option<Option<Run>> {
    if line["transport"] != "tcp" {
        return Some(None);
    }
    let thousandths = |name: &str| thousandths(&line[name].as_number()?.to_string());
    let ms = |name: &str| thousandths(name).map(Duration::from_micros);
    Some(Some(Run {
        system: "postgresql",
        variant: line["variant"].as_str()?.to_owned(),
        clients: line["clients"].as_u64()?.try_into().ok()?,
        seconds: line["seconds"].as_u64()?,
        payments: line["payments"].as_u64()?.try_into().ok()?,
        p50: ms("p50_ms")?,
        p99: ms("p99_ms")?,
        p99_9: ms("p99_9_ms")?,
        inside: None,
    }))
}

/// A decimal number in thousandths, cut off after them.
fn thousandths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = format!("{part:0<3}");
    whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(part.get(..3)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_script_are_read() {
        let lines = concat!(
            r#"{"kind":"environment","system":"postgresql","version":"15.9","fsync":"on","synchronous_commit":"on","#,
            r#""full_page_writes":"on","cpus":2}"#,
            "\n",
            r#"{"kind":"run","system":"postgresql","variant":"hot","transport":"tcp","clients":16,"seconds":5,"#,
            r#""payments":12345,"failed":0,"payments_per_second":2469.0,"mean_ms":6.4,"p50_ms":5.125,"p99_ms":20,"#,
            r#""p99_9_ms":31.5,"uncredited_at_end":0}"#,
            "\n",
            r#"{"kind":"run","variant":"hot","transport":"socket"}"#,
            "\n",
            r#"{"kind":"check","variant":"hot","check":"x","violations":0}"#,
        );
        let (environment, runs) = runs(lines).unwrap();
        assert_eq!(environment.durability, "fsync on, synchronous_commit on, full_page_writes on");
        let [run] = runs.as_slice() else { panic!("{runs:?}") };
        assert_eq!((run.variant.as_str(), run.clients, run.payments, run.per_second()), ("hot", 16, 12_345, 2_469));
        assert_eq!([run.p50, run.p99, run.p99_9].map(|time| time.as_micros()), [5_125, 20_000, 31_500]);
        assert!(super::runs("{}").is_err() && super::runs("").is_err());
    }
}
