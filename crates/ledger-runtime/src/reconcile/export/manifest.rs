//! What an export says of itself: `manifest-summary.json`, and `manifest-files.json` with a line for each data
//! file.

use super::lines::Lines;
use super::{ExportError, ExportRun, Exports, unread};
use futures::stream::TryStreamExt;
use ledger_core::time::Timestamp;
use serde::Deserialize;
use std::io::{self, Write};

const SUMMARY: &str = "manifest-summary.json";
const FILES: &str = "manifest-files.json";

/// A line of `manifest-files.json`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataFile {
    item_count: u64,
    data_file_s3_key: String,
}

/// `manifest-summary.json`, as far as it matters.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    export_time: String,
    item_count: u64,
}

impl DataFile {
    /// How many items it says that it has.
    #[must_use]
    pub(super) fn items(&self) -> u64 {
        self.item_count
    }

    /// Its whole name.
    pub(super) fn key(&self) -> &str {
        &self.data_file_s3_key
    }

    /// Its name in its folder.
    pub(super) fn own_name(&self) -> &str {
        self.data_file_s3_key.rsplit('/').next().unwrap_or_default()
    }
}

impl Summary {
    /// The moment of which the export is.
    pub(super) fn at(&self) -> Result<Timestamp, ExportError> {
        let wrong = || ExportError::Unreadable { name: SUMMARY.to_owned(), why: "no export time".to_owned() };
        Timestamp::parse(&self.export_time).map_err(|_| wrong())
    }

    pub(super) fn items(&self) -> u64 {
        self.item_count
    }
}

impl Exports {
    /// The data files of an export.
    ///
    /// # Errors
    /// [`ExportError`] if the manifest cannot be read.
    pub async fn files(&self, of: &ExportRun) -> Result<Vec<DataFile>, ExportError> {
        let (name, mut files) = (of.of_export(FILES), Vec::new());
        let mut into = Lines::new(|line: &str| {
            files.push(serde_json::from_str(line).map_err(io::Error::from)?);
            Ok(())
        });
        self.pour(&name, &mut into).await?;
        into.end().map_err(|error| unread(&name, &error))?;
        Ok(files)
    }

    pub(super) async fn summary(&self, of: &ExportRun) -> Result<Summary, ExportError> {
        let (name, mut bytes) = (of.of_export(SUMMARY), Vec::new());
        self.pour(&name, &mut bytes).await?;
        serde_json::from_slice(&bytes).map_err(|error| unread(&name, &error.into()))
    }

    /// Pours an object's bytes as they come.
    pub(super) async fn pour(&self, name: &str, into: &mut impl Write) -> Result<(), ExportError> {
        let mut body = self.objects.get(name).await?;
        while let Some(chunk) = body.try_next().await? {
            into.write_all(&chunk).map_err(|error| unread(name, &error))?;
        }
        Ok(())
    }
}
