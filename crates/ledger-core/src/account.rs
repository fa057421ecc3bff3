//! The accounts of the books and the double entry: postings that sum to zero per asset.

use crate::ids::{CardId, CustomerId, IdError, MerchantId};
use crate::money::{Asset, Delta, MoneyError};
use crate::words::words;
use std::collections::BTreeMap;
use std::fmt;

/// An account of a tenant's books.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    /// A customer's wallet; its balance items move with each posting.
    Customer(CustomerId),
    /// A stored-value card; its balance moves with each posting.
    Card(CardId),
    /// A merchant; its balance item is a projection that a worker brings up to date.
    Merchant(MerchantId),
    /// The tenant's own accounts: no balance item, their totals are folded from the journal.
    Tenant(TenantAccount),
}

/// The tenant's own accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TenantAccount {
    /// Money on its way from and to Stripe.
    StripeClearing,
    /// Cash taken and paid at terminals.
    CashClearing,
    /// Value that the tenant issues: points, regional currency and bonuses.
    PointsIssued,
    /// Fees.
    Fees,
    /// The other side of adjustments.
    Adjustments,
    /// Value that lapsed.
    Breakage,
    /// Disputed charges.
    Disputes,
    /// Credits to closed accounts.
    Unclaimed,
    /// Money on its way to merchants' bank accounts: what settlements booked, until the bank has debited it.
    BankClearing,
    /// What the bank has paid from the tenant's account.
    Bank,
    /// Consumption tax on fees. Collected for the state, so kept apart from the fee income.
    ConsumptionTax,
    /// Money that the payment provider moved otherwise than the books expect, until its cause is known.
    Suspense,
    /// The other side of the balances that customers brought from a legacy model.
    OpeningBalances,
}

impl Account {
    /// Whether a balance item changes in the same transaction as a posting to this account, for every operation.
    /// A merchant's item changes so for settlements only ([`crate::operation::Operation::MOVING_MERCHANTS`]).
    #[must_use]
    pub fn has_balance_item(&self) -> bool {
        match self {
            Self::Customer(_) | Self::Card(_) => true,
            Self::Merchant(_) | Self::Tenant(_) => false,
        }
    }

    /// Reads the journal's form, for example `customer:<id>` or `cash_clearing`.
    ///
    /// # Errors
    /// [`IdError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        use TenantAccount as T;
        if let Some((kind, id)) = text.split_once(':') {
            return match kind {
                "customer" => CustomerId::parse(id).map(Self::Customer),
                "card" => CardId::parse(id).map(Self::Card),
                "merchant" => MerchantId::parse(id).map(Self::Merchant),
                _ => Err(IdError),
            };
        }
        [
            T::StripeClearing,
            T::CashClearing,
            T::PointsIssued,
            T::Fees,
            T::Adjustments,
            T::Breakage,
            T::Disputes,
            T::Unclaimed,
            T::BankClearing,
            T::Bank,
            T::ConsumptionTax,
            T::OpeningBalances,
            T::Suspense,
        ]
        .into_iter()
        .map(Self::Tenant)
        .find(|account| account.to_string() == text)
        .ok_or(IdError)
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Customer(id) => write!(f, "customer:{id}"),
            Self::Card(id) => write!(f, "card:{id}"),
            Self::Merchant(id) => write!(f, "merchant:{id}"),
            Self::Tenant(account) => account.fmt(f),
        }
    }
}

impl fmt::Display for TenantAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StripeClearing => "stripe_clearing",
            Self::CashClearing => "cash_clearing",
            Self::PointsIssued => "points_issued",
            Self::Fees => "fees",
            Self::Adjustments => "adjustments",
            Self::Breakage => "breakage",
            Self::Disputes => "disputes",
            Self::Unclaimed => "unclaimed",
            Self::BankClearing => "bank_clearing",
            Self::Bank => "bank",
            Self::ConsumptionTax => "consumption_tax",
            Self::OpeningBalances => "opening_balances",
            Self::Suspense => "suspense",
        })
    }
}

words! {
    /// Which part of an account's balance item a posting changes. The balance in the books is the sum of both parts.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Bucket {
        /// What may be spent: `balance`.
        #[default]
        Available = "available",
        /// What is reserved for a hold or an outflow: `held`.
        Held = "held",
    }
}

/// One side of a double entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posting {
    /// The account that changes.
    pub account: Account,
    /// The part of the account's balance that changes.
    pub bucket: Bucket,
    /// The signed change.
    pub delta: Delta,
}

impl Posting {
    /// A posting to the available part.
    #[must_use]
    pub fn new(account: Account, delta: Delta) -> Self {
        Self { account, bucket: Bucket::Available, delta }
    }

    /// A posting to the held part.
    #[must_use]
    pub fn held(account: Account, delta: Delta) -> Self {
        Self { account, bucket: Bucket::Held, delta }
    }
}

/// The sum of signed changes per key; a key whose changes cancel out is absent.
///
/// # Errors
/// [`MoneyError`] if a sum does not fit.
pub fn net<'a, K: Ord>(changes: impl IntoIterator<Item = (K, &'a Delta)>) -> Result<BTreeMap<K, Delta>, MoneyError> {
    let mut sums = BTreeMap::<K, Delta>::new();
    for (key, delta) in changes {
        let sum = match sums.remove(&key) {
            Some(so_far) => so_far.checked_add(delta)?,
            None => Some(delta.clone()),
        };
        if let Some(sum) = sum {
            sums.insert(key, sum);
        }
    }
    Ok(sums)
}

/// The assets whose postings do not sum to zero.
///
/// # Errors
/// [`MoneyError`] if a sum does not fit.
pub fn unbalanced(postings: &[Posting]) -> Result<Vec<Asset>, MoneyError> {
    net(postings.iter().map(|p| (p.delta.asset().clone(), &p.delta))).map(|sums| sums.into_keys().collect())
}
