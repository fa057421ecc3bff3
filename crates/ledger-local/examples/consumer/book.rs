//! The data that a receiver of events keeps: the transactions that it has taken, and a balance for each account.

use rust_decimal::Decimal;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The fields of an event that this receiver uses. Other fields are ignored, so that new ones can be added.
#[derive(Debug, Deserialize)]
struct Event {
    id: String,
    source: String,
    #[serde(rename = "type")]
    kind: String,
    data: Transaction,
}

#[derive(Debug, Deserialize)]
struct Transaction {
    postings: Vec<Posting>,
}

#[derive(Debug, Deserialize)]
struct Posting {
    account: String,
    asset: String,
    delta: String,
}

/// The account and the asset.
pub(crate) type Balance = (String, String);

/// Balances computed from events.
///
/// A real receiver keeps both parts in one database and writes them in one transaction: if it crashes before, the event
/// is delivered again; if after, the transaction's id is known.
#[derive(Debug, Default)]
pub(crate) struct Book {
    taken: BTreeSet<(String, String)>,
    balances: BTreeMap<Balance, Decimal>,
}

impl Book {
    /// Applies an event from the queue. `false` if it was applied before: events are delivered at least once.
    ///
    /// # Errors
    /// If the event is malformed or of another type. It stays in the queue, whose redrive policy moves it to the dead
    /// letters.
    pub(crate) fn take(&mut self, event: &str) -> Result<bool, String> {
        let event: Event = serde_json::from_str(event).map_err(|error| error.to_string())?;
        if event.kind != "ecopay.ledger.transaction.v1" {
            return Err(format!("what is a {}?", event.kind));
        }
        let mut balances = self.balances.clone();
        for Posting { account, asset, delta } in event.data.postings {
            // Amounts are never converted to floats.
            let delta = Decimal::from_str_exact(&delta).map_err(|error| error.to_string())?;
            let balance = balances.entry((account, asset)).or_default();
            *balance = balance.checked_add(delta).ok_or("a balance that no decimal holds")?;
        }
        if !self.taken.insert((event.source, event.id)) {
            return Ok(false);
        }
        self.balances = balances;
        Ok(true)
    }

    /// Every balance that has a posting.
    #[must_use]
    pub(crate) fn balances(&self) -> &BTreeMap<Balance, Decimal> {
        &self.balances
    }

    /// The number of transactions applied.
    #[must_use]
    pub(crate) fn transactions(&self) -> usize {
        self.taken.len()
    }
}
