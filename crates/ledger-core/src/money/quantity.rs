//! Balances, and the changes that postings make to them.

use super::{Amount, Asset, canonical};
use rust_decimal::Decimal;

/// An operation on money without a valid result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// The operands are of different assets.
    #[error("two different assets cannot be added or compared")]
    AssetMismatch,
    /// The result is out of range.
    #[error("the amount is too large")]
    TooLarge,
    /// A stored number cannot be read.
    #[error("a stored quantity is not a decimal number")]
    Unreadable,
}

/// A quantity of an asset: zero or more for wallets; accounts of merchants and of the tenant may be negative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balance {
    asset: Asset,
    value: Decimal,
}

/// A signed change of an account, never zero: one side of a double entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    asset: Asset,
    value: Decimal,
}

impl Balance {
    /// Zero of an asset.
    #[must_use]
    pub fn zero(asset: Asset) -> Self {
        Self { asset, value: Decimal::ZERO }
    }

    pub(super) fn of(amount: &Amount) -> Self {
        Self { asset: amount.asset().clone(), value: amount.value() }
    }

    /// Parses a number as DynamoDB returns it.
    ///
    /// # Errors
    /// [`MoneyError::Unreadable`] if it is not a decimal that can be held exactly.
    pub fn from_stored(asset: Asset, number: &str) -> Result<Self, MoneyError> {
        Ok(Self { asset, value: super::stored_decimal(number)? })
    }

    /// The asset.
    #[must_use]
    pub fn asset(&self) -> &Asset {
        &self.asset
    }

    /// The quantity.
    #[must_use]
    pub fn value(&self) -> Decimal {
        self.value
    }

    /// The canonical decimal string.
    #[must_use]
    pub fn text(&self) -> String {
        canonical(self.value)
    }

    /// This quantity as an amount, or `None` if it is zero or less.
    #[must_use]
    pub fn as_amount(&self) -> Option<Amount> {
        Amount::of(self.asset.clone(), self.value)
    }

    /// This quantity with at most `scale` decimals, rounded towards zero.
    #[must_use]
    pub fn truncated(&self, scale: u32) -> Self {
        Self { asset: self.asset.clone(), value: self.value.trunc_with_scale(scale) }
    }

    /// Half of this quantity, rounded up to a whole number.
    #[must_use]
    pub fn half_rounded_up(&self) -> Self {
        let half = self.value.checked_div(Decimal::TWO).unwrap_or(self.value);
        Self { asset: self.asset.clone(), value: half.ceil() }
    }

    /// This quantity as a change from zero, or `None` if it is zero.
    #[must_use]
    pub fn as_delta(&self) -> Option<Delta> {
        (!self.value.is_zero()).then(|| Delta { asset: self.asset.clone(), value: self.value })
    }

    /// The same quantity of another asset at one to one, with its sign.
    #[must_use]
    pub fn counted_as(&self, asset: Asset) -> Self {
        Self { asset, value: self.value }
    }

    /// This quantity plus a change.
    ///
    /// # Errors
    /// [`MoneyError`] if the assets differ or the result is out of range.
    pub fn checked_apply(&self, delta: &Delta) -> Result<Self, MoneyError> {
        if self.asset != delta.asset {
            return Err(MoneyError::AssetMismatch);
        }
        let value = self.value.checked_add(delta.value).ok_or(MoneyError::TooLarge)?;
        Ok(Self { asset: self.asset.clone(), value })
    }

    /// The sum.
    ///
    /// # Errors
    /// [`MoneyError`] if the assets differ or the result is out of range.
    pub fn checked_plus(&self, other: &Self) -> Result<Self, MoneyError> {
        if self.asset != other.asset {
            return Err(MoneyError::AssetMismatch);
        }
        let value = self.value.checked_add(other.value).ok_or(MoneyError::TooLarge)?;
        Ok(Self { asset: self.asset.clone(), value })
    }

    /// This minus `other`.
    ///
    /// # Errors
    /// [`MoneyError`] if the assets differ or the result is out of range.
    pub fn checked_sub(&self, other: &Self) -> Result<Self, MoneyError> {
        if self.asset != other.asset {
            return Err(MoneyError::AssetMismatch);
        }
        let value = self.value.checked_sub(other.value).ok_or(MoneyError::TooLarge)?;
        Ok(Self { asset: self.asset.clone(), value })
    }
}

impl Delta {
    pub(super) fn positive(amount: &Amount) -> Self {
        Self { asset: amount.asset().clone(), value: amount.value() }
    }

    pub(super) fn negative(amount: &Amount) -> Self {
        let mut value = amount.value();
        value.set_sign_negative(true);
        Self { asset: amount.asset().clone(), value }
    }

    /// Parses a number as DynamoDB returns it.
    ///
    /// # Errors
    /// [`MoneyError::Unreadable`] if it is zero, or not a decimal that can be held exactly.
    pub fn from_stored(asset: Asset, number: &str) -> Result<Self, MoneyError> {
        let balance = Balance::from_stored(asset, number)?;
        if balance.value.is_zero() {
            return Err(MoneyError::Unreadable);
        }
        Ok(Self { asset: balance.asset, value: balance.value })
    }

    /// The sum of two changes, or `None` if it is zero.
    ///
    /// # Errors
    /// [`MoneyError`] if the assets differ or the sum is out of range.
    pub fn checked_add(&self, other: &Self) -> Result<Option<Self>, MoneyError> {
        let sum = Balance { asset: self.asset.clone(), value: self.value }.checked_apply(other)?;
        Ok((!sum.value.is_zero()).then_some(Self { asset: sum.asset, value: sum.value }))
    }

    /// The change that undoes this one.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut value = self.value;
        value.set_sign_negative(self.value.is_sign_positive());
        Self { asset: self.asset.clone(), value }
    }

    /// The asset.
    #[must_use]
    pub fn asset(&self) -> &Asset {
        &self.asset
    }

    /// The signed change.
    #[must_use]
    pub fn value(&self) -> Decimal {
        self.value
    }

    /// Whether the change is negative.
    #[must_use]
    pub fn is_debit(&self) -> bool {
        self.value.is_sign_negative()
    }

    /// The absolute value of the change; `None` if it is not a valid amount.
    #[must_use]
    pub fn size(&self) -> Option<Amount> {
        Amount::of(self.asset.clone(), self.value.abs())
    }

    /// The canonical decimal string, with a minus if the change is negative.
    #[must_use]
    pub fn text(&self) -> String {
        canonical(self.value)
    }
}
