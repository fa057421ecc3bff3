//! Reconciles a table's export to S3 from a directory. It runs the tasks of the state machine one after another.

use crate::reports::LocalReports;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use ledger_runtime::clock::Clock;
use ledger_runtime::entropy::Entropy;
use ledger_runtime::metrics::{Counting, Metrics};
use ledger_runtime::reconcile::export::{ExportDone, ExportError, ExportRun, ExportTask, Exports};
use ledger_runtime::reconcile::{Body, ObjectError, Objects};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The first part of the names of the export's objects.
const EXPORT: &str = "export";
/// The number of bytes read at once.
const CHUNK: usize = 64 * 1024;

/// The arguments of a reconciliation of an export.
#[derive(Clone, Debug)]
pub struct ExportCommand {
    /// The export's directory: the one that holds `manifest-files.json` and `data`.
    pub directory: PathBuf,
    /// The number of parts that the groups are divided into: memory holds a 64th of one.
    pub parts: u16,
    /// The directory for facts while they are sorted.
    pub temporary: PathBuf,
}

/// The result of reconciling an export.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The number of items of the export.
    pub items: u64,
    /// The number of breaks.
    pub breaks: i64,
    /// The reports by name.
    pub reports: BTreeMap<String, Vec<u8>>,
}

/// Reconciles an export.
///
/// # Errors
/// [`ExportError`], which names the file.
pub async fn reconcile(command: &ExportCommand) -> Result<Exported, ExportError> {
    // Unique, because two may run at once.
    let id = Entropy::system().uuid_v7(Clock::system().now()).map_err(|error| ExportError::Disk(error.to_string()))?;
    let work = command.temporary.join(format!("reconciliation-export-{id}"));
    let objects = Arc::new(Directories { export: command.directory.clone(), work: work.join("objects") });
    let done = walk(&work, objects, command.parts).await;
    // The files are temporary. A failure to delete them is ignored.
    let _ = fs::remove_dir_all(&work);
    done
}

/// Runs the tasks in the order of the state machine.
async fn walk(work: &Path, objects: Arc<dyn Objects>, parts: u16) -> Result<Exported, ExportError> {
    let (reports, clock) = (LocalReports::default(), Clock::system());
    let metrics = Metrics::to(Counting::new(clock.clone()));
    let exports = Exports::new((objects, Arc::new(reports.clone())), (metrics, clock), work.join("sorting"));
    let of = ExportRun::new("local", EXPORT, parts)?;
    for file in exports.files(&of).await? {
        let _ = exports.run(&of, &ExportTask::Facts(file)).await?;
    }
    for part in 0..of.parts() {
        let _ = exports.run(&of, &ExportTask::Fold(part)).await?;
    }
    let (items, breaks) = match exports.run(&of, &ExportTask::Report).await? {
        ExportDone::Report { items, breaks, .. } => (items, breaks),
        // INVARIANT: a task returns its own variant of the result.
        ExportDone::Facts { .. } | ExportDone::Fold { .. } => (0, 0),
    };
    Ok(Exported { items, breaks, reports: reports.kept() })
}

/// Objects as files: the export in its directory, all others in another.
#[derive(Clone, Debug)]
pub struct Directories {
    /// The export's directory.
    pub export: PathBuf,
    /// The directory of all other objects.
    pub work: PathBuf,
}

impl Directories {
    fn path(&self, name: &str) -> PathBuf {
        match name.split_once('/') {
            Some((EXPORT, rest)) => self.export.join(rest),
            Some(_) | None => self.work.join(name),
        }
    }

    fn open(&self, name: &str) -> Result<Body, ObjectError> {
        let file = File::open(self.path(name)).map_err(|error| failed(name, &error))?;
        let chunks = stream::try_unfold((file, name.to_owned()), |(mut file, name)| async move {
            let mut chunk = Vec::with_capacity(CHUNK);
            let limit = u64::try_from(CHUNK).unwrap_or(u64::MAX);
            match (&mut file).take(limit).read_to_end(&mut chunk) {
                Ok(0) => Ok(None),
                Ok(_) => Ok(Some((chunk.into(), (file, name)))),
                Err(error) => Err(failed(&name, &error)),
            }
        });
        Ok(chunks.boxed())
    }

    /// Writes a file atomically: under another name first.
    fn store(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap_or(&self.work))?;
        let young = path.with_extension("young");
        fs::write(&young, bytes)?;
        fs::rename(young, path)
    }
}

impl Objects for Directories {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Body, ObjectError>> {
        Box::pin(std::future::ready(self.open(name)))
    }

    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), ObjectError>> {
        Box::pin(std::future::ready(self.store(name, &bytes).map_err(|error| failed(name, &error))))
    }
}

fn failed(name: &str, error: &io::Error) -> ObjectError {
    if error.kind() == ErrorKind::NotFound {
        ObjectError::Missing(name.to_owned())
    } else {
        ObjectError::Unavailable { name: name.to_owned(), why: error.to_string() }
    }
}
