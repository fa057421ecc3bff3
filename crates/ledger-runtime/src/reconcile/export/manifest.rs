//! The manifest of an export: `manifest-summary.json`, and `manifest-files.json` with a line for each data file.

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

/// The fields of `manifest-summary.json` that are used.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    export_time: String,
    item_count: u64,
}

impl DataFile {
    /// The number of items according to the manifest.
    #[must_use]
    pub(super) fn items(&self) -> u64 {
        self.item_count
    }

    /// Its whole S3 key.
    pub(super) fn key(&self) -> &str {
        &self.data_file_s3_key
    }

    /// The last component of its S3 key.
    pub(super) fn own_name(&self) -> &str {
        self.data_file_s3_key.rsplit('/').next().unwrap_or_default()
    }
}

impl Summary {
    /// The moment as of which the table was exported.
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
        self.copy_object(&name, &mut into).await?;
        into.end().map_err(|error| unread(&name, &error))?;
        Ok(files)
    }

    pub(super) async fn summary(&self, of: &ExportRun) -> Result<Summary, ExportError> {
        let (name, mut bytes) = (of.of_export(SUMMARY), Vec::new());
        self.copy_object(&name, &mut bytes).await?;
        serde_json::from_slice(&bytes).map_err(|error| unread(&name, &error.into()))
    }

    /// Writes an object's bytes to `into` as they arrive.
    pub(super) async fn copy_object(&self, name: &str, into: &mut impl Write) -> Result<(), ExportError> {
        let mut body = self.objects.get(name).await?;
        while let Some(chunk) = body.try_next().await? {
            into.write_all(&chunk).map_err(|error| unread(name, &error))?;
        }
        Ok(())
    }
}
