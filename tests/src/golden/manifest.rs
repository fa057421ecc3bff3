//! The manifest of golden files: the SHA-256 of each. Lines are only added: each later block begins with the digest of
//! everything above it.

use super::vector::directory;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The manifest's file name in `golden`.
pub const NAME: &str = "manifest.sha256";

const ABOVE: &str = "# above: ";

/// Digests by path in `golden`.
pub type Digests = BTreeMap<String, String>;

/// The SHA-256 of a text, in hexadecimal.
#[must_use]
pub fn digest(text: impl AsRef<[u8]>) -> String {
    Sha256::digest(text.as_ref()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digests of the files in `golden`, without the manifest and the README.
#[must_use]
pub fn digests() -> Digests {
    let root = directory("");
    let mut digests = Digests::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                digests.insert(name(&root, &path), digest(std::fs::read(&path).unwrap()));
            }
        }
    }
    digests.retain(|name, _| name != NAME && name != "README.md");
    digests
}

fn name(root: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(root).unwrap().iter().map(|part| part.to_str().unwrap());
    parts.collect::<Vec<_>>().join("/")
}

/// The manifest's text; empty if the file does not exist.
#[must_use]
pub fn text() -> String {
    std::fs::read_to_string(directory(NAME)).unwrap_or_default()
}

/// Parses a manifest.
///
/// # Errors
/// If a line is invalid, a file has two lines, or the text above a block does not have the digest in its first line.
pub fn parse(text: &str) -> Result<Digests, String> {
    let mut digests = Digests::new();
    let mut above = 0;
    for line in text.split_inclusive('\n') {
        let entry = line.strip_suffix('\n').ok_or("the last line has no end")?;
        if let Some(expected) = entry.strip_prefix(ABOVE) {
            if digest(&text[..above]) != expected {
                return Err(format!("the lines above {expected} have been changed"));
            }
        } else {
            let (digest, path) = entry.split_once("  ").ok_or_else(|| format!("not a line: {entry}"))?;
            if digest.len() != 64 || digests.insert(path.to_owned(), digest.to_owned()).is_some() {
                return Err(format!("not a digest, or a second line: {entry}"));
            }
        }
        above += line.len();
    }
    Ok(digests)
}

/// The files that are missing, have another digest than in the manifest, or are not in the manifest.
#[must_use]
pub fn deviations(manifest: &Digests, files: &Digests) -> Vec<String> {
    let paths: BTreeSet<&String> = manifest.keys().chain(files.keys()).collect();
    let deviation = |path: &String| match (manifest.get(path), files.get(path)) {
        (Some(_), None) => Some(format!("{path} is missing")),
        (None, Some(_)) => Some(format!("{path} is not in the manifest: run golden-new")),
        (Some(frozen), Some(present)) if frozen != present => Some(format!("{path} has been changed")),
        (_, _) => None,
    };
    paths.into_iter().filter_map(deviation).collect()
}

/// The block to add to a manifest for new files; empty if the manifest has all files.
///
/// # Errors
/// If the manifest is invalid.
pub fn addition(manifest: &str, files: &Digests) -> Result<String, String> {
    let known = parse(manifest)?;
    let lines = files.iter().filter(|(path, _)| !known.contains_key(*path));
    let lines: String = lines.map(|(path, digest)| format!("{digest}  {path}\n")).collect();
    let is_first = manifest.is_empty();
    Ok(if lines.is_empty() || is_first { lines } else { format!("{ABOVE}{}\n{lines}", digest(manifest)) })
}
