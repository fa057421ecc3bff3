//! Reconciles a table's export to S3, as it lies in a directory: for tables that are too large to be scanned.
//! The same facts are folded by the same checks. An export is of one moment, so nothing need be looked at again.

use flate2::read::GzDecoder;
use ledger_core::reconcile::{Finding, Limits, Said, Scope, explain, exported_item, of_item};
use ledger_core::time::Timestamp;
use ledger_runtime::reconcile::Spill;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// What is looked at, and how.
#[derive(Clone, Debug)]
pub struct ExportCommand {
    /// The export's directory: the one that holds `manifest-files.json` and `data`.
    pub directory: PathBuf,
    /// Into how many parts the groups are divided: memory holds one of them.
    pub parts: u16,
    /// Where facts are kept while they are sorted.
    pub temporary: PathBuf,
}

/// What an export came to.
#[derive(Clone, Debug)]
pub struct Exported {
    /// How many items it has.
    pub items: u64,
    /// What is wrong, of all tenants.
    pub findings: Vec<Finding>,
}

/// Why an export cannot be reconciled.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A file is missing or broken.
    #[error("{path}: {cause}")]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        cause: io::Error,
    },
    /// A file is not what the manifest says.
    #[error("{path} holds {found} items, and the manifest says {said}: fetch the export again")]
    Count {
        /// Which.
        path: PathBuf,
        /// How many the manifest says.
        said: u64,
        /// How many there are.
        found: u64,
    },
}

/// A line of `manifest-files.json`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DataFile {
    item_count: u64,
    data_file_s3_key: String,
}

/// `manifest-summary.json`, as far as it matters.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    export_time: String,
}

/// Reads an export to its end, and checks it.
///
/// # Errors
/// [`ExportError`] names the file.
pub fn reconcile(command: &ExportCommand) -> Result<Exported, ExportError> {
    let ExportCommand { directory, parts, temporary } = command;
    let summary = directory.join("manifest-summary.json");
    let at = time_of(&summary).map_err(in_file(&summary))?;
    let name = format!("reconciliation-export-{}", std::process::id());
    let mut spill = Spill::new(temporary, &name, *parts).map_err(in_file(temporary))?;
    let manifest = directory.join("manifest-files.json");
    let mut exported = Exported { items: 0, findings: Vec::new() };
    for line in BufReader::new(File::open(&manifest).map_err(in_file(&manifest))?).lines() {
        let line = line.map_err(in_file(&manifest))?;
        let file: DataFile = serde_json::from_str(&line).map_err(|error| in_file(&manifest)(error.into()))?;
        // Its key in the bucket; here it lies where the export's own directory has it.
        let name = file.data_file_s3_key.rsplit('/').next().unwrap_or_default().to_owned();
        let path = directory.join("data").join(name);
        let found = read(&path, at, &mut spill, &mut exported.findings).map_err(in_file(&path))?;
        if found != file.item_count {
            return Err(ExportError::Count { path, said: file.item_count, found });
        }
        exported.items = exported.items.saturating_add(found);
    }
    let scope = Scope { began_at: at, at_one_moment: true, listed: None };
    for part in 0..spill.parts() {
        let found = spill.check(part, &scope).map_err(in_file(temporary))?;
        exported.findings.extend(found.into_iter().map(|(_, finding)| finding));
    }
    explain(&mut exported.findings);
    Ok(exported)
}

/// The moment of which an export is.
fn time_of(summary: &Path) -> io::Result<Timestamp> {
    let summary: Summary = serde_json::from_reader(BufReader::new(File::open(summary)?))?;
    Timestamp::parse(&summary.export_time).map_err(io::Error::other)
}

fn read(path: &Path, at: Timestamp, spill: &mut Spill, findings: &mut Vec<Finding>) -> io::Result<u64> {
    let mut items = 0_u64;
    for line in BufReader::new(GzDecoder::new(File::open(path)?)).lines() {
        let item = exported_item(&line?).ok_or_else(|| io::Error::other("a line that is no item"))?;
        items = items.saturating_add(1);
        for said in of_item(&item, at, Limits::default()) {
            match said {
                Said::Fact(group, fact) => spill.add(&group, &fact)?,
                Said::Break(finding) => findings.push(finding),
            }
        }
    }
    Ok(items)
}

fn in_file(path: &Path) -> impl Fn(io::Error) -> ExportError {
    let path = path.to_owned();
    move |cause| ExportError::File { path: path.clone(), cause }
}
