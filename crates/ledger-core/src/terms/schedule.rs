//! The versions of a tenant's terms: those that `CONFIG` has in its own attributes, and those that follow them from a
//! stated time on. Which of the two a request is planned under follows from the request's own time.

use super::{TenantTerms, TermsVersion};
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::form;
use crate::limits;
use crate::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long before its time a version must be stored, and until when it can be cancelled: the 60 seconds for which terms
/// are cached, the longest request twice (the one that stores it, and one that is planned under the version before), and
/// what clocks may differ by.
pub const TERMS_LEAD: Duration = Duration::from_secs(10 * 60);

/// The attributes of `CONFIG` that are terms of the programme. A version has all of them; the others are switches, which
/// hold at once.
const PROGRAMME: [&str; 20] = [
    super::DisplayName::ATTRIBUTE,
    "assets",
    "co2_rate",
    "co2_source",
    "co2_version",
    "points_rate",
    "card_cap",
    "card_bonus_rate",
    "card_pin_above",
    super::cash_bonus::CASH_BONUS,
    super::ceilings::REFUND,
    super::ceilings::CASH,
    "spent_points",
    "topup",
    super::REQUESTS,
    super::HOLD,
    "settlement",
    super::SCHEDULE,
    limits::ATTRIBUTE,
    super::GrantLimits::ATTRIBUTE,
];
/// The attribute of `CONFIG` with the version that follows.
pub(crate) const NEXT: &str = "next_terms";
/// The attribute of `CONFIG` with the last number that was given to a version; absent until the first change.
pub(crate) const LAST: &str = "last_terms_version";
/// The attribute of a stored version with the time from which it holds, and of `CONFIG` with that of its own attributes.
pub(crate) const FROM: &str = "from";
/// As [`FROM`], of the terms in the attributes of `CONFIG`.
pub(crate) const TERMS_FROM: &str = "terms_from";
/// The attribute of a stored version with its terms.
pub(crate) const TERMS: &str = "terms";
/// The attribute of a stored version with its number.
pub(crate) const VERSION: &str = "version";

/// A tenant's terms at every instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermsSchedule {
    /// The terms in the attributes of `CONFIG`.
    own: Arc<TenantTerms>,
    /// From when those hold; `None`: since the tenant was opened.
    own_from: Option<Timestamp>,
    next: Option<NextTerms>,
    last: TermsVersion,
}

/// The version that follows the terms in the attributes of `CONFIG`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextTerms {
    /// The time from which it holds.
    pub from: Timestamp,
    /// The terms, with the switches of `CONFIG`.
    pub terms: Arc<TenantTerms>,
}

impl TermsSchedule {
    /// Reads the `CONFIG` item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or was not written by this crate.
    pub fn read(config: &Item) -> Result<Self, ItemError> {
        form::check_format(config)?;
        let own = TenantTerms::of_attributes(config)?;
        let next = config.opt_map(NEXT)?.map(|next| NextTerms::read(config, next)).transpose()?;
        let last = config.opt_checked_int(LAST, TermsVersion::new)?.unwrap_or(TermsVersion::FIRST);
        Ok(Self { own: Arc::new(own), own_from: config.opt_timestamp(TERMS_FROM)?, next, last })
    }

    /// The terms at an instant.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> &Arc<TenantTerms> {
        match &self.next {
            Some(next) if next.from <= now => &next.terms,
            Some(_) | None => &self.own,
        }
    }

    /// From when the terms at an instant hold; `None`: since the tenant was opened.
    #[must_use]
    pub fn from(&self, now: Timestamp) -> Option<Timestamp> {
        match &self.next {
            Some(next) if next.from <= now => Some(next.from),
            Some(_) | None => self.own_from,
        }
    }

    /// The version that follows those in the attributes of `CONFIG`, whether its time has come or not.
    #[must_use]
    pub fn next(&self) -> Option<&NextTerms> {
        self.next.as_ref()
    }

    /// The version whose time has not come at an instant.
    #[must_use]
    pub fn scheduled(&self, now: Timestamp) -> Option<&NextTerms> {
        self.next.as_ref().filter(|next| now < next.from)
    }

    /// The version that keeps another one from being stored: its time has not come, or a request may still be planned
    /// under the version before it.
    #[must_use]
    pub fn unsettled(&self, now: Timestamp) -> Option<&NextTerms> {
        self.next.as_ref().filter(|next| now < next.from.plus(TERMS_LEAD))
    }

    /// The last number that was given to a version.
    #[must_use]
    pub fn last(&self) -> TermsVersion {
        self.last
    }

    /// Whether a second version was ever stored.
    #[must_use]
    pub fn is_versioned(&self) -> bool {
        self.last != TermsVersion::FIRST
    }
}

