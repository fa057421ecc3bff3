//! Keys of the figures of days.

use super::{Key, Partition};
use crate::ids::{MerchantId, ShopId, Tenant, TerminalId};
use crate::time::BusinessDate;
use std::fmt;

/// The prefix of closed posting days.
pub(crate) const CLOSED_DAY: &str = "DAY#";
/// The prefix of the totals of a day.
pub(crate) const DAY_TOTALS: &str = "TOTALS#";
/// The prefix of the items that list what has totals.
pub(crate) const SUBJECT: &str = "SUBJECT#";
/// The prefix of the lists of accounts that were active on a day.
pub(crate) const ACTIVE: &str = "ACTIVE#";
/// The kind of the partitions of totals.
const TOTALS: &str = "totals";

/// What totals are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TotalsOf {
    /// The whole tenant.
    Tenant,
    /// A merchant's balance.
    Merchant(MerchantId),
    /// A merchant's balance, by the payments of a shop.
    Shop(MerchantId, ShopId),
    /// A terminal's operations.
    Terminal(TerminalId),
}

/// What totals are listed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TotalsGroup {
    /// Those of merchants.
    Merchants,
    /// Those of the shops of every merchant, or of one.
    Shops(Option<MerchantId>),
    /// Those of terminals.
    Terminals,
}

impl TotalsGroup {
    /// The groups of a whole tenant.
    pub const ALL: [Self; 3] = [Self::Merchants, Self::Shops(None), Self::Terminals];

    /// What they are of, in keys and in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Merchants => "merchant",
            Self::Shops(_) => "shop",
            Self::Terminals => "terminal",
        }
    }

    /// Whether the totals of `of` are in it.
    #[must_use]
    pub fn has(self, of: TotalsOf) -> bool {
        match (self, of) {
            (Self::Merchants, TotalsOf::Merchant(_))
            | (Self::Shops(None), TotalsOf::Shop(..))
            | (Self::Terminals, TotalsOf::Terminal(_)) => true,
            (Self::Shops(Some(merchant)), TotalsOf::Shop(of, _)) => merchant == of,
            (Self::Merchants, TotalsOf::Tenant | TotalsOf::Shop(..) | TotalsOf::Terminal(_))
            | (Self::Shops(_), TotalsOf::Tenant | TotalsOf::Merchant(_) | TotalsOf::Terminal(_))
            | (Self::Terminals, TotalsOf::Tenant | TotalsOf::Merchant(_) | TotalsOf::Shop(..)) => false,
        }
    }

    /// The group that lists totals; `None` for those of the tenant, which are in no group.
    fn of(of: TotalsOf) -> Option<Self> {
        match of {
            TotalsOf::Tenant => None,
            TotalsOf::Merchant(_) => Some(Self::Merchants),
            TotalsOf::Shop(..) => Some(Self::Shops(None)),
            TotalsOf::Terminal(_) => Some(Self::Terminals),
        }
    }

    /// What the sort keys of its list begin with.
    pub(crate) fn prefix(self) -> String {
        match self {
            Self::Shops(Some(merchant)) => format!("{SUBJECT}shop:{merchant}/"),
            Self::Merchants | Self::Shops(None) | Self::Terminals => SUBJECT.to_owned(),
        }
    }
}

impl TotalsOf {
    /// Reads the form in keys; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "tenant" {
            return Some(Self::Tenant);
        }
        let (kind, id) = text.split_once(':')?;
        match kind {
            "merchant" => MerchantId::parse(id).ok().map(Self::Merchant),
            "shop" => {
                let (merchant, shop) = id.split_once('/')?;
                Some(Self::Shop(MerchantId::parse(merchant).ok()?, ShopId::parse(shop).ok()?))
            }
            "terminal" => TerminalId::parse(id).ok().map(Self::Terminal),
            _ => None,
        }
    }
}

impl fmt::Display for TotalsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tenant => f.write_str("tenant"),
            Self::Merchant(id) => write!(f, "merchant:{id}"),
            Self::Shop(merchant, id) => write!(f, "shop:{merchant}/{id}"),
            Self::Terminal(id) => write!(f, "terminal:{id}"),
        }
    }
}

impl Partition {
    /// The totals of days of one subject, and of the tenant the closed days.
    #[must_use]
    pub fn totals(tenant: &Tenant, of: TotalsOf) -> Self {
        Self::of(tenant, TOTALS, of)
    }

    /// The list of a group: what has totals, each once.
    #[must_use]
    pub fn totals_group(tenant: &Tenant, group: TotalsGroup) -> Self {
        Self::of(tenant, "totals_of", group.name())
    }

    /// The lists of the accounts that were active on a day.
    #[must_use]
    pub fn active(tenant: &Tenant, date: BusinessDate) -> Self {
        Self::of(tenant, "active", date)
    }
}

/// A closed posting day.
#[must_use]
pub fn closed_day(tenant: &Tenant, date: BusinessDate) -> Key {
    Partition::totals(tenant, TotalsOf::Tenant).item(format!("{CLOSED_DAY}{date}"))
}

/// The smallest and the largest sort key of the closed days of a range, inclusive.
#[must_use]
pub fn closed_days_between(from: Option<BusinessDate>, to: Option<BusinessDate>) -> (String, String) {
    let low = from.map_or_else(|| CLOSED_DAY.to_owned(), |from| format!("{CLOSED_DAY}{from}"));
    // Sorts after every date.
    (low, to.map_or_else(|| format!("{CLOSED_DAY}~"), |to| format!("{CLOSED_DAY}{to}")))
}

/// How far the totals of days are folded.
#[must_use]
pub fn fold(tenant: &Tenant) -> Key {
    Partition::of(tenant, "fold", "root").item("FOLD")
}

/// The segments of a batch of the fold, in a partition of its own.
#[must_use]
pub fn folded_batch(tenant: &Tenant, batch: u64) -> Key {
    Partition::of(tenant, "batch", batch).item("BATCH")
}

/// The totals of a day.
#[must_use]
pub fn day_totals(tenant: &Tenant, of: TotalsOf, date: BusinessDate) -> Key {
    Partition::totals(tenant, of).item(format!("{DAY_TOTALS}{date}"))
}

/// What the totals of a day are of, and the day, by their keys; `None` for any other keys.
#[must_use]
pub fn day_totals_place(partition_key: &str, sort_key: &str) -> Option<(TotalsOf, BusinessDate)> {
    let (kind, of) = partition_key.split_once('#')?.1.split_once('#')?;
    let date = sort_key.strip_prefix(DAY_TOTALS)?;
    let of = TotalsOf::parse(of).filter(|_| kind == TOTALS)?;
    Some((of, BusinessDate::parse(date).ok()?))
}

/// The smallest and the largest sort key of the totals of days.
#[must_use]
pub fn day_totals_between(from: Option<BusinessDate>, to: BusinessDate) -> (String, String) {
    let low = from.map_or_else(String::new, |from| from.to_string());
    (format!("{DAY_TOTALS}{low}"), format!("{DAY_TOTALS}{to}"))
}

/// The item that lists totals in their group; `None` for those of the tenant.
#[must_use]
pub fn has_totals(tenant: &Tenant, of: TotalsOf) -> Option<Key> {
    let group = TotalsGroup::of(of)?;
    Some(Partition::totals_group(tenant, group).item(format!("{SUBJECT}{of}")))
}

/// The accounts that entries of one batch of the fold changed on a day.
#[must_use]
pub fn active(tenant: &Tenant, date: BusinessDate, batch: u64) -> Key {
    Partition::active(tenant, date).item(format!("{ACTIVE}{batch:010}"))
}
