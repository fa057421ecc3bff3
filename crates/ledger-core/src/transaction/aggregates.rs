//! Changes of a customer's aggregates, in the item `METRICS` or beside a balance.
//!
//! They are no sums of postings. What they may write is fixed here, so that an action that changes a balance stays
//! provably the sum of its postings.

use super::item::Action;
use super::{Role, TransactItem};
use crate::account::Account;
use crate::aggregates::{BESIDE_BALANCE, MetricsChange};
use crate::dynamo::{Item, Update, Value};
use crate::ids::CustomerId;
use crate::keys::{Key, attr, sk};
use crate::time::Timestamp;

/// The attribute of a journal entry that has the change of the CO2 estimate.
const CO2: &str = "co2";

impl TransactItem {
    /// Builds the action on the item `METRICS`, which need not exist.
    pub(crate) fn metrics(key: Key, change: MetricsChange, now: Value) -> Self {
        let additions = change.additions().into_iter();
        let update = additions.fold(Update::new(), |update, (aggregate, placeholder, _, value)| {
            update.add(aggregate.in_metrics(), placeholder, value)
        });
        Self::update(Role::Metrics, key, update.set(attr::UPDATED_AT, "ua", now), Vec::new()).counting(change)
    }

    /// This action without its change of the aggregates beside a balance, and that change as an action on the item
    /// `METRICS`; `None` if it changes none there.
    pub(crate) fn with_aggregates_apart(&self, metrics: Key) -> Option<(Self, Self)> {
        let (Action::Update(update), Some(change)) = (&self.action, self.aggregates()) else { return None };
        if !self.counts_beside_balance() {
            return None;
        }
        let now = update.set_to(attr::UPDATED_AT)?.clone();
        let apart = Self::metrics(metrics, change.clone(), now);
        let rest = self.clone().changing(|update| update.without(|name| name.starts_with(BESIDE_BALANCE)));
        Some((rest.not_counting(), apart))
    }

    /// Adds a change of the aggregates beside the balance that this action changes or checks. Its guards stay as they
    /// are.
    pub(crate) fn with_aggregates(self, change: MetricsChange, now: Timestamp) -> Self {
        let additions = change.additions().into_iter();
        let item = self.changing(|update| {
            let update = if update.is_empty() { update.set(attr::UPDATED_AT, "ua", Value::s(now)) } else { update };
            additions.fold(update, |update, (aggregate, _, placeholder, value)| {
                update.add(aggregate.beside_balance(), placeholder, value)
            })
        });
        item.counting(change)
    }

    /// Whether this is an action on a balance item of the customer.
    pub(crate) fn is_on_balance_of(&self, customer: CustomerId) -> bool {
        self.key().customer() == Some(customer) && self.key().sk().starts_with(sk::BALANCE)
    }

    /// Whether it changes aggregates beside a balance.
    pub(super) fn counts_beside_balance(&self) -> bool {
        self.aggregates().is_some() && self.role() != Role::Metrics
    }

    /// Whether it writes aggregates otherwise than its change of them says: none without a change, and with one exactly
    /// its additions.
    pub(super) fn has_unstated_aggregates(&self) -> bool {
        let beside = |name: &str| name.starts_with(BESIDE_BALANCE);
        match (self.aggregates(), &self.action) {
            (None, Action::Check) => false,
            (None, Action::Put(item)) => item.keys().any(|name| beside(name)),
            (None, Action::Update(update)) => update.attributes().any(beside),
            (Some(_), Action::Check | Action::Put(_)) => true,
            (Some(change), Action::Update(update)) => {
                let is_of_metrics = self.role() == Role::Metrics;
                let additions = change.additions();
                let stated = additions.iter().map(|(aggregate, _, _, value)| match is_of_metrics {
                    true => (aggregate.in_metrics(), value),
                    false => (aggregate.beside_balance(), value),
                });
                let is_added = |(name, value): (&str, &Value)| update.added(name) == (Some(value), false);
                let written = update.attributes().filter(|name| beside(name)).count();
                let expected = if is_of_metrics { 0 } else { additions.len() };
                !stated.into_iter().all(is_added) || written != expected
            }
        }
    }
}

/// Whether the actions change the aggregates as the entry says: once, by the entry's CO2 and in the customer's own
/// partition, if the entry is a customer's and has CO2, as those of payments and refunds have. Else not at all.
pub(super) fn are_as_the_entry_says(home: Account, details: &Item, items: &[TransactItem]) -> bool {
    let mut changes = items.iter().filter_map(|item| Some((item.key().customer(), item.aggregates()?)));
    let customer = match home {
        Account::Customer(customer) => Some(customer),
        Account::Card(_) | Account::Merchant(_) | Account::Tenant(_) => None,
    };
    let right = match (customer.zip(details.get(CO2)), changes.next()) {
        (None, None) => true,
        (Some((customer, co2)), Some((of, change))) => of == Some(customer) && *co2 == Value::N(change.co2().text()),
        (Some(_), None) | (None, Some(_)) => false,
    };
    right && changes.next().is_none()
}
