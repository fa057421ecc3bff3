//! Keys of the figures of days.

use super::{Key, Partition};
use crate::ids::{MerchantId, ShopId, Tenant, TerminalId};
use crate::time::BusinessDate;
use std::fmt;

/// The prefix of closed posting days. This and the other prefixes begin with that of jobs.
const CLOSED_DAY: &str = "JOB#day#";
/// The prefix of the totals of a day.
pub(crate) const DAY_TOTALS: &str = "JOB#totals#";
/// The prefix of the lists of accounts that were active on a day.
const ACTIVE: &str = "JOB#active#";

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

    /// What the keys of its totals begin with.
    fn prefix(self) -> String {
        match self {
            Self::Shops(Some(merchant)) => format!("{DAY_TOTALS}shop:{merchant}/"),
            Self::Merchants | Self::Shops(None) | Self::Terminals => format!("{DAY_TOTALS}{}:", self.name()),
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

/// A closed posting day.
#[must_use]
pub fn closed_day(tenant: &Tenant, date: BusinessDate) -> Key {
    Partition::tenant(tenant).item(format!("{CLOSED_DAY}{date}"))
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
    Partition::tenant(tenant).item("JOB#fold")
}

/// The segments of a batch of the fold.
#[must_use]
pub fn folded_batch(tenant: &Tenant, batch: u64) -> Key {
    Partition::tenant(tenant).item(format!("JOB#batch#{batch:010}"))
}

/// The totals of a day.
#[must_use]
pub fn day_totals(tenant: &Tenant, of: TotalsOf, date: BusinessDate) -> Key {
    Partition::tenant(tenant).item(format!("{DAY_TOTALS}{of}#{date}"))
}

/// The smallest and the largest sort key of the totals of days.
#[must_use]
pub fn day_totals_between(of: TotalsOf, from: Option<BusinessDate>, to: BusinessDate) -> (String, String) {
    let low = from.map_or_else(String::new, |from| from.to_string());
    (format!("{DAY_TOTALS}{of}#{low}"), format!("{DAY_TOTALS}{of}#{to}"))
}

/// The smallest and the largest sort key of the totals of a group that sort after those of one of it.
#[must_use]
pub fn day_totals_after(group: TotalsGroup, after: Option<TotalsOf>) -> (String, String) {
    let prefix = group.prefix();
    // Sorts after every date.
    let low = after.map_or_else(|| prefix.clone(), |after| format!("{DAY_TOTALS}{after}#~"));
    (low, format!("{prefix}~"))
}

/// The prefix of the lists of accounts that were active on a day.
#[must_use]
pub fn active_on(date: BusinessDate) -> String {
    format!("{ACTIVE}{date}#")
}

/// The accounts that entries of one batch of the fold changed on a day.
#[must_use]
pub fn active(tenant: &Tenant, date: BusinessDate, batch: u64) -> Key {
    Partition::tenant(tenant).item(format!("{}{batch:010}", active_on(date)))
}
