//! The repository's own source files, for tests that look at the code.

use std::path::{Path, PathBuf};

/// Every Rust file below folders of the repository, in order.
#[must_use]
pub fn sources(folders: &[&str]) -> Vec<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = tests.parent().expect("the tests are a folder of the repository");
    let mut files = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
