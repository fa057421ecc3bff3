//! A tenant's limits, which apply to every account without limits of its own.

use super::own::OwnLimits;
use super::rule::{Holder, LimitChange, LimitKind, LimitPeriod, LimitValue, Rule};
use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::keys::{attr, sk};
use crate::money::{Asset, Balance};
use std::collections::BTreeMap;

/// The attribute of the tenant's configuration.
pub(crate) const ATTRIBUTE: &str = "limits";
/// Its member that says whether an account has limits of its own.
pub(crate) const ACCOUNTS: &str = "accounts";
/// Its member that says whether a merchant above its limit of a day is suspended.
const SUSPENDS: &str = "suspends";
/// Its member that counts the changes of accounts' own limits.
pub(crate) const VERSION: &str = "version";

/// A tenant's limits, and what is known of those of one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitTerms {
    rules: BTreeMap<(Holder, Asset), BTreeMap<Rule, Balance>>,
    /// What is known of the limits of the account that a plan is for.
    account: AccountLimits,
    /// Whether a merchant above its limit of a day is suspended.
    suspends: bool,
    /// How often an account's own limits were changed; `None`: the tenant's configuration has no limits, but a version of its
    /// terms has.
    version: Option<u32>,
}

/// What is known of an account's own limits when its operation is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountLimits {
    /// No account of the tenant has any.
    NoneAnywhere,
    /// They were not read. The plan assumes that there are none, and is stale if there are.
    Unread,
    /// They were read.
    Read(BTreeMap<Asset, OwnLimits>),
}

impl LimitTerms {
    /// Limits without a rule.
    #[must_use]
    pub fn none() -> Self {
        Self { rules: BTreeMap::new(), account: AccountLimits::NoneAnywhere, suspends: false, version: Some(0) }
    }

    /// These limits with one rule of the tenant changed.
    #[must_use]
    pub fn with(mut self, holder: Holder, asset: &Asset, change: &LimitChange) -> Self {
        let rules = self.rules.entry((holder, asset.clone())).or_default();
        match &change.to {
            LimitValue::AtMost(most) => drop(rules.insert(change.rule, most.clone())),
            LimitValue::Unlimited | LimitValue::Default => drop(rules.remove(&change.rule)),
        }
        self.rules.retain(|_, rules| !rules.is_empty());
        self
    }

    /// These limits, with merchants suspended above their limit of a day, or not.
    #[must_use]
    pub fn suspending(self, suspends: bool) -> Self {
        Self { suspends, ..self }
    }

    /// Whether a merchant above its limit of a day is suspended.
    #[must_use]
    pub fn suspends(&self) -> bool {
        self.suspends
    }

    /// What all payments to a merchant may have on a day, by asset.
    #[must_use]
    pub fn volumes(&self) -> BTreeMap<Asset, Balance> {
        let rule = Rule { kind: LimitKind::Pay, period: LimitPeriod::Day };
        let of_merchants = self.rules.iter().filter(|((holder, _), _)| *holder == Holder::Merchant);
        of_merchants.filter_map(|((_, asset), rules)| Some((asset.clone(), rules.get(&rule)?.clone()))).collect()
    }

    /// The number of changes of accounts' own limits.
    pub(crate) fn version(&self) -> u32 {
        self.version.unwrap_or(0)
    }

    /// Whether the tenant's configuration has limits, which say whether accounts have limits of their own.
    pub(crate) fn is_stored(&self) -> bool {
        self.version.is_some()
    }

    /// Whether a plan needs the account's own limits, once one made without them was stale.
    #[must_use]
    pub fn has_own_limits(&self) -> bool {
        self.account != AccountLimits::NoneAnywhere
    }

    /// These limits for an account whose items were read: its balance items, or the card.
    ///
    /// # Errors
    /// [`ItemError`] if the account's own limits are malformed.
    pub fn of_account(&self, items: &[Item]) -> Result<Self, ItemError> {
        let mut own = BTreeMap::new();
        for item in items {
            let asset = asset_of(item)?;
            let limits = OwnLimits::read(item, &asset)?;
            let _ = own.insert(asset, limits);
        }
        Ok(Self { account: AccountLimits::Read(own), ..self.clone() })
    }

    /// What is known of the account's own limits.
    pub(super) fn account(&self) -> &AccountLimits {
        &self.account
    }

    /// The account's own limits in an asset, if they were read and it has any.
    pub(super) fn own(&self, asset: &Asset) -> Option<&OwnLimits> {
        match &self.account {
            AccountLimits::NoneAnywhere | AccountLimits::Unread => None,
            AccountLimits::Read(own) => own.get(asset),
        }
    }

    /// The limit of a rule for the account, as far as it is known; `None` if there is none.
    #[must_use]
    pub fn most(&self, holder: Holder, asset: &Asset, rule: Rule) -> Option<&Balance> {
        match self.own(asset).and_then(|own| own.get(rule)) {
            Some(own) => own,
            None => self.rules(holder, asset)?.get(&rule),
        }
    }