impl NextTerms {
    fn read(config: &Item, next: &Item) -> Result<Self, ItemError> {
        let version = next.checked_int(VERSION, TermsVersion::new)?;
        let terms = TenantTerms::of_programme(config, next.map(TERMS)?)?;
        Ok(Self { from: next.timestamp(FROM)?, terms: Arc::new(TenantTerms { version, ..terms }) })
    }

    /// Whether it can still be taken back at an instant: no process may plan under it yet.
    #[must_use]
    pub fn can_be_cancelled(&self, now: Timestamp) -> bool {
        is_ahead(self.from, now)
    }
}

/// Whether an instant is far enough ahead for a version to begin or to be cancelled.
#[must_use]
pub fn is_ahead(from: Timestamp, now: Timestamp) -> bool {
    now.plus(TERMS_LEAD) <= from
}

impl TenantTerms {
    /// Reads the terms that hold at an instant from the `CONFIG` item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or was not written by this crate.
    pub fn read(config: &Item, now: Timestamp) -> Result<Self, ItemError> {
        Ok(TermsSchedule::read(config)?.at(now).as_ref().clone())
    }

    /// The terms of a version, with the switches of `CONFIG`.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub(crate) fn of_programme(config: &Item, terms: &Item) -> Result<Self, ItemError> {
        Self::of_attributes(&with_programme(config, terms))
    }

    /// The terms of the programme, as a version stores them.
    #[must_use]
    pub fn programme(&self) -> Item {
        let mut item = self.item();
        item.retain(|name, _| PROGRAMME.contains(&name.as_str()));
        // What accounts have of their own, and how often limits were changed, is no part of a version.
        if let Some(Value::M(limits)) = item.get_mut(limits::ATTRIBUTE) {
            limits.retain(|name, _| !OF_ACCOUNTS.contains(&name.as_str()));
        }
        item
    }
}

/// The members of the limits in `CONFIG` that are no terms.
const OF_ACCOUNTS: [&str; 2] = [limits::ACCOUNTS, limits::VERSION];

/// A `CONFIG` item with the terms of a version in place of its own.
fn with_programme(config: &Item, terms: &Item) -> Item {
    let is_kept = |name: &str| !PROGRAMME.contains(&name);
    let mut whole: Item =
        config.iter().filter(|(name, _)| is_kept(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
    whole.extend(programme_of(config, terms));
    whole
}

/// The attributes that a version writes into `CONFIG` in place of its own.
fn programme_of(config: &Item, terms: &Item) -> Item {
    let mut attributes = terms.clone();
    if let Some(Value::M(limits)) = attributes.get_mut(limits::ATTRIBUTE)
        && let Some(Value::M(own)) = config.get(limits::ATTRIBUTE)
    {
        let of_accounts = own.iter().filter(|(name, _)| OF_ACCOUNTS.contains(&name.as_str()));
        limits.extend(of_accounts.map(|(name, value)| (name.clone(), value.clone())));
    }
    attributes
}

/// What a version whose time has come writes into `CONFIG`: each attribute of the programme, or `None` where it has none.
pub(crate) fn folded(config: &Item, terms: &TenantTerms) -> BTreeMap<&'static str, Option<Value>> {
    let mut attributes = programme_of(config, &terms.programme());
    if let Some(Value::M(limits)) = attributes.get_mut(limits::ATTRIBUTE) {
        let _ = limits.entry(limits::ACCOUNTS.to_owned()).or_insert(Value::Bool(false));
        let _ = limits.entry(limits::VERSION.to_owned()).or_insert(Value::int(0));
    }
    let of = |name: &'static str| (name, attributes.remove(name));
    let mut all: BTreeMap<_, _> = PROGRAMME.into_iter().map(of).collect();
    // A tenant that never had a schedule has nothing to remove.
    if all.get(super::SCHEDULE).is_some_and(Option::is_none) && !config.contains_key(super::SCHEDULE) {
        all.remove(super::SCHEDULE);
    }
    all
}
