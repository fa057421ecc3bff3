//! The limits of one account that differ from the tenant's, as one text on its item: `pay_day=20000 topup_month=none`.

use super::rule::{Holder, LimitChange, LimitValue, Rule};
use super::terms::LimitTerms;
use crate::dynamo::{Attributes, Item, ItemError};
use crate::money::{Asset, Balance};
use std::collections::BTreeMap;

/// The attribute of a balance item or a card that has them.
pub(crate) const OWN: &str = "limits";

/// An account's own limits in one asset; `None` as a value means no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnLimits(BTreeMap<Rule, Option<Balance>>);

impl OwnLimits {
    /// Reads those of a balance item or a card; none if it has no such attribute.
    ///
    /// # Errors
    /// [`ItemError`] if they are malformed.
    pub fn read(item: &Item, asset: &Asset) -> Result<Self, ItemError> {
        Self::parse(item.opt_text(OWN)?.unwrap_or_default(), asset).ok_or_else(|| ItemError::invalid(OWN))
    }

    /// Parses the stored text; `None` for any other.
    #[must_use]
    pub fn parse(text: &str, asset: &Asset) -> Option<Self> {
        let one = |rule: &str| {
            let (name, value) = rule.split_once('=')?;
            let value = match value {
                "none" => None,
                number => Some(Balance::from_stored(asset.clone(), number).ok()?),
            };
            Some((Rule::parse(name)?, value))
        };
        text.split(' ').filter(|rule| !rule.is_empty()).map(one).collect::<Option<_>>().map(Self)
    }

    /// These limits with one changed.
    #[must_use]
    pub fn with(mut self, change: &LimitChange) -> Self {
        let LimitChange { rule, to } = change;
        match to {
            LimitValue::AtMost(most) => self.0.insert(*rule, Some(most.clone())),
            LimitValue::Unlimited => self.0.insert(*rule, None),
            LimitValue::Default => self.0.remove(rule),
        };
        self
    }

    /// Whether an account with these limits may do more, in one operation, day or month, than with `before`, where
    /// the tenant's `terms` limit it unless it has a limit of its own.
    #[must_use]
    pub fn allow_more_than(&self, before: &Self, terms: &LimitTerms, (holder, asset): (Holder, &Asset)) -> bool {
        let most = |own: &Self, rule: Rule| -> Option<Balance> {
            match own.get(rule) {
                Some(own) => own.cloned(),
                None => terms.rules(holder, asset).and_then(|rules| rules.get(&rule)).cloned(),
            }
        };
        self.rules().chain(before.rules()).any(|rule| match (most(before, rule), most(self, rule)) {
            (Some(_), None) => true,
            (Some(before), Some(after)) => after.value() > before.value(),
            (None, _) => false,
        })
    }

    /// The value of each rule, as a change names it.
    pub fn values(&self) -> impl Iterator<Item = (Rule, String)> + '_ {
        self.0.iter().map(|(rule, most)| (*rule, value(most.as_ref())))
    }

    /// The own limit of a rule; the outer `None` if the account has none and the tenant's applies.
    pub(super) fn get(&self, rule: Rule) -> Option<Option<&Balance>> {
        self.0.get(&rule).map(Option::as_ref)
    }

    /// The rules that the account has limits of its own for.
    pub(super) fn rules(&self) -> impl Iterator<Item = Rule> + '_ {
        self.0.keys().copied()
    }

    /// The stored text; `None` if there are none.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let rules: Vec<String> = self.values().map(|(rule, value)| format!("{rule}={value}")).collect();
        (!rules.is_empty()).then(|| rules.join(" "))
    }
}

fn value(most: Option<&Balance>) -> String {
    most.map_or_else(|| "none".to_owned(), Balance::text)
}