    /// The tenant's own limit of a rule; `None` if there is none.
    #[must_use]
    pub fn rule(&self, holder: Holder, asset: &Asset, rule: Rule) -> Option<&Balance> {
        self.rules(holder, asset)?.get(&rule)
    }

    /// The rules of the tenant that have a limit.
    pub fn rules_of_tenant(&self) -> impl Iterator<Item = (Holder, &Asset, Rule)> {
        self.rules.iter().flat_map(|((holder, asset), rules)| rules.keys().map(move |rule| (*holder, asset, *rule)))
    }

    /// The rules of a holder in an asset.
    pub(super) fn rules(&self, holder: Holder, asset: &Asset) -> Option<&BTreeMap<Rule, Balance>> {
        self.rules.get(&(holder, asset.clone()))
    }

    /// The rules that these holders have in any asset.
    pub(super) fn named(&self, holders: &[Holder]) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(|((of, _), _)| holders.contains(of)).flat_map(|(_, rules)| rules.keys())
    }

    /// The limits of a kind of operation for an account, by period.
    pub(super) fn in_force(&self, account: Account, asset: &Asset, kind: LimitKind) -> Vec<(LimitPeriod, &Balance)> {
        let Some(holder) = Holder::of(account) else { return Vec::new() };
        let most = |period| Some((period, self.most(holder, asset, Rule { kind, period })?));
        LimitPeriod::ALL.into_iter().filter_map(most).collect()
    }

    /// The rules of a holder's accounts with what applies, by asset.
    pub(super) fn all(&self, holder: Holder) -> Vec<(Asset, Rule, &Balance)> {
        let tenant = self.rules.iter().filter(|((of, _), _)| *of == holder);
        let mut named: Vec<(Asset, Rule)> =
            tenant.flat_map(|((_, asset), rules)| rules.keys().map(|rule| (asset.clone(), *rule))).collect();
        if let AccountLimits::Read(own) = &self.account {
            named.extend(own.iter().flat_map(|(asset, own)| own.rules().map(|rule| (asset.clone(), rule))));
        }
        named.sort();
        named.dedup();
        let most = |(asset, rule): (Asset, Rule)| Some((self.most(holder, &asset, rule)?, asset, rule));
        named.into_iter().filter_map(most).map(|(most, asset, rule)| (asset, rule, most)).collect()
    }

    /// Reads the attribute of the tenant's configuration.
    ///
    /// # Errors
    /// [`ItemError`] if it is malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let mut rules = BTreeMap::new();
        for holder in Holder::ALL {
            for (asset, of_asset) in item.opt_map(holder.name())?.into_iter().flatten() {
                let invalid = || ItemError::invalid(holder.name());
                let (asset, Value::M(of_asset)) = (Asset::parse(asset).map_err(|_| invalid())?, of_asset) else {
                    return Err(invalid());
                };
                let read = of_asset.keys().map(|name| {
                    let rule = Rule::parse(name).ok_or_else(|| ItemError::invalid(name))?;
                    Ok((rule, of_asset.balance(name, asset.clone())?))
                });
                let read = read.collect::<Result<BTreeMap<_, _>, ItemError>>()?;
                let _ = rules.insert((holder, asset), read);
            }
        }
        let account = if item.flag(ACCOUNTS)? { AccountLimits::Unread } else { AccountLimits::NoneAnywhere };
        Ok(Self { rules, account, suspends: item.flag(SUSPENDS)?, version: item.opt_int(VERSION)? })
    }

    /// The attribute of the tenant's configuration.
    #[must_use]
    pub fn item(&self) -> Item {
        let mut item = Item::from([
            (ACCOUNTS.to_owned(), Value::Bool(self.has_own_limits())),
            (VERSION.to_owned(), Value::int(self.version().into())),
        ]);
        if self.suspends {
            item.insert(SUSPENDS.to_owned(), Value::Bool(true));
        }
        for holder in Holder::ALL {
            let of_holder = self.rules.iter().filter(|((of, _), _)| *of == holder);
            let assets: Item =
                of_holder.map(|((_, asset), rules)| (asset.to_string(), Value::M(stored(rules)))).collect();
            if !assets.is_empty() {
                item.insert(holder.name().to_owned(), Value::M(assets));
            }
        }
        item
    }
}

fn stored(rules: &BTreeMap<Rule, Balance>) -> Item {
    rules.iter().map(|(rule, most)| (rule.to_string(), Value::N(most.text()))).collect()
}

/// The asset of a balance item, or of a card.
pub(super) fn asset_of(item: &Item) -> Result<Asset, ItemError> {
    let parse = |key: &str| match key.strip_prefix(sk::BALANCE) {
        Some(asset) => Asset::parse(asset),
        None => Ok(Asset::Ecopay),
    };
    item.parsed(attr::SK, parse)
}
