//! What entries come to: by operation, asset and class of account.

use super::day::{Posted, Span};
use crate::account::{Account, TenantAccount};
use crate::dynamo::{Attributes, Item, ItemError};
use crate::ids::{CardId, CustomerId, MerchantId, PaymentId, Principal, ShopId, TransactionId};
use crate::journal::{JournalEntry, REVERSES, expand};
use crate::keys::TotalsOf;
use crate::money::{Asset, Balance, Delta, MoneyError};
use crate::time::{BusinessDate, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The accounts whose changes are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccountClass {
    /// All customers.
    Customers,
    /// All cards.
    Cards,
    /// All merchants.
    Merchants,
    /// One of the tenant's own accounts.
    Tenant(TenantAccount),
}

/// What is added up by itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// The operation's name; of a reversal `card_reverse:card_pay`, with the operation that it reverses.
    pub operation: String,
    /// The asset.
    pub asset: Asset,
    /// The accounts.
    pub accounts: AccountClass,
}

/// How often accounts changed, and by how much. The changes of one account in one entry are one change, so what is held and
/// what is captured of it are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The number of entries with a change.
    pub count: Count,
    /// The sum of what accounts gained; 0 or more.
    pub gained: Balance,
    /// The sum of what accounts lost; 0 or more.
    pub lost: Balance,
}

/// A number of entries.
pub type Count = u64;

/// Entries by operation, and what they moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// The number of entries by operation.
    pub entries: BTreeMap<String, Count>,
    /// What they moved.
    pub lines: BTreeMap<Line, Moved>,
}

/// What the entries of a day come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayTally {
    /// By what they are of.
    pub sums: BTreeMap<TotalsOf, Sums>,
    /// The instants from which balances have them; `None` without entries.
    pub span: Option<Span>,
    /// The customers whose wallets changed.
    pub customers: BTreeSet<CustomerId>,
    /// The cards that changed.
    pub cards: BTreeSet<CardId>,
}

/// What entries come to, by posting day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(pub BTreeMap<BusinessDate, DayTally>);

/// What figures need of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TalliedEntry {
    /// Its id.
    pub id: TransactionId,
    /// When it was written.
    pub created_at: Timestamp,
    operation: String,
    principal: Option<Principal>,
    /// The payment that it belongs to.
    pub payment: Option<PaymentId>,
    /// The shop of the payment, which the payment's record has.
    pub shop: Option<ShopId>,
    /// The change of each account and asset.
    changes: BTreeMap<(Account, Asset), Delta>,
}

impl TalliedEntry {
    /// The merchants whose balances it changes.
    pub fn merchants(&self) -> impl Iterator<Item = MerchantId> {
        self.changes.keys().filter_map(|(account, _)| match account {
            Account::Merchant(id) => Some(*id),
            Account::Customer(_) | Account::Card(_) | Account::Tenant(_) => None,
        })
    }

    /// How it changes the balance of an account.
    pub fn changes_of(&self, account: Account) -> impl Iterator<Item = (&Asset, &Delta)> {
        self.changes
            .iter()
            .filter(move |((changed, _), _)| *changed == account)
            .map(|((_, asset), delta)| (asset, delta))
    }

    /// Reads a stored entry, in either form.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let item = expand(item)?;
        let entry = JournalEntry::read(&item)?;
        let reverses = item.opt_text(REVERSES)?;
        let posted = entry.postings.iter().map(|p| ((p.account, p.delta.asset().clone()), &p.delta));
        Ok(Self {
            id: entry.id,
            created_at: entry.created_at,
            operation: reverses.map_or(entry.operation.clone(), |reversed| format!("{}:{reversed}", entry.operation)),
            payment: entry.payment_id,
            shop: None,
            // `stripe` and `system` are no principals of keys, and have no totals.
            principal: Principal::parse(item.text("principal")?).ok(),
            changes: crate::account::net(posted).map_err(|_| ItemError::invalid("postings"))?,
        })
    }
}

impl Tally {
    /// Adds an entry where it is posted.
    ///
    /// # Errors
    /// [`MoneyError`] if a sum does not fit.
    pub fn add(&mut self, posted: Posted, entry: &TalliedEntry) -> Result<(), MoneyError> {
        let day = self.0.entry(posted.day).or_default();
        day.span = Some(Span::with(day.span, posted.at));
        day.sums.entry(TotalsOf::Tenant).or_default().add(entry, |_| true)?;
        for account in entry.changes.keys().map(|(account, _)| *account).collect::<BTreeSet<_>>() {
            match account {
                Account::Customer(id) => drop(day.customers.insert(id)),
                Account::Card(id) => drop(day.cards.insert(id)),
                Account::Merchant(id) => {
                    let shop = entry.shop.map(|shop| TotalsOf::Shop(id, shop));
                    for of in [TotalsOf::Merchant(id)].into_iter().chain(shop) {
                        day.sums.entry(of).or_default().add(entry, |changed| changed == account)?;
                    }
                }
                Account::Tenant(_) => {}
            }
        }
        if let Some(Principal::Terminal(id)) = entry.principal {
            let is_holder = |account| matches!(account, Account::Customer(_) | Account::Card(_));
            day.sums.entry(TotalsOf::Terminal(id)).or_default().add(entry, is_holder)?;
        }
        Ok(())
    }
}

