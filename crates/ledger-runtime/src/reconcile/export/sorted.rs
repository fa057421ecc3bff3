//! A data file's facts, sorted into parts.

use super::line;
use crate::reconcile::spill::Spill;
use ledger_core::reconcile::{Fact, Group, Limits, Num, Said, exported_item, of_item};
use ledger_core::time::Timestamp;
use std::collections::BTreeMap;
use std::io;

/// Of how many accounts memory holds what was posted to them.
const ACCOUNTS_MAX: usize = 200_000;

/// A data file's facts, in parts, and what is wrong with its items alone.
pub(super) struct Sorted {
    at: Timestamp,
    pub(super) spill: Spill,
    /// By account and by whether it is held: how much, and when last. An export is of one moment, so that sums say
    /// as much as what they are of; and everybody may have paid the same merchant.
    posted: BTreeMap<(Group, bool), (Num, i64)>,
    pub(super) broken: Vec<String>,
    pub(super) items: u64,
}

impl Sorted {
    pub(super) fn new(at: Timestamp, spill: Spill) -> Self {
        Self { at, spill, posted: BTreeMap::new(), broken: Vec::new(), items: 0 }
    }

    /// Takes a line of the data file.
    pub(super) fn take(&mut self, of: &str) -> io::Result<()> {
        let odd = || io::Error::new(io::ErrorKind::InvalidData, "a line that is no item");
        let item = exported_item(of).ok_or_else(odd)?;
        self.items = self.items.saturating_add(1);
        for said in of_item(&item, self.at, Limits::default()) {
            match said {
                Said::Fact(group, fact) => self.add(group, &fact)?,
                Said::Break(finding) => self.broken.push(line(&finding).to_string()),
            }
        }
        Ok(())
    }

    /// Puts what was posted with the other facts.
    pub(super) fn end(&mut self) -> io::Result<()> {
        for ((group, held), (delta, at)) in std::mem::take(&mut self.posted) {
            self.spill.add(&group, &Fact::Posted { held, delta, at })?;
        }
        Ok(())
    }

    fn add(&mut self, group: Group, fact: &Fact) -> io::Result<()> {
        let Fact::Posted { held, delta, at } = fact else { return self.spill.add(&group, fact) };
        let (sum, last) = self.posted.entry((group, *held)).or_insert((Num::ZERO, *at));
        *sum = sum.plus(*delta);
        *last = (*last).max(*at);
        if self.posted.len() < ACCOUNTS_MAX { Ok(()) } else { self.end() }
    }
}
