//! The workspace's binaries in a profile, never older than their sources. A current binary is not built again.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The profile of the calling process: `test` unless cargo was given another.
///
/// # Panics
/// When the process's executable is not in a target folder.
#[must_use]
pub fn own_profile() -> String {
    let folder = own_folder();
    match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "test".to_owned(),
        Some(other) => other.to_owned(),
    }
}

/// The folder with the binaries of these packages, each named like its package. Runs cargo once if one of them is
/// missing or older than one of its source files.
///
/// # Panics
/// When the build fails.
#[must_use]
pub fn fresh(packages: &[&str], profile: &str) -> PathBuf {
    let folder = folder_of(profile);
    if packages.iter().any(|package| is_stale(&folder, package)) { build(packages, profile) } else { folder }
}

/// The path of a package's binary in a folder.
#[must_use]
pub fn path(folder: &Path, package: &str) -> PathBuf {
    folder.join(format!("{package}{}", std::env::consts::EXE_SUFFIX))
}

/// Builds these packages' binaries with cargo; returns their folder.
///
/// # Panics
/// When the build fails.
pub fn build(packages: &[&str], profile: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--offline", "--quiet", "--profile", profile]).current_dir(root());
    for package in packages {
        command.args(["--package", package_of(package), "--bin", package]);
    }
    assert!(command.status().is_ok_and(|status| status.success()), "{packages:?} do not build");
    folder_of(profile)
}

/// The folder of a profile's output, beside this process's.
fn folder_of(profile: &str) -> PathBuf {
    let name = if profile == "test" { "debug" } else { profile };
    own_folder().parent().expect("a target folder").join(name)
}

/// `target/<profile>`, which contains binaries; tests are in its `deps`.
fn own_folder() -> PathBuf {
    let this = std::env::current_exe().expect("a path");
    let folder = this.parent().expect("a folder");
    if folder.ends_with("deps") { folder.parent().expect("a profile") } else { folder }.to_owned()
}

/// The package of a binary; a function's is `ledger-aws`.
fn package_of(binary: &str) -> &str {
    if root().join(format!("functions/{binary}")).is_dir() { "ledger-aws" } else { binary }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// Compares times, because cargo's list of a binary's sources is missing when a test has had it built.
fn is_stale(folder: &Path, package: &str) -> bool {
    let modified = |path: &Path| path.metadata().and_then(|data| data.modified());
    let Ok(built) = modified(&path(folder, package)) else { return true };
    sources(package).iter().any(|source| !modified(source).is_ok_and(|changed| changed <= built))
}

/// The sources of a binary: a function's own, core, runtime and AWS crate; everything for the local stack.
fn sources(package: &str) -> Vec<PathBuf> {
    let function = format!("functions/{package}/src");
    let folders: &[&str] = if root().join(&function).is_dir() {
        &[&function, "crates/ledger-core/src", "crates/ledger-runtime/src", "crates/ledger-aws/src"]
    } else {
        &["crates", "functions"]
    };
    crate::sources(folders).into_iter().filter(|file| !is_test(file)).collect()
}

/// Whether a file is compiled into tests only.
fn is_test(file: &Path) -> bool {
    let inside = file.strip_prefix(root()).unwrap_or(file);
    inside.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
}
