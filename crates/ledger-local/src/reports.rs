//! Stores reports of reconciliations on the local stack.

use futures::future::BoxFuture;
use ledger_runtime::reconcile::ReportFiles;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Stores reports in a directory or in memory. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct LocalReports {
    directory: Option<PathBuf>,
    memory: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

impl LocalReports {
    /// Stores reports in a directory, which the first report creates.
    #[must_use]
    pub fn in_directory(directory: PathBuf) -> Self {
        Self { directory: Some(directory), ..Self::default() }
    }

    /// The reports in memory, by name.
    #[must_use]
    pub fn kept(&self) -> BTreeMap<String, Vec<u8>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn store(&self, name: &str, lines: Vec<u8>) -> std::io::Result<()> {
        let Some(directory) = &self.directory else {
            self.memory.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), lines);
            return Ok(());
        };
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(directory))?;
        std::fs::write(path, lines)
    }
}

impl ReportFiles for LocalReports {
    fn put<'a>(&'a self, name: &'a str, lines: Vec<u8>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(self.store(name, lines).map_err(|error| error.to_string())))
    }
}
