//! What a receiver of events keeps: which transactions it has taken, and a balance for each account.

use rust_decimal::Decimal;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// An event, as far as this receiver needs it. What else is in it, now or later, is ignored.
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

/// Balances as events make them. A real receiver keeps both parts in one database, and writes the balances and
/// the transaction's id in one transaction: if it crashes before, the event comes again; if after, it is known.
#[derive(Debug, Default)]
pub(crate) struct Book {
    taken: BTreeSet<(String, String)>,
    balances: BTreeMap<Balance, Decimal>,
}

impl Book {
    /// Takes an event, as it comes from the queue. It says whether it was new: events come at least once, and
    /// one transaction counts once.
    ///
    /// # Errors
    /// When it is none of ours. It is left in the queue, whose redrive puts it aside in the end.
    pub(crate) fn take(&mut self, event: &str) -> Result<bool, String> {
        let event: Event = serde_json::from_str(event).map_err(|error| error.to_string())?;
        if event.kind != "ecopay.ledger.transaction.v1" {
            return Err(format!("what is a {}?", event.kind));
        }
        let mut balances = self.balances.clone();
        for Posting { account, asset, delta } in event.data.postings {
            // No float is ever made of an amount.
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

    /// Every balance that ever changed.
    #[must_use]
    pub(crate) fn balances(&self) -> &BTreeMap<Balance, Decimal> {
        &self.balances
    }

    /// How many transactions have been taken.
    #[must_use]
    pub(crate) fn transactions(&self) -> usize {
        self.taken.len()
    }
}
