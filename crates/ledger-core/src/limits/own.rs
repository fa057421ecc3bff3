//! The limits of one account that differ from the tenant's, as one text on its item: `pay_day=20000 topup_month=none`.

use super::rule::{LimitChange, LimitValue, Rule};
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
        let text = item.opt_text(OWN)?.unwrap_or_default();
        let one = |rule: &str| {
            let (name, value) = rule.split_once('=')?;
            let value = match value {
                "none" => None,
                number => Some(Balance::from_stored(asset.clone(), number).ok()?),
            };
            Some((Rule::parse(name)?, value))
        };
        let rules = text.split(' ').filter(|rule| !rule.is_empty()).map(one).collect::<Option<_>>();
        rules.map(Self).ok_or_else(|| ItemError::invalid(OWN))
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
        let value = |most: &Option<Balance>| most.as_ref().map_or_else(|| "none".to_owned(), Balance::text);
        let rules: Vec<String> = self.0.iter().map(|(rule, most)| format!("{rule}={}", value(most))).collect();
        (!rules.is_empty()).then(|| rules.join(" "))
    }
}
