//! What a balance holds and by how much a posting changes it.

use super::{Amount, Asset, canonical};
use rust_decimal::Decimal;

/// Arithmetic on money that has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// Two different assets met.
    #[error("two different assets cannot be added or compared")]
    AssetMismatch,
    /// The result does not fit.
    #[error("the amount is too large")]
    TooLarge,
    /// A stored number cannot be read.
    #[error("a stored quantity is not a decimal number")]
    Unreadable,
}

/// A quantity that stands somewhere: zero or more for wallets; merchants and the tenant's own
/// accounts may stand below zero.
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
    /// Nothing of an asset.
    #[must_use]
    pub fn zero(asset: Asset) -> Self {
        Self { asset, value: Decimal::ZERO }
    }

    pub(super) fn of(amount: &Amount) -> Self {
        Self { asset: amount.asset().clone(), value: amount.value() }
    }

    /// Reads a number as DynamoDB returns it.
    ///
    /// # Errors
    /// [`MoneyError::Unreadable`] if it is no decimal that can be held exactly.
    pub fn from_stored(asset: Asset, number: &str) -> Result<Self, MoneyError> {
        Ok(Self { asset, value: super::stored_decimal(number)? })
    }

    /// What is counted.
    #[must_use]
    pub fn asset(&self) -> &Asset {
        &self.asset
    }

    /// How much.
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

    /// This quantity with so many decimals, what is finer cut off: towards zero.
    #[must_use]
    pub fn truncated(&self, scale: u32) -> Self {
        Self { asset: self.asset.clone(), value: self.value.trunc_with_scale(scale) }
    }

    /// The change that makes this quantity of nothing, or `None` if it is nothing.
    #[must_use]
    pub fn as_delta(&self) -> Option<Delta> {
        (!self.value.is_zero()).then(|| Delta { asset: self.asset.clone(), value: self.value })
    }

    /// The same quantity counted as another asset at one to one, its sign kept.
    #[must_use]
    pub fn counted_as(&self, asset: Asset) -> Self {
        Self { asset, value: self.value }
    }

    /// The quantity after a change.
    ///
    /// # Errors
    /// [`MoneyError`] if the assets differ or the result does not fit.
    pub fn checked_apply(&self, delta: &Delta) -> Result<Self, MoneyError> {
        if self.asset != delta.asset {
            return Err(MoneyError::AssetMismatch);
        }
        let value = self.value.checked_add(delta.value).ok_or(MoneyError::TooLarge)?;
        Ok(Self { asset: self.asset.clone(), value })
    }

    /// This and `other` together.
    ///
    /// # Errors
    /// [`MoneyError`] if the assets differ or the result does not fit.
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
    /// [`MoneyError`] if the assets differ or the result does not fit.
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

    /// Reads a number as DynamoDB returns it.
    ///
    /// # Errors
    /// [`MoneyError::Unreadable`] if it is zero or no decimal that can be held exactly.
    pub fn from_stored(asset: Asset, number: &str) -> Result<Self, MoneyError> {
        let balance = Balance::from_stored(asset, number)?;
        if balance.value.is_zero() {
            return Err(MoneyError::Unreadable);
        }
        Ok(Self { asset: balance.asset, value: balance.value })
    }

    /// The change of two together, or `None` if they cancel out.
    ///
    /// # Errors
    /// [`MoneyError`] if the assets differ or the sum does not fit.
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

    /// What is counted.
    #[must_use]
    pub fn asset(&self) -> &Asset {
        &self.asset
    }

    /// The signed change.
    #[must_use]
    pub fn value(&self) -> Decimal {
        self.value
    }

    /// Whether it takes.
    #[must_use]
    pub fn is_debit(&self) -> bool {
        self.value.is_sign_negative()
    }

    /// How much changes, whichever way.
    #[must_use]
    pub fn size(&self) -> Option<Amount> {
        Amount::of(self.asset.clone(), self.value.abs())
    }

    /// The canonical decimal string, with a minus when it takes.
    #[must_use]
    pub fn text(&self) -> String {
        canonical(self.value)
    }
}
