//! One run on the local stack: load, processor time by threads, check of the books.

use super::books::{self, Checked};
use super::load::{self, Load, Plan};
use crate::prepared::{Prepared, Running};
use crate::process::ProcessorTime;
use dynoxide::storage::Storage;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// The names of the threads of the embedded engine begin with this.
const ENGINE_THREADS: &str = "dynamodb";

/// Who is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Every merchant, at random.
    Uniform,
    /// One merchant.
    Hot,
}

impl Scenario {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Uniform, Self::Hot];

    /// The name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Hot => "hot",
        }
    }

    /// The names of PostgreSQL's variants of it.
    #[must_use]
    pub fn variants(self) -> &'static [&'static str] {
        match self {
            Self::Uniform => &["uniform"],
            Self::Hot => &["hot", "sharded", "batched"],
        }
    }
}

/// The durability of the embedded engine's file, as SQLite names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durability {
    /// `PRAGMA journal_mode`.
    pub journal_mode: String,
    /// `PRAGMA synchronous`: 0 is OFF, 1 NORMAL, 2 FULL, 3 EXTRA.
    pub synchronous: i64,
}

impl Durability {
    /// The durability with which the engine opens this file.
    ///
    /// # Errors
    /// If the file is not the engine's.
    pub fn of(data: &Path) -> Result<Self, String> {
        let failed = |error: String| format!("the durability of {} cannot be read: {error}", data.display());
        let path = data.to_str().ok_or_else(|| failed("its path is not UTF-8".to_owned()))?;
        let storage = Storage::new(path).map_err(|error| failed(error.to_string()))?;
        let journal_mode = storage.conn().query_row("PRAGMA journal_mode", [], |row| row.get(0));
        let synchronous = storage.conn().query_row("PRAGMA synchronous", [], |row| row.get(0));
        Ok(Self {
            journal_mode: journal_mode.map_err(|error| failed(error.to_string()))?,
            synchronous: synchronous.map_err(|error| failed(error.to_string()))?,
        })
    }

    /// Whether a payment is on the disk before it is answered: with a write-ahead log, from FULL on.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.synchronous >= 2
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["OFF", "NORMAL", "FULL", "EXTRA"];
        let name = usize::try_from(self.synchronous).ok().and_then(|at| names.get(at)).unwrap_or(&"unknown");
        write!(f, "journal_mode {}, synchronous {name}", self.journal_mode)
    }
}

/// A run on the local stack.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What the clients got.
    pub load: Load,
    /// What the check of the books found.
    pub checked: Checked,
    /// Processor time of the engine's threads a payment.
    pub engine: Duration,
    /// Processor time of all other threads a payment: gateway, functions, workers.
    pub functions: Duration,
}

/// Pays on a stack of its own, and checks its books.
///
/// # Errors
/// What failed, or is wrong in the books.
pub async fn measure(prepared: &Prepared, scenario: Scenario, plan: Plan) -> Result<Measured, String> {
    let running = prepared.run().map_err(|error| format!("the data file cannot be copied: {error}"))?;
    let merchants = match scenario {
        Scenario::Uniform => prepared.merchants.as_slice(),
        Scenario::Hot => &prepared.merchants[..1],
    };
    let before = processor_time(&running)?;
    let load = load::pay(running.address(), &prepared.payers, merchants, plan)?;
    let after = processor_time(&running)?;
    let payments = u32::try_from(load.payments).unwrap_or(u32::MAX).max(1);
    let [all, engine] = [0, 1].map(|at| after[at].since(before[at]).total() / payments);
    let world = running.world().await;
    let checked = books::check(&world, &prepared.merchants, &load).await?;
    Ok(Measured { load, checked, engine, functions: all.saturating_sub(engine) })
}

/// The processor time of the process and of the engine's threads.
fn processor_time(running: &Running) -> Result<[ProcessorTime; 2], String> {
    let id = running.process.id();
    let times = ProcessorTime::of(id).zip(ProcessorTime::of_threads(id, |name| name.starts_with(ENGINE_THREADS)));
    times.map(<[ProcessorTime; 2]>::from).ok_or_else(|| "processor times are read from /proc, on Linux".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_syncs_its_file_with_each_commit() {
        let file = std::env::temp_dir().join(format!("ledger-bench-durability-{}.db", std::process::id()));
        let durability = Durability::of(&file).unwrap();
        assert_eq!(durability.to_string(), "journal_mode wal, synchronous FULL");
        assert!(durability.is_full() && !Durability { synchronous: 1, ..durability }.is_full());
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", file.display()));
        }
    }
}
