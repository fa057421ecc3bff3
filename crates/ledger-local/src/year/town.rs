//! The people and things of a year, and what is known of their money.

use super::Year;
use super::api::{Api, Till, Token};
use crate::dice::Dice;
use ledger_core::ids::Tenant;
use ledger_core::time::{BusinessDate, Timestamp};
use std::collections::VecDeque;
use stripe_simulator::Simulator;

/// A customer.
#[derive(Debug)]
pub(super) struct Customer {
    pub(super) id: String,
    pub(super) token: Token,
    /// What the customer has at least, in yen.
    pub(super) yen: u64,
    /// What the customer has at least, in points.
    pub(super) points: u64,
    /// What the customer has of the regional currency.
    pub(super) regional: u64,
}

/// A merchant.
#[derive(Debug)]
pub(super) struct Merchant {
    pub(super) id: String,
    pub(super) token: Token,
    pub(super) till: Option<Till>,
    /// The cash that its till took and that was not brought to the operator, in yen.
    pub(super) cash: u64,
    pub(super) is_open: bool,
}

/// A card.
#[derive(Debug)]
pub(super) struct Card {
    pub(super) id: String,
    /// What is on it at least, in yen.
    pub(super) yen: u64,
    pub(super) is_open: bool,
}

/// A payment that can be refunded, captured or voided.
#[derive(Debug)]
pub(super) struct Payment {
    pub(super) id: String,
    pub(super) merchant: usize,
    pub(super) customer: usize,
    pub(super) amount: u64,
}

/// A paid top-up.
#[derive(Debug)]
pub(super) struct Topup {
    pub(super) id: String,
    pub(super) intent: String,
}

/// A town whose people use the programme.
#[derive(Debug)]
pub(super) struct Town {
    pub(super) tenant: Tenant,
    pub(super) api: Api,
    pub(super) simulator: Simulator,
    pub(super) dice: Dice,
    /// The two owners of the operator's staff.
    pub(super) owners: [(String, Token); 2],
    pub(super) customers: Vec<Customer>,
    pub(super) merchants: Vec<Merchant>,
    pub(super) cards: Vec<Card>,
    /// Cards that have no owner and were never loaded.
    pub(super) blank_cards: Vec<String>,
    /// The operator's own terminal, which loads cards for cash.
    pub(super) counter: Option<Till>,
    /// The cash in the counter, in yen.
    pub(super) counter_cash: u64,
    /// Payments in yen that were not refunded, the oldest first.
    pub(super) payments: VecDeque<Payment>,
    /// Payments that are held, each with the time since which it is.
    pub(super) held: VecDeque<(Timestamp, Payment)>,
    /// The top-ups of the customers that do not trade.
    pub(super) kept_topups: Vec<Topup>,
    /// Whether a campaign's grants were requested today: the job grants at night.
    pub(super) is_granting: bool,
    /// The disputes, as Stripe names them.
    pub(super) disputes: Vec<String>,
}

impl Town {
    /// Customers from this one on do not trade: what happens to them is on the year's calendar.
    pub(super) const TRADING: usize = 190;
    /// The number of customers.
    pub(super) const CUSTOMERS: usize = 200;
    /// The number of merchants.
    pub(super) const MERCHANTS: usize = 20;
    /// The merchants that have a till.
    pub(super) const TILLS: usize = 8;
    /// The number of cards that are used.
    pub(super) const CARDS: usize = 60;

    pub(super) fn size(&self) -> String {
        let (customers, merchants, cards) = (self.customers.len(), self.merchants.len(), self.cards.len());
        format!("{customers} customers, {merchants} merchants and {cards} cards")
    }

    /// The token of the first owner, who requests.
    pub(super) fn operator(&self) -> Token {
        self.owners[0].1.clone()
    }

    pub(super) fn left(self, days: (BusinessDate, BusinessDate)) -> Year {
        let [one, two] = self.owners;
        Year {
            tenant: self.tenant,
            owners: [one.0, two.0],
            customers: self.customers.into_iter().map(|customer| customer.id).collect(),
            merchants: self.merchants.into_iter().map(|merchant| merchant.id).collect(),
            cards: self.cards.into_iter().map(|card| card.id).collect(),
            days,
        }
    }
}
