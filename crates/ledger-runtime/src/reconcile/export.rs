//! Reconciles a table's export to S3: for tables that are too large to be scanned. The same facts are folded by
//! the same checks, in three tasks that a state machine spreads over many environments:
//!
//! 1. **facts**, for each data file: its items' facts are sorted by their groups into parts, an object each.
//! 2. **fold**, for each part: the facts of that part of all data files are checked.
//! 3. **report**: what was found is put in order, written down for each tenant, and counted.
//!
//! An object's name follows from the run, the data file and the part alone, and its bytes from what is read. So
//! each task may be run any number of times and by several at once, and files and parts in any order. A task
//! that needs what another was to leave asks for it by name: what is missing fails, and is never left out.
//!
//! An export is of one moment, so nothing need be looked at again; the payment provider is not asked.

mod input;
mod lines;
mod manifest;
mod report;
mod sorted;

pub use input::{ExportInput, ExportRun, ExportTask, PARTS_MAX};
pub use manifest::DataFile;

use super::objects::{ObjectError, Objects};
use super::report::{ReportFiles, line};
use super::spill::{Divided, Spill};
use crate::clock::Clock;
use crate::metrics::Metrics;
use flate2::write::MultiGzDecoder;
use futures::future::try_join_all;
use ledger_core::reconcile::Scope;
use lines::Lines;
use serde::Serialize;
use serde_json::json;
use sorted::Sorted;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// What a task calls a fault that another try may mend.
pub const UNAVAILABLE: &str = "Export.Unavailable";
/// What it calls one that no repetition mends.
pub const BROKEN: &str = "Export.Broken";

/// Into how many parts a part is divided while it is folded: memory holds one.
const WITHIN: u16 = 64;
/// How many objects are put side by side.
const PUTS: usize = 8;

/// Reconciles exports, task by task.
#[derive(Clone)]
pub struct Exports {
    objects: Arc<dyn Objects>,
    reports: Arc<dyn ReportFiles>,
    metrics: Metrics,
    clock: Clock,
    directory: PathBuf,
}

/// What a task did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ExportDone {
    /// A data file was read.
    Facts {
        /// How many items it has.
        items: u64,
    },
    /// A part was folded.
    Fold {
        /// How many breaks its groups have.
        breaks: u64,
    },
    /// The run is over.
    Report {
        /// How many items were read.
        items: u64,
        /// Whose books they are.
        tenants: usize,
        /// How many breaks there are.
        breaks: i64,
    },
}

/// Why a task did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// It was asked for what there is not.
    #[error("this is no task")]
    Input,
    /// An object could not be read or put.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// An object is not what it should be.
    #[error("{name}: {why}")]
    Unreadable {
        /// Which.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A data file is not what the manifest says.
    #[error("{name} holds {found} items, and the manifest says {said}: make the export again")]
    Count {
        /// Which.
        name: String,
        /// How many the manifest says.
        said: u64,
        /// How many there are.
        found: u64,
    },
    /// The disk of this environment did not keep what it was given.
    #[error("the disk: {0}")]
    Disk(String),
    /// A report could not be put.
    #[error("a report: {0}")]
    Report(String),
}

impl ExportError {
    /// Its name to a state machine: whether another try may mend it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Object(ObjectError::Unavailable { .. }) | Self::Disk(_) | Self::Report(_) => UNAVAILABLE,
            Self::Input
            | Self::Object(ObjectError::Missing(_) | ObjectError::Refused { .. })
            | Self::Unreadable { .. }
            | Self::Count { .. } => BROKEN,
        }
    }
}

impl Exports {
    /// Over a place for objects and one for reports. `directory` is for this alone: it is emptied by each task.
    #[must_use]
    pub fn new(
        (objects, reports): (Arc<dyn Objects>, Arc<dyn ReportFiles>),
        (metrics, clock): (Metrics, Clock),
        directory: PathBuf,
    ) -> Self {
        Self { objects, reports, metrics, clock, directory }
    }

