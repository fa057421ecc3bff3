//! Paths of the repository's files, for tests that check them.

use std::path::{Path, PathBuf};

/// The repository's root.
#[must_use]
pub fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the tests are a folder of the repository").to_path_buf()
}

/// Every Rust file below folders of the repository, in order.
#[must_use]
pub fn sources(folders: &[&str]) -> Vec<PathBuf> {
    files(folders, "rs")
}

/// Every file with an extension below folders of the repository, in order.
#[must_use]
pub fn files(folders: &[&str], extension: &str) -> Vec<PathBuf> {
    let root = root();
    let mut files = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
