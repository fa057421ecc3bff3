//! Terms with limits, for tests.

use ledger_core::dynamo::Value;
use ledger_core::limits::{Holder, LimitChange, LimitTerms};
use ledger_core::money::{Asset, AssetSpec};

/// Limits in yen: holder and rule, `("customer", "pay_day=1000")`.
///
/// # Panics
/// When a rule is malformed.
#[must_use]
pub fn limits(rules: &[(&str, &str)]) -> LimitTerms {
    rules.iter().fold(LimitTerms::none(), |terms, (holder, rule)| {
        let holder = Holder::parse(holder).expect("a holder");
        let change = LimitChange::parse(holder, &AssetSpec::ECOPAY, rule).expect("a rule");
        terms.with(holder, &Asset::Ecopay, &change)
    })
}

/// The same for a tenant in which some account has limits of its own.
///
/// # Panics
/// When a rule is malformed.
#[must_use]
pub fn overridable(rules: &[(&str, &str)]) -> LimitTerms {
    let mut item = limits(rules).item();
    item.insert("accounts".to_owned(), Value::Bool(true));
    LimitTerms::read(&item).expect("limits")
}
