//! A customer's aggregates: the number and sums of payments and refunds, and the CO2 estimate. They are shown, and no
//! condition reads them.
//!
//! They are kept beside a balance, on an item that the payment or refund changes anyway. The item
//! `METRICS` has those of a legacy model. A customer's figures are the sums over all of these items.

use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::money::{Amount, Co2Kg, canonical, exact_sum, stored_decimal};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// What the name of every aggregate beside a balance begins with. No other attribute of a balance begins so, and none
/// of the legacy model, where `metrics_` marks what belongs to `METRICS`.
pub(crate) const BESIDE_BALANCE: &str = "aggregate_";

/// One of a customer's aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aggregate {
    /// The CO2 estimate in kg, less that of refunds.
    Co2Total,
    /// The number of payments.
    Payments,
    /// The sum of payments.
    PaidTotal,
    /// The number of refunds.
    Refunds,
    /// The sum of refunds.
    RefundedTotal,
}

/// What a payment or refund adds to its customer's aggregates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricsChange {
    /// The amount of a payment, with its CO2 estimate.
    Paid(Amount, Co2Kg),
    /// The amount of a refund, with the CO2 estimate to subtract.
    Refunded(Amount, Co2Kg),
}

/// A customer's aggregates, summed over the items that hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomerMetrics(BTreeMap<Aggregate, Decimal>);

impl Aggregate {
    /// Every aggregate.
    pub const ALL: [Self; 5] = [Self::Co2Total, Self::Payments, Self::PaidTotal, Self::Refunds, Self::RefundedTotal];

    /// The attribute of the item `METRICS`.
    #[must_use]
    pub fn in_metrics(self) -> &'static str {
        match self {
            Self::Co2Total => "co2_total",
            Self::Payments => "payments",
            Self::PaidTotal => "paid_total",
            Self::Refunds => "refunds",
            Self::RefundedTotal => "refunded_total",
        }
    }

    /// The attribute of a balance item.
    #[must_use]
    pub fn beside_balance(self) -> &'static str {
        match self {
            Self::Co2Total => "aggregate_co2_total",
            Self::Payments => "aggregate_payments",
            Self::PaidTotal => "aggregate_paid_total",
            Self::Refunds => "aggregate_refunds",
            Self::RefundedTotal => "aggregate_refunded_total",
        }
    }
}

impl MetricsChange {
    /// The aggregates that change, in the order in which an expression names them: each with the placeholder of its
    /// value in the item `METRICS`, the one beside a balance, and the value.
    pub(crate) fn additions(&self) -> [(Aggregate, &'static str, &'static str, Value); 3] {
        let (count, sum, amount) = match self {
            Self::Paid(amount, _) => (Aggregate::Payments, Aggregate::PaidTotal, amount),
            Self::Refunded(amount, _) => (Aggregate::Refunds, Aggregate::RefundedTotal, amount),
        };
        [
            (Aggregate::Co2Total, "co2", "aggregate_co2", Value::N(self.co2().text())),
            (count, "one", "aggregate_one", Value::int(1)),
            (sum, "amount", "aggregate_amount", Value::N(amount.text())),
        ]
    }

    /// The change of the CO2 estimate.
    pub(crate) fn co2(&self) -> Co2Kg {
        match self {
            Self::Paid(_, co2) => *co2,
            Self::Refunded(_, co2) => co2.inverse(),
        }
    }
}

impl CustomerMetrics {
    /// Sums the aggregates of the `METRICS` item, if there is one, and of all the customer's balance items.
    ///
    /// # Errors
    /// [`ItemError`] if an item is malformed, or a sum cannot be held exactly.
    pub fn read(metrics: Option<&Item>, balances: &[Item]) -> Result<Self, ItemError> {
        let mut sums = BTreeMap::new();
        for aggregate in Aggregate::ALL {
            let beside = balances.iter().map(|item| (item, aggregate.beside_balance()));
            for (item, name) in metrics.map(|item| (item, aggregate.in_metrics())).into_iter().chain(beside) {
                let Some(part) = item.opt_parsed_number(name, stored_decimal)? else { continue };
                let sum: &mut Decimal = sums.entry(aggregate).or_default();
                *sum = exact_sum(*sum, part).map_err(|_| ItemError::invalid(name))?;
            }
        }
        Ok(Self(sums))
    }

    /// The canonical decimal text of a sum; `0` if no item holds the aggregate.
    #[must_use]
    pub fn text(&self, aggregate: Aggregate) -> String {
        canonical(self.0.get(&aggregate).copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::attr;
    use crate::money::{AssetSpec, Rate};

    fn n(number: &str) -> Value {
        Value::N(number.to_owned())
    }

    fn item(attributes: &[(&str, &str)]) -> Item {
        attributes.iter().map(|(name, number)| ((*name).to_owned(), n(number))).collect()
    }

    #[test]
    fn metrics_are_the_sums_over_metrics_and_every_balance() {
        let metrics = item(&[("co2_total", "32.4"), ("payments", "2"), ("paid_total", "3240")]);
        let balances = [
            item(&[(attr::BALANCE, "7"), ("aggregate_co2_total", "-12.4"), ("aggregate_refunded_total", "1240")]),
            item(&[(attr::BALANCE, "5")]),
            item(&[("aggregate_refunds", "1"), ("aggregate_payments", "1"), ("aggregate_co2_total", "0.01")]),
        ];
        let read = CustomerMetrics::read(Some(&metrics), &balances).unwrap();
        let texts = Aggregate::ALL.map(|aggregate| read.text(aggregate));
        assert_eq!(texts, ["20.01", "3", "3240", "1", "1240"]);
        assert_eq!(CustomerMetrics::read(None, &[]).unwrap().text(Aggregate::Payments), "0");
    }

    #[test]
    fn malformed_or_inexact_aggregate_is_refused_by_name() {
        let wrong = Item::from([("aggregate_payments".to_owned(), Value::s("two"))]);
        assert_eq!(CustomerMetrics::read(None, &[wrong]).unwrap_err().attribute, "aggregate_payments");
        let (large, small) = ("79228162514264337593543950335", "0.1");
        let balances = [item(&[("aggregate_paid_total", large)]), item(&[("aggregate_paid_total", small)])];
        assert_eq!(CustomerMetrics::read(None, &balances).unwrap_err().attribute, "aggregate_paid_total");
    }

    #[test]
    fn names_beside_a_balance_are_no_amounts_of_it() {
        for aggregate in Aggregate::ALL {
            let name = aggregate.beside_balance();
            assert_eq!(name.strip_prefix(BESIDE_BALANCE), Some(aggregate.in_metrics()));
        }
        for amount in [attr::BALANCE, attr::HELD, attr::RESERVED, attr::EXPOSURE, attr::OWED] {
            assert!(!amount.starts_with(BESIDE_BALANCE), "{amount}");
        }
    }

    #[test]
    fn refund_subtracts_its_estimate() {
        let amount = Amount::parse(&AssetSpec::ECOPAY, "1240").unwrap();
        let co2 = Rate::parse("0.01").unwrap().co2(&amount).unwrap();
        let change = MetricsChange::Refunded(amount, co2);
        let values = change.additions().map(|(aggregate, _, _, value)| (aggregate.in_metrics(), value));
        assert_eq!(values, [("co2_total", n("-12.4")), ("refunds", n("1")), ("refunded_total", n("1240"))]);
    }
}
