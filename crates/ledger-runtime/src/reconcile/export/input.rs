//! The input of a task, and the names of a run's objects.

use super::{DataFile, ExportError};
use serde::Deserialize;

/// The largest number of parts: a task has a file open for each.
pub const PARTS_MAX: u16 = 512;
/// The longest name of a run, in bytes: the limit for a state machine's executions.
const NAME_MAX: usize = 80;

/// The input that a state machine gives to a task.
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

/// A task of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportTask {
    /// Reads a data file and sorts its facts into parts.
    Facts(DataFile),
    /// Checks a part.
    Fold(u16),
    /// Orders, reports and counts the findings.
    Report,
}

impl ExportInput {
    /// Validates the input: the run and its task.
    ///
    /// # Errors
    /// [`ExportError::Input`] if the input is not a valid task.
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
    /// A run of this name over an export, whose groups are divided into `parts` parts.
    ///
    /// `export` is the folder that holds `manifest-files.json`.
    ///
    /// # Errors
    /// [`ExportError::Input`] if the name is empty, longer than 80 bytes, or has other characters than letters, digits,
    /// `-` and `_`; if the folder has no name; or if `parts` is 0 or above [`PARTS_MAX`].
    pub fn new(name: &str, export: &str, parts: u16) -> Result<Self, ExportError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let named = (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(fits);
        if !named || export.is_empty() || !(1..=PARTS_MAX).contains(&parts) {
            return Err(ExportError::Input);
        }
        Ok(Self { name: name.to_owned(), export: export.to_owned(), parts })
    }

    /// The run's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of parts that its groups are divided into.
    #[must_use]
    pub fn parts(&self) -> u16 {
        self.parts
    }

    /// The name of an object in the export's folder.
    pub(super) fn of_export(&self, name: &str) -> String {
        format!("{}/{name}", self.export)
    }

    /// The name of a data file. Refuses a file whose manifest key is not in a folder `data`: it is of another export.
    pub(super) fn data(&self, file: &DataFile) -> Result<String, ExportError> {
        let own = format!("data/{}", file.own_name());
        if file.key().ends_with(&format!("/{own}")) { Ok(self.of_export(&own)) } else { Err(ExportError::Input) }
    }

    /// The name of the object with the facts of one part in one data file.
    pub(super) fn facts(&self, part: u16, file: &str) -> String {
        format!("runs/{}/facts/{part:04}/{file}", self.name)
    }

    /// The name of the object with the findings about single items of a data file.
    pub(super) fn items(&self, file: &str) -> String {
        format!("runs/{}/items/{file}", self.name)
    }

    /// The name of the object with the findings about the groups of a part.
    pub(super) fn folded(&self, part: u16) -> String {
        format!("runs/{}/folded/{part:04}", self.name)
    }
}
