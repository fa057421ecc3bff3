//! Rates that a tenant sets (points per yen, kg of CO2 per yen), and CO2 estimates made with them.

use super::{Amount, MoneyError, canonical, exact_product};
use rust_decimal::Decimal;

/// A tenant's rate: zero to 100, at most six decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(Decimal);

/// A text that is not a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rate is a decimal from 0 to 100 with at most six decimals, for example 0.01")]
pub struct RateError;

/// An estimate in kg of CO2. Not an asset: it is never converted into J-Credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Co2Kg(Decimal);

impl Rate {
    /// Zero: no points, no estimate.
    pub const ZERO: Self = Self(Decimal::ZERO);

    /// Parses a rate.
    ///
    /// # Errors
    /// [`RateError`] if it is not a decimal from 0 to 100 with at most six decimals.
    pub fn parse(text: &str) -> Result<Self, RateError> {
        Self::checked(Decimal::from_str_exact(text).map_err(|_| RateError)?)
    }

    /// Parses a number as DynamoDB returns it.
    ///
    /// # Errors
    /// [`RateError`] if it is not a decimal from 0 to 100 with at most six decimals.
    pub fn from_stored(number: &str) -> Result<Self, RateError> {
        Self::checked(super::stored_decimal(number).map_err(|_| RateError)?)
    }

    fn checked(value: Decimal) -> Result<Self, RateError> {
        let value = value.normalize();
        let fits = value >= Decimal::ZERO && value <= Decimal::ONE_HUNDRED && value.scale() <= 6;
        if fits { Ok(Self(value)) } else { Err(RateError) }
    }

    /// The rate as a decimal.
    #[must_use]
    pub fn value(&self) -> Decimal {
        self.0
    }

    /// The canonical decimal string.
    #[must_use]
    pub fn text(&self) -> String {
        canonical(self.0)
    }

    /// `amount x rate` in kg, exact.
    ///
    /// Nothing is rounded, so partial refunds subtract exactly what the payment added.
    ///
    /// # Errors
    /// [`MoneyError::TooLarge`] if the product does not fit exactly.
    pub fn co2(&self, amount: &Amount) -> Result<Co2Kg, MoneyError> {
        exact_product(amount.value(), self.0).map(Co2Kg).ok_or(MoneyError::TooLarge)
    }
}

impl Co2Kg {
    /// Zero kg.
    pub const ZERO: Self = Self(Decimal::ZERO);

    /// Parses a number as DynamoDB returns it.
    ///
    /// # Errors
    /// [`MoneyError::Unreadable`] if it is not a decimal that can be held exactly.
    pub fn from_stored(number: &str) -> Result<Self, MoneyError> {
        super::stored_decimal(number).map(Self)
    }

    /// The sum.
    ///
    /// # Errors
    /// [`MoneyError::TooLarge`] if it is out of range.
    pub fn checked_add(self, other: Self) -> Result<Self, MoneyError> {
        self.0.checked_add(other.0).map(Self).ok_or(MoneyError::TooLarge)
    }

    /// The negated estimate.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponent_is_accepted_in_stored_numbers_and_refused_in_input() {
        assert_eq!(Rate::from_stored("1E-2"), Rate::parse("0.01"));
        assert_eq!(Rate::parse("1E-2"), Err(RateError));
        assert_eq!(Co2Kg::from_stored("1.24E+1").map(|co2| co2.text()), Ok("12.4".to_owned()));
        for wrong in ["-0.1", "100.1", "0.0000001", "NaN", ""] {
            assert_eq!((Rate::parse(wrong), Rate::from_stored(wrong)), (Err(RateError), Err(RateError)), "{wrong}");
        }
    }
}
