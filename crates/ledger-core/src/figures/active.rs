//! The accounts that were active on a day, as they are stored until the day is closed.

use super::day::{VERSION, check_version};
use super::tally::DayTally;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::{CardId, CustomerId, Tenant};
use crate::keys::{self, attr};
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{Role, TransactItem};
use std::collections::BTreeSet;
use std::time::Duration;
use uuid::Uuid;

const CUSTOMERS: &str = "customers";
const CARDS: &str = "cards";
const ID_BYTES: usize = 16;
/// How long a list is kept after its batch. The day's totals have the numbers once it is closed.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The customers and cards that entries of a day changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActiveAccounts {
    /// The customers.
    pub customers: BTreeSet<CustomerId>,
    /// The cards.
    pub cards: BTreeSet<CardId>,
}

impl ActiveAccounts {
    /// Reads the lists of a day and unites them.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is malformed.
    pub fn read(items: &[Item]) -> Result<Self, ItemError> {
        let mut all = Self::default();
        for item in items {
            check_version(item)?;
            all.customers.extend(item.opt_parsed_bytes(CUSTOMERS, ids)?.into_iter().flatten().map(CustomerId::new));
            all.cards.extend(item.opt_parsed_bytes(CARDS, ids)?.into_iter().flatten().map(CardId::new));
        }
        Ok(all)
    }

    /// Adds those of a tally.
    pub fn add(&mut self, tally: &DayTally) {
        self.customers.extend(&tally.customers);
        self.cards.extend(&tally.cards);
    }

    /// The action that stores the list of one batch; `None` if it is empty.
    #[must_use]
    pub fn put(
        tenant: &Tenant,
        date: BusinessDate,
        batch: u64,
        tally: &DayTally,
        now: Timestamp,
    ) -> Option<TransactItem> {
        let customers: Vec<u8> = tally.customers.iter().flat_map(|id| id.uuid().into_bytes()).collect();
        let cards: Vec<u8> = tally.cards.iter().flat_map(|id| id.uuid().into_bytes()).collect();
        let ttl = now.plus(KEPT_FOR).seconds();
        let mut item = Item::from([(VERSION.to_owned(), Value::int(1)), (attr::TTL.to_owned(), Value::int(ttl))]);
        let lists = [(CUSTOMERS, customers), (CARDS, cards)];
        item.extend(
            lists.into_iter().filter(|(_, ids)| !ids.is_empty()).map(|(name, ids)| (name.to_owned(), Value::B(ids))),
        );
        let is_empty = tally.customers.is_empty() && tally.cards.is_empty();
        let key = keys::active(tenant, date, batch);
        (!is_empty).then(|| TransactItem::put_new(Role::Figures, key, item, Failure::StalePlan))
    }
}

/// Ids of 16 bytes each.
fn ids(bytes: &[u8]) -> Option<Vec<Uuid>> {
    bytes.chunks(ID_BYTES).map(|id| Uuid::from_slice(id).ok()).collect()
}
