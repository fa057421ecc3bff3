//! What a state machine gives to a task, and how a run's objects are named.

use super::{DataFile, ExportError};
use serde::Deserialize;

/// The most parts: a task has a file open for each.
pub const PARTS_MAX: u16 = 512;
/// How long a run's name may be: as long as that of an execution.
const NAME_MAX: usize = 80;

/// What a state machine gives to a task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportInput {
    task: String,
    run: String,
    export: String,
    parts: u16,
    file: Option<DataFile>,
    part: Option<u16>,
}

/// A run over an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportRun {
    name: String,
    export: String,
    parts: u16,
}

/// What is done of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportTask {
    /// Reads a data file.
    Facts(DataFile),
    /// Checks a part.
    Fold(u16),
    /// Says what was found.
    Report,
}

impl ExportInput {
    /// The run and its task.
    ///
    /// # Errors
    /// [`ExportError::Input`] if there is no such task.
    pub fn read(self) -> Result<(ExportRun, ExportTask), ExportError> {
        let of = ExportRun::new(&self.run, &self.export, self.parts)?;
        let task = match (self.task.as_str(), self.file, self.part) {
            ("facts", Some(file), None) => ExportTask::Facts(file),
            ("fold", None, Some(part)) if part < of.parts => ExportTask::Fold(part),
            ("report", None, None) => ExportTask::Report,
            _ => return Err(ExportError::Input),
        };
        Ok((of, task))
    }
}

impl ExportRun {
    /// A run of this name over the export in this folder, the one that holds `manifest-files.json`, whose groups
    /// are divided into so many parts.
    ///
    /// # Errors
    /// [`ExportError::Input`] if the name has other characters than letters, digits, `-` and `_`, the folder has no
    /// name, or there are no parts or more than [`PARTS_MAX`].
    pub fn new(name: &str, export: &str, parts: u16) -> Result<Self, ExportError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let named = (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(fits);
        if !named || export.is_empty() || !(1..=PARTS_MAX).contains(&parts) {
            return Err(ExportError::Input);
        }
        Ok(Self { name: name.to_owned(), export: export.to_owned(), parts })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Into how many parts its groups are divided.
    #[must_use]
    pub fn parts(&self) -> u16 {
        self.parts
    }

    /// An object of the export's own.
    pub(super) fn of_export(&self, name: &str) -> String {
        format!("{}/{name}", self.export)
    }

    /// A data file. The manifest has its whole name; it stands in the export's folder `data`, or it is another's.
    pub(super) fn data(&self, file: &DataFile) -> Result<String, ExportError> {
        let own = format!("data/{}", file.own_name());
        if file.key().ends_with(&format!("/{own}")) { Ok(self.of_export(&own)) } else { Err(ExportError::Input) }
    }

    /// The facts of one part in one data file.
    pub(super) fn facts(&self, part: u16, file: &str) -> String {
        format!("runs/{}/facts/{part:04}/{file}", self.name)
    }

    /// What is wrong with single items of a data file.
    pub(super) fn items(&self, file: &str) -> String {
        format!("runs/{}/items/{file}", self.name)
    }

    /// What is wrong with the groups of a part.
    pub(super) fn folded(&self, part: u16) -> String {
        format!("runs/{}/folded/{part:04}", self.name)
    }
}
