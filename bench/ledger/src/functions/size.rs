//! The sizes of the functions' zips, computed from their files' deflated sizes: no zip is written.

use super::program::Opponent;
use ledger_tests::lambda::figures::deflated;
use std::fs;
use std::path::{Path, PathBuf};

/// The bytes of a zip beside its files: the end of its directory.
const ZIP_END: u64 = 22;
/// The bytes of a zip for each file, beside its name twice and its content: its header and its directory entry.
const ZIP_ENTRY: u64 = 30 + 46;
/// What no zip has: caches, lists of packages, the installer, the stamps and logs of `install`.
const NEVER: &[&str] =
    &["__pycache__", "pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils", "stamp", "npm"];
/// Lambda's runtime client, which its runtime has; ours is in our binary.
const RUNTIME_CLIENT: &[&str] = &["awslambdaric", "runtime_client", "simplejson", "snapshot_restore_py", "runtime"];
/// The AWS SDK and what it depends on, which Lambda's runtime also has, in a version of its own.
const SDK: &[&str] = &[
    "boto3",
    "botocore",
    "s3transfer",
    "jmespath",
    "dateutil",
    "python_dateutil",
    "six",
    "urllib3",
    "@aws-sdk",
    "@smithy",
    "bowser",
    "mnemonist",
    "obliterator",
    "tslib",
];
/// Powertools and what it alone depends on.
const POWERTOOLS: &[&str] = &["aws_lambda_powertools", "typing_extensions"];

/// The sizes of a function's zip in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZipSizes {
    /// With every package in the pinned version.
    pub pinned: u64,
    /// Without the AWS SDK, if the function uses the one in Lambda's runtime.
    pub without_sdk: u64,
}

/// The size of our function's zip: its binary, with Lambda's runtime client and the AWS SDK in it.
#[must_use]
pub fn zip_of_ours(binary: &Path) -> ZipSizes {
    let size = ZIP_END + entry("bootstrap", deflated(binary));
    ZipSizes { pinned: size, without_sdk: size }
}

/// The sizes of an opponent's zip.
///
/// # Errors
/// If its folders cannot be read.
pub fn zip_of_opponent(opponent: Opponent, installed: &Path) -> Result<ZipSizes, String> {
    let own = installed.join(opponent.name());
    let (packages, left_out): (Vec<PathBuf>, &[&[&str]]) = match opponent {
        Opponent::PythonBoto3 => (site_packages(installed)?, &[NEVER, RUNTIME_CLIENT, POWERTOOLS]),
        Opponent::PythonPowertools => (site_packages(installed)?, &[NEVER, RUNTIME_CLIENT]),
        Opponent::NodePowertools => (Vec::new(), &[NEVER, RUNTIME_CLIENT]),
    };
    let mut sizes = ZipSizes { pinned: ZIP_END, without_sdk: ZIP_END };
    for root in std::iter::once(own).chain(packages) {
        for file in files(&root).map_err(|error| format!("{}: {error}", root.display()))? {
            let name = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().into_owned();
            if left_out.iter().any(|names| has_part(&name, names)) {
                continue;
            }
            let size = entry(&name, deflated(&file));
            sizes.pinned += size;
            sizes.without_sdk += if has_part(&name, SDK) { 0 } else { size };
        }
    }
    Ok(sizes)
}

/// The bytes of a file in a zip.
fn entry(name: &str, deflated: u64) -> u64 {
    ZIP_ENTRY + 2 * u64::try_from(name.len()).unwrap_or(u64::MAX) + deflated
}

/// Whether one of these names is the file's own or its package's, without version and ending. A package of Node.js is
/// in the folder `node_modules`, the first one of Python.
fn has_part(path: &str, names: &[&str]) -> bool {
    let package = path.strip_prefix("node_modules/").unwrap_or(path);
    let first = package.split('/').next().unwrap_or_default();
    let name = first.split(['-', '.']).next().unwrap_or_default();
    names.iter().any(|known| name == *known || first == *known) || path.split('/').any(|part| part == "__pycache__")
}

/// The folders of installed Python packages.
fn site_packages(installed: &Path) -> Result<Vec<PathBuf>, String> {
    let library = installed.join("venv/lib");
    let versions = fs::read_dir(&library).map_err(|error| format!("{}: {error}", library.display()))?;
    Ok(versions.flatten().map(|version| version.path().join("site-packages")).filter(|path| path.is_dir()).collect())
}

/// The files in a folder and its folders, without links and hidden ones.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if kind.is_dir() {
            found.extend(files(&entry.path())?);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_is_known_by_its_folder_its_metadata_or_its_file() {
        for path in ["boto3/session.py", "boto3-1.44.5.dist-info/METADATA", "six.py", "node_modules/@smithy/core/a.js"]
        {
            assert!(has_part(path, SDK), "{path}");
        }
        for path in ["handler.py", "ledger/table.py", "node_modules/@aws-lambda-powertools/jmespath/a.js", "table.mjs"]
        {
            assert!(!has_part(path, SDK), "{path}");
        }
        assert!(has_part("runtime_client.cpython-311-x86_64-linux-gnu.so", RUNTIME_CLIENT));
        assert!(has_part("runtime.mjs", RUNTIME_CLIENT));
        assert!(has_part("ledger/__pycache__/table.pyc", NEVER));
        assert!(has_part("python_dateutil-2.9.0.post0.dist-info/RECORD", SDK));
    }

    #[test]
    fn zip_has_a_header_and_a_directory_entry_for_each_file() {
        assert_eq!(ZIP_END + entry("bootstrap", 1_000), 22 + 30 + 46 + 18 + 1_000);
    }
}
