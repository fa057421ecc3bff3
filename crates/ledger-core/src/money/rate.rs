//! Rates that a tenant sets (points per yen, kg of CO2 per yen) and the CO2 estimate that one gives.

use super::{Amount, MoneyError, canonical, exact_product};
use rust_decimal::Decimal;

/// A tenant's rate: zero to 100, at most six decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(Decimal);

/// A text that is no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rate is a decimal from 0 to 100 with at most six decimals, for example 0.01")]
pub struct RateError;

/// An estimate in kg of CO2. Not an asset: it is never converted into J-Credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Co2Kg(Decimal);

impl Rate {
    /// No effect.
    pub const ZERO: Self = Self(Decimal::ZERO);

    /// Reads a rate.
    ///
    /// # Errors
    /// [`RateError`] if it is no decimal or out of its bounds.
    pub fn parse(text: &str) -> Result<Self, RateError> {
        let value = Decimal::from_str_exact(text).map_err(|_| RateError)?.normalize();
        let fits = value >= Decimal::ZERO && value <= Decimal::ONE_HUNDRED && value.scale() <= 6;
        if fits { Ok(Self(value)) } else { Err(RateError) }
    }

    /// The rate.
    #[must_use]
    pub fn value(&self) -> Decimal {
        self.0
    }

    /// The canonical decimal string.
    #[must_use]
    pub fn text(&self) -> String {
        canonical(self.0)
    }

    /// `amount x rate` in kg, exact: a rate has at most six decimals, so nothing is rounded and
    /// partial refunds take off exactly what the payment added.
    ///
    /// # Errors
    /// [`MoneyError::TooLarge`] if the product does not fit exactly.
    pub fn co2(&self, amount: &Amount) -> Result<Co2Kg, MoneyError> {
        exact_product(amount.value(), self.0).map(Co2Kg).ok_or(MoneyError::TooLarge)
    }
}

impl Co2Kg {
    /// None.
    pub const ZERO: Self = Self(Decimal::ZERO);

    /// Reads a number as DynamoDB returns it.
    ///
    /// # Errors
    /// [`MoneyError::Unreadable`] if it is no decimal.
    pub fn from_stored(number: &str) -> Result<Self, MoneyError> {
        Decimal::from_str_exact(number).map(Self).map_err(|_| MoneyError::Unreadable)
    }

    /// The sum.
    ///
    /// # Errors
    /// [`MoneyError::TooLarge`] if it does not fit.
    pub fn checked_add(self, other: Self) -> Result<Self, MoneyError> {
        self.0.checked_add(other.0).map(Self).ok_or(MoneyError::TooLarge)
    }

    /// The estimate that undoes this one.
    #[must_use]
    pub fn inverse(self) -> Self {
        Self(Decimal::ZERO.checked_sub(self.0).unwrap_or(Decimal::ZERO))
    }

    /// The canonical decimal string.
    #[must_use]
    pub fn text(&self) -> String {
        canonical(self.0)
    }
}