    /// Takes a task to its end.
    ///
    /// # Errors
    /// [`ExportError`], whose name says whether another try may mend it.
    pub async fn run(&self, of: &ExportRun, task: &ExportTask) -> Result<ExportDone, ExportError> {
        match task {
            ExportTask::Facts(file) => self.facts(of, file).await,
            ExportTask::Fold(part) => self.fold(of, *part).await,
            ExportTask::Report => self.report(of).await,
        }
    }

    async fn facts(&self, of: &ExportRun, file: &DataFile) -> Result<ExportDone, ExportError> {
        let (name, own) = (of.data(file)?, file.own_name());
        let at = self.summary(of).await?.at()?;
        let mut sorted = Sorted::new(at, self.spill(Divided::Table, of.parts())?);
        let mut into = MultiGzDecoder::new(Lines::new(|line: &str| sorted.take(line)));
        self.pour(&name, &mut into).await?;
        into.finish().and_then(Lines::end).map_err(|error| unread(&name, &error))?;
        let (found, said) = (sorted.items, file.items());
        if found != said {
            return Err(ExportError::Count { name, said, found });
        }
        sorted.end().map_err(|error| disk(&error))?;
        let parts: Vec<u16> = (0..of.parts()).collect();
        for some in parts.chunks(PUTS) {
            let mut puts = Vec::new();
            for part in some {
                // An empty one as well: that it is there says that the file was read.
                let facts = sorted.spill.read(*part).map_err(|error| disk(&error))?;
                puts.push(self.put(of.facts(*part, own), facts));
            }
            try_join_all(puts).await?;
        }
        self.put(of.items(own), text(&json!({ "items": found }), sorted.broken)).await?;
        Ok(ExportDone::Facts { items: found })
    }

    async fn fold(&self, of: &ExportRun, part: u16) -> Result<ExportDone, ExportError> {
        let scope = Scope { began_at: self.summary(of).await?.at()?, at_one_moment: true, listed: None };
        let mut spill = self.spill(Divided::Part, WITHIN)?;
        let mut tenants = BTreeSet::new();
        for file in self.files(of).await? {
            let name = of.facts(part, file.own_name());
            let mut into = Lines::new(|line: &str| {
                if let Some((tenant, _)) = line.split_once('/')
                    && !tenants.contains(tenant)
                {
                    tenants.insert(tenant.to_owned());
                }
                spill.add_line(line)
            });
            self.pour(&name, &mut into).await?;
            into.end().map_err(|error| unread(&name, &error))?;
        }
        let mut found = Vec::new();
        for within in 0..spill.parts() {
            let broken = spill.check(within, &scope).map_err(|error| unread(&of.facts(part, "*"), &error))?;
            found.extend(broken.iter().map(|(_, finding)| line(finding).to_string()));
        }
        let breaks = u64::try_from(found.len()).unwrap_or(u64::MAX);
        self.put(of.folded(part), text(&json!({ "tenants": tenants }), found)).await?;
        Ok(ExportDone::Fold { breaks })
    }

    /// An empty directory of files. What a task before has left there that was ended by force goes.
    fn spill(&self, divided: Divided, parts: u16) -> Result<Spill, ExportError> {
        match fs::remove_dir_all(&self.directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(disk(&error)),
            Ok(()) | Err(_) => {}
        }
        Spill::new(&self.directory, "facts", divided, parts).map_err(|error| disk(&error))
    }

    async fn put(&self, name: String, bytes: Vec<u8>) -> Result<(), ExportError> {
        Ok(self.objects.put(&name, bytes).await?)
    }
}

/// A line that says what there is, and a line for each finding.
fn text(head: &serde_json::Value, findings: Vec<String>) -> Vec<u8> {
    let mut text = head.to_string();
    for finding in findings {
        text.push('\n');
        text.push_str(&finding);
    }
    text.push('\n');
    text.into_bytes()
}

fn disk(error: &io::Error) -> ExportError {
    ExportError::Disk(error.to_string())
}

/// What is wrong with an object's bytes stays wrong; anything else is the disk's, to which they go.
fn unread(name: &str, error: &io::Error) -> ExportError {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    if matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof) {
        ExportError::Unreadable { name: name.to_owned(), why: error.to_string() }
    } else {
        disk(error)
    }
}

#[cfg(test)]
mod tests;
