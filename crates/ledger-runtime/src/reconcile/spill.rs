//! Facts in files while they are sorted by their groups.
//!
//! A table's facts do not fit into memory; those of one part of the groups do. A group's part depends only on its name,
//! so each part can be checked alone.

use ledger_core::reconcile::{Fact, Finding, Group, Groups, Scope};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What is divided. Each level uses other bits of the hash: with the same bits, all groups of a part would fall into
/// few parts of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Divided {
    /// All groups of a table.
    Table = 0,
    /// The groups of one part.
    Part = 1,
}

/// A directory with a file for each part. It is removed on drop.
#[derive(Debug)]
pub(super) struct Spill {
    directory: PathBuf,
    divided: Divided,
    parts: Vec<BufWriter<File>>,
}

/// The part of a group, by its name as written on a line of facts.
///
/// INVARIANT: it never changes, because one environment checks what another has sorted.
#[must_use]
pub(super) fn part_of(group: &str, divided: Divided, parts: u16) -> u16 {
    let digest: [u8; 32] = Sha256::new().chain_update([divided as u8]).chain_update(group).finalize().into();
    let bits = digest.iter().take(8).fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
    u16::try_from(bits.checked_rem(parts.into()).unwrap_or(0)).unwrap_or(0)
}

impl Spill {
    /// Creates `parts` empty parts in a new directory `name` under `parent`.
    ///
    /// # Errors
    /// If the directory exists, or it or a file cannot be created.
    pub(super) fn new(parent: &Path, name: &str, divided: Divided, parts: u16) -> io::Result<Self> {
        let directory = parent.join(name);
        fs::create_dir_all(parent)?;
        fs::create_dir(&directory)?;
        let mut spill = Self { directory, divided, parts: Vec::new() };
        for part in 0..parts.max(1) {
            spill.parts.push(BufWriter::new(File::create_new(spill.path(part))?));
        }
        Ok(spill)
    }

    /// Adds a fact.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn add(&mut self, fact: &Fact) -> io::Result<()> {
        self.add_line(&fact.line().map_err(io::Error::other)?)
    }

    /// Adds a fact by its line.
    ///
    /// # Errors
    /// If the file cannot be written. A malformed line is reported by [`Spill::check`].
    pub(super) fn add_line(&mut self, line: &str) -> io::Result<()> {
        let group = line.split_once('\t').map_or(line, |(group, _)| group);
        let part = part_of(group, self.divided, self.parts());
        let Some(file) = self.parts.get_mut(usize::from(part)) else { return Ok(()) };
        file.write_all(line.as_bytes())?;
        file.write_all(b"\n")
    }

    /// The number of parts.
    #[must_use]
    pub(super) fn parts(&self) -> u16 {
        u16::try_from(self.parts.len()).unwrap_or(u16::MAX)
    }

    /// The lines of one part.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn read(&mut self, part: u16) -> io::Result<Vec<u8>> {
        fs::read(self.written(part)?)
    }

    /// The findings about the groups of one part, each with its group.
    ///
    /// # Errors
    /// If the file cannot be read, or with [`io::ErrorKind::InvalidData`] if it holds a malformed line. No line is
    /// skipped.
    pub(super) fn check(&mut self, part: u16, scope: &Scope) -> io::Result<Vec<(Group, Finding)>> {
        let mut groups = Groups::default();
        for line in BufReader::new(File::open(self.written(part)?)?).lines() {
            let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
            groups.take(Fact::parse_line(&line?).map_err(invalid)?, scope);
        }
        Ok(groups.findings(scope))
    }

    /// The path of a part's file, after buffered lines have been written to it.
    fn written(&mut self, part: u16) -> io::Result<PathBuf> {
        if let Some(file) = self.parts.get_mut(usize::from(part)) {
            file.flush()?;
        }
        Ok(self.path(part))
    }

    fn path(&self, part: u16) -> PathBuf {
        self.directory.join(format!("part-{part:04}"))
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            tracing::warn!(%error, "facts of a reconciliation could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run may be started by one version of the code and ended by the next.
    #[test]
    fn part_of_a_group_never_changes() {
        let group = "demo/account/customer:019aa000-0000-7000-8000-000000000071/ECOPAY";
        let parts = [256, 64, 3].map(|parts| part_of(group, Divided::Table, parts));
        assert_eq!((parts, part_of(group, Divided::Part, 16)), ([112, 48, 0], 8));
    }

    #[test]
    fn groups_of_a_part_are_divided_evenly() {
        let all: Vec<String> = (0..20_000).map(|number| format!("demo/once/{number}")).collect();
        let of_part: Vec<&String> = all.iter().filter(|group| part_of(group, Divided::Table, 16) == 3).collect();
        let mut sizes = [0_u32; 16];
        for group in &of_part {
            sizes[usize::from(part_of(group, Divided::Part, 16))] += 1;
        }
        assert!((1_000..1_500).contains(&of_part.len()), "{}", of_part.len());
        assert!(sizes.iter().all(|size| (40..130).contains(size)), "{sizes:?}");
    }
}