impl Sums {
    /// Adds an entry with the changes of these accounts.
    fn add(&mut self, entry: &TalliedEntry, is_of: impl Fn(Account) -> bool) -> Result<(), MoneyError> {
        let count = self.entries.entry(entry.operation.clone()).or_insert(0);
        *count = count.saturating_add(1);
        let mut counted = BTreeSet::new();
        for ((account, asset), delta) in entry.changes.iter().filter(|((account, _), _)| is_of(*account)) {
            let (operation, asset) = (entry.operation.clone(), asset.clone());
            let line = Line { operation, asset: asset.clone(), accounts: AccountClass::of(*account) };
            let is_first = counted.insert(line.clone());
            let moved = self.lines.entry(line).or_insert_with(|| Moved::none(asset));
            moved.count = moved.count.saturating_add(u64::from(is_first));
            let sum = if delta.is_debit() { &mut moved.lost } else { &mut moved.gained };
            *sum = if delta.is_debit() { sum.checked_apply(&delta.inverse())? } else { sum.checked_apply(delta)? };
        }
        Ok(())
    }

    /// Adds other sums.
    ///
    /// # Errors
    /// [`MoneyError`] if a sum does not fit.
    pub fn merge(&mut self, other: &Self) -> Result<(), MoneyError> {
        for (operation, count) in &other.entries {
            let sum = self.entries.entry(operation.clone()).or_insert(0);
            *sum = sum.saturating_add(*count);
        }
        for (line, more) in &other.lines {
            let moved = self.lines.entry(line.clone()).or_insert_with(|| Moved::none(line.asset.clone()));
            moved.add(more)?;
        }
        Ok(())
    }

    /// How the balances of classes of accounts changed. A change of zero is not in it.
    ///
    /// # Errors
    /// [`MoneyError`] if a sum does not fit.
    pub fn changes(&self) -> Result<BTreeMap<(AccountClass, Asset), Delta>, MoneyError> {
        let mut changes = BTreeMap::new();
        for (line, moved) in &self.lines {
            let key = (line.accounts, line.asset.clone());
            let so_far = changes.remove(&key).unwrap_or_else(|| Balance::zero(line.asset.clone()));
            changes.insert(key, so_far.checked_plus(&moved.gained)?.checked_sub(&moved.lost)?);
        }
        Ok(changes.into_iter().filter_map(|(key, sum)| Some((key, sum.as_delta()?))).collect())
    }
}

impl Moved {
    pub(super) fn none(asset: Asset) -> Self {
        Self { count: 0, gained: Balance::zero(asset.clone()), lost: Balance::zero(asset) }
    }

    pub(super) fn add(&mut self, more: &Self) -> Result<(), MoneyError> {
        self.count = self.count.saturating_add(more.count);
        self.gained = self.gained.checked_plus(&more.gained)?;
        self.lost = self.lost.checked_plus(&more.lost)?;
        Ok(())
    }
}

impl AccountClass {
    /// The class of an account.
    #[must_use]
    pub fn of(account: Account) -> Self {
        match account {
            Account::Customer(_) => Self::Customers,
            Account::Card(_) => Self::Cards,
            Account::Merchant(_) => Self::Merchants,
            Account::Tenant(account) => Self::Tenant(account),
        }
    }

    /// Whether its accounts are of those who hold value that the tenant issued: customers and cards.
    #[must_use]
    pub fn is_of_holders(self) -> bool {
        match self {
            Self::Customers | Self::Cards => true,
            Self::Merchants | Self::Tenant(_) => false,
        }
    }

    /// Reads its name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "customers" => Some(Self::Customers),
            "cards" => Some(Self::Cards),
            "merchants" => Some(Self::Merchants),
            own => match Account::parse(own) {
                Ok(Account::Tenant(account)) => Some(Self::Tenant(account)),
                Ok(Account::Customer(_) | Account::Card(_) | Account::Merchant(_)) | Err(_) => None,
            },
        }
    }
}

impl fmt::Display for AccountClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Customers => f.write_str("customers"),
            Self::Cards => f.write_str("cards"),
            Self::Merchants => f.write_str("merchants"),
            Self::Tenant(account) => write!(f, "{}", Account::Tenant(*account)),
        }
    }
}
