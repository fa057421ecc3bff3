//! The functions that are measured, and the command of each.

use ledger_tests::binaries;
use ledger_tests::lambda::Program;
use std::env;
use std::path::{Path, PathBuf};

/// Our function, whose binary has this name.
pub const OURS: &str = "customer";

/// A function of `bench/functions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opponent {
    /// Python with boto3 alone: the same guarantees as ours.
    PythonBoto3,
    /// Python with Powertools.
    PythonPowertools,
    /// Node.js with Powertools.
    NodePowertools,
}

impl Opponent {
    /// Every opponent.
    pub const ALL: [Self; 3] = [Self::PythonBoto3, Self::PythonPowertools, Self::NodePowertools];

    /// The name of its folder.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PythonBoto3 => "python-boto3",
            Self::PythonPowertools => "python-powertools",
            Self::NodePowertools => "node-powertools",
        }
    }

    /// Its command, in the folder that `bench/functions/install` makes.
    ///
    /// # Errors
    /// If it is not installed.
    pub fn program(self, installed: &Path) -> Result<Program, String> {
        let folder = installed.join(self.name());
        let path = match self {
            Self::PythonBoto3 | Self::PythonPowertools => installed.join("venv/bin/python"),
            Self::NodePowertools => on_path("node").ok_or("node is not on the PATH: install Node.js 20 or later")?,
        };
        if let Some(missing) = [&folder, &path].into_iter().find(|needed| !needed.exists()) {
            return Err(format!("{} does not exist: run `bash bench/functions/install` first", missing.display()));
        }
        let arguments: &[&str] = match self {
            Self::PythonBoto3 | Self::PythonPowertools => &["-m", "awslambdaric", "handler.handler"],
            Self::NodePowertools => &["runtime.mjs"],
        };
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Ok(Program { arguments, folder: Some(folder), ..Program::binary(&path) })
    }
}

/// Builds our function by a profile; returns its command.
///
/// # Errors
/// If the environment changes the profile.
pub(super) fn ours(profile: &str) -> Result<Program, String> {
    if let Some((name, _)) = env::vars_os().find(|(name, _)| name.to_string_lossy().starts_with("CARGO_PROFILE_")) {
        let name = name.to_string_lossy();
        return Err(format!("unset {name}: the function would not be the one that the profile `{profile}` builds"));
    }
    Ok(Program::binary(&binaries::path(&binaries::build(&[OURS], profile), OURS)))
}

/// A program in one of the folders of `PATH`. A function's own environment has none.
pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opponent_that_is_not_installed_is_an_error_that_says_how() {
        let error = Opponent::PythonBoto3.program(Path::new("/nowhere")).unwrap_err();
        assert!(error.starts_with("/nowhere/python-boto3 does not exist: run `bash"), "{error}");
    }
}
