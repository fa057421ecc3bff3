//! Facts in files while they are sorted by their groups: a table's facts do not fit into memory, those of one
//! part of the groups do. Which part a group belongs to follows from its name, so a part is checked by itself.

use ledger_core::reconcile::{Fact, Finding, Folded, Group, Scope};
use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A directory of parts, which is removed when it is dropped.
#[derive(Debug)]
pub struct Spill {
    directory: PathBuf,
    parts: Vec<BufWriter<File>>,
}

impl Spill {
    /// So many empty parts in a directory of that name, which must not exist, under `parent`.
    ///
    /// # Errors
    /// When the directory or a file cannot be made.
    pub fn new(parent: &Path, name: &str, parts: u16) -> io::Result<Self> {
        let directory = parent.join(name);
        fs::create_dir_all(parent)?;
        fs::create_dir(&directory)?;
        let mut spill = Self { directory, parts: Vec::new() };
        for part in 0..parts.max(1) {
            spill.parts.push(BufWriter::new(File::create_new(spill.path(part.into()))?));
        }
        Ok(spill)
    }

    /// Takes a fact.
    ///
    /// # Errors
    /// When the file takes no more.
    pub fn add(&mut self, group: &Group, fact: &Fact) -> io::Result<()> {
        let part = self.part_of(group);
        let line = group.line(fact).map_err(io::Error::other)?;
        let Some(file) = self.parts.get_mut(part) else { return Ok(()) };
        file.write_all(line.as_bytes())?;
        file.write_all(b"\n")
    }

    /// How many parts there are.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// What is wrong with the groups of one part, each with its group.
    ///
    /// # Errors
    /// When the file cannot be read, or holds a line that we did not write.
    pub fn check(&mut self, part: usize, scope: &Scope) -> io::Result<Vec<(Group, Finding)>> {
        if let Some(file) = self.parts.get_mut(part) {
            file.flush()?;
        }
        let mut groups = BTreeMap::<Group, Folded>::new();
        for line in BufReader::new(File::open(self.path(part))?).lines() {
            let line = line?;
            let (group, fact) = Group::read_line(&line).ok_or_else(|| io::Error::other("a line that holds no fact"))?;
            groups.entry(group).or_insert_with_key(|group| Folded::new(group.clone())).take(fact, scope);
        }
        let found = groups.into_iter().flat_map(|(group, folded)| {
            folded.findings(scope).into_iter().map(move |finding| (group.clone(), finding))
        });
        Ok(found.collect())
    }

    fn part_of(&self, group: &Group) -> usize {
        let mut hasher = DefaultHasher::new();
        group.hash(&mut hasher);
        let parts = u64::try_from(self.parts.len()).unwrap_or(1);
        usize::try_from(hasher.finish().checked_rem(parts).unwrap_or(0)).unwrap_or(0)
    }

    fn path(&self, part: usize) -> PathBuf {
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
