//! Reconciles a table's export to S3: for tables that are too large to be scanned.
//!
//! The same facts are checked by the same rules, in three tasks that a state machine runs in parallel environments:
//!
//! 1. **facts**, for each data file: sorts its items' facts by their groups into parts, one object each.
//! 2. **fold**, for each part: checks the facts of that part of all data files.
//! 3. **report**: orders the findings, writes a report for each tenant, and counts them.
//!
//! An object's name depends only on the run, the data file and the part; its bytes only on what is read. So a task may
//! run any number of times and concurrently, and files and parts in any order. A task reads the objects of earlier
//! tasks by name: a missing object is an error and is never skipped.
//!
//! An export is of one moment, so no finding needs a second read. The PSP is not called.

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

/// The error name of a failure that a retry may fix.
pub const UNAVAILABLE: &str = "Export.Unavailable";
/// The error name of a failure that no retry fixes.
pub const BROKEN: &str = "Export.Broken";

/// The number of parts that a part is divided into while it is checked: memory holds one.
const WITHIN: u16 = 64;
/// The number of objects that are written in parallel.
const PUTS: usize = 8;

/// Runs the tasks of reconciling an export.
#[derive(Clone)]
pub struct Exports {
    objects: Arc<dyn Objects>,
    reports: Arc<dyn ReportFiles>,
    metrics: Metrics,
    clock: Clock,
    directory: PathBuf,
}

/// The result of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ExportDone {
    /// A data file was read.
    Facts {
        /// The number of items in the file.
        items: u64,
    },
    /// A part was checked.
    Fold {
        /// The number of breaks in its groups.
        breaks: u64,
    },
    /// The run has ended.
    Report {
        /// The number of items read.
        items: u64,
        /// The number of tenants whose items were read.
        tenants: usize,
        /// The number of breaks in all.
        breaks: i64,
    },
}

/// Why a task failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// The input is not a valid task.
    #[error("the input is not a task")]
    Input,
    /// An object could not be read or put.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// An object has unexpected content.
    #[error("{name}: {why}")]
    Unreadable {
        /// The object's name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A data file has another number of items than the manifest says.
    #[error("{name} has {found} items, but the manifest lists {listed}: make the export again")]
    Count {
        /// The data file's name.
        name: String,
        /// The number of items that the manifest says.
        listed: u64,
        /// The number of items read.
        found: u64,
    },
    /// A file on this environment's disk could not be written or read.
    #[error("the disk: {0}")]
    Disk(String),
    /// A report could not be stored.
    #[error("a report: {0}")]
    Report(String),
}

impl ExportError {
    /// The error name for a state machine: [`UNAVAILABLE`] if a retry may fix it, else [`BROKEN`].
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
    /// Each task deletes everything in `directory`: use it for nothing else.
    #[must_use]
    pub fn new(
        (objects, reports): (Arc<dyn Objects>, Arc<dyn ReportFiles>),
        (metrics, clock): (Metrics, Clock),
        directory: PathBuf,
    ) -> Self {
        Self { objects, reports, metrics, clock, directory }
    }

    /// Runs a task to its end.
    ///
    /// # Errors
    /// [`ExportError`], whose name says whether a retry may fix it.
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
        self.copy_object(&name, &mut into).await?;
        into.finish().and_then(Lines::end).map_err(|error| unread(&name, &error))?;
        let (found, listed) = (sorted.items, file.items());
        if found != listed {
            return Err(ExportError::Count { name, listed, found });
        }
        sorted.end().map_err(|error| disk(&error))?;
        let parts: Vec<u16> = (0..of.parts()).collect();
        for some in parts.chunks(PUTS) {
            let mut puts = Vec::new();
            for part in some {
                // An empty object is written too: its presence says that the file was read.
                let facts = sorted.spill.read(*part).map_err(|error| disk(&error))?;
                puts.push(self.put(of.facts(*part, own), facts));
            }
            try_join_all(puts).await?;
        }
        self.put(of.items(own), text(&json!({ "items": found, "newer": sorted.newer }), sorted.broken)).await?;
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
            self.copy_object(&name, &mut into).await?;
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

    /// An empty directory of files. Deletes what a task that was killed has left there.
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

/// A head line with the totals, and a line for each finding.
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

/// Wrong bytes in an object are permanent; any other error is of the local disk that they are written to.
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
