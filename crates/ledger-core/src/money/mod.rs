//! Money: assets, strictly positive amounts, balances, signed deltas and rates.
//!
//! Everything is parsed from text. Floats are not accepted, and all arithmetic is checked.
//!
//! ```compile_fail
//! use ledger_core::money::{Amount, AssetSpec};
//! let amount: Amount = Amount::from(12.5_f64);
//! ```
//! ```compile_fail
//! use ledger_core::money::{Amount, AssetSpec};
//! let amount = Amount::parse(&AssetSpec::ECOPAY, 12.5_f32);
//! ```

mod amount;
mod asset;
mod quantity;
mod rate;
mod requested;
mod share;

pub use amount::{Amount, AmountError};
pub use asset::{Asset, AssetError, AssetSpec, RegionalKey};
pub use quantity::{Balance, Delta, MoneyError};
pub use rate::{Co2Kg, Rate, RateError};
pub use requested::RequestedAmount;
pub use share::{Charge, Reward, Share, ShareError, ShareKind};

use rust_decimal::Decimal;

/// The canonical decimal string: no exponent, no plus, no trailing zeros, no `-0`.
pub(crate) fn canonical(value: Decimal) -> String {
    let mut value = value.normalize();
    if value.is_zero() {
        value.set_sign_positive(true);
    }
    value.to_string()
}

/// The product, or `None` if a `Decimal` cannot hold it exactly: `checked_mul` alone would round it.
pub(crate) fn exact_product(a: Decimal, b: Decimal) -> Option<Decimal> {
    let product = a.checked_mul(b)?;
    let exact = a.is_zero() || b.is_zero() || Some(product.scale()) == a.scale().checked_add(b.scale());
    exact.then_some(product)
}

/// Parses a number as DynamoDB returns it, possibly with an exponent.
///
/// Only for stored numbers: input is parsed by [`Amount::parse`] and [`Rate::parse`].
pub(crate) fn stored_decimal(number: &str) -> Result<Decimal, MoneyError> {
    // `from_scientific` alone would round the digits before the exponent.
    let (before, _) = number.split_once(['e', 'E']).unwrap_or((number, ""));
    let exact = Decimal::from_str_exact(before).map_err(|_| MoneyError::Unreadable)?;
    if before.len() == number.len() {
        return Ok(exact);
    }
    Decimal::from_scientific(number).map_err(|_| MoneyError::Unreadable)
}

/// The canonical text of a number as DynamoDB returns it, for display.
///
/// # Errors
/// [`MoneyError::Unreadable`] if it is not a decimal that can be held exactly.
pub fn stored_text(number: &str) -> Result<String, MoneyError> {
    stored_decimal(number).map(canonical)
}

/// The first stored number minus the second, as canonical text. Fails if a `Decimal` cannot hold the result exactly,
/// because `checked_sub` alone would round it.
pub(crate) fn difference(this: &str, that: &str) -> Result<String, MoneyError> {
    let (this, that) = (stored_decimal(this)?.normalize(), stored_decimal(that)?.normalize());
    let difference = this.checked_sub(that).ok_or(MoneyError::TooLarge)?;
    if difference.scale() < this.scale().max(that.scale()) {
        return Err(MoneyError::TooLarge);
    }
    Ok(canonical(difference))
}

/// The sum. Fails if a `Decimal` cannot hold it exactly, because `checked_add` alone would round it.
pub(crate) fn exact_sum(this: Decimal, that: Decimal) -> Result<Decimal, MoneyError> {
    let (this, that) = (this.normalize(), that.normalize());
    let sum = this.checked_add(that).ok_or(MoneyError::TooLarge)?;
    if sum.scale() < this.scale().max(that.scale()) {
        return Err(MoneyError::TooLarge);
    }
    Ok(sum)
}
