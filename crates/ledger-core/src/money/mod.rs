//! Money: assets, strictly positive amounts, balances, signed deltas and rates.
//! Everything is parsed from text; a float cannot get in, and no operator can overflow unseen.
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

pub use amount::{Amount, AmountError};
pub use asset::{Asset, AssetError, AssetSpec, RegionalKey};
pub use quantity::{Balance, Delta, MoneyError};
pub use rate::{Co2Kg, Rate, RateError};
pub use requested::RequestedAmount;

use rust_decimal::Decimal;

/// The one canonical decimal string: no exponent, no plus, no trailing zeros, no `-0`.
pub(crate) fn canonical(value: Decimal) -> String {
    let mut value = value.normalize();
    if value.is_zero() {
        value.set_sign_positive(true);
    }
    value.to_string()
}

/// The product, or `None` if it has more digits than a `Decimal` holds: `checked_mul` alone would
/// round it.
pub(crate) fn exact_product(a: Decimal, b: Decimal) -> Option<Decimal> {
    let product = a.checked_mul(b)?;
    let exact = a.is_zero() || b.is_zero() || Some(product.scale()) == a.scale().checked_add(b.scale());
    exact.then_some(product)
}

/// A number as DynamoDB returns it, which may be written with an exponent. Only what is stored is read
/// so: input goes through [`Amount::parse`] and [`Rate::parse`].
pub(crate) fn stored_decimal(number: &str) -> Result<Decimal, MoneyError> {
    // `from_scientific` alone would round what stands before the exponent.
    let (before, _) = number.split_once(['e', 'E']).unwrap_or((number, ""));
    let exact = Decimal::from_str_exact(before).map_err(|_| MoneyError::Unreadable)?;
    if before.len() == number.len() {
        return Ok(exact);
    }
    Decimal::from_scientific(number).map_err(|_| MoneyError::Unreadable)
}

/// The canonical text of a number as DynamoDB returns it, for showing it.
///
/// # Errors
/// [`MoneyError::Unreadable`] if it is no decimal that can be held exactly.
pub fn stored_text(number: &str) -> Result<String, MoneyError> {
    stored_decimal(number).map(canonical)
}

/// What one stored number has more than another, as canonical text. More digits than a `Decimal` holds are too many:
/// `checked_sub` alone would round them.
pub(crate) fn difference(this: &str, that: &str) -> Result<String, MoneyError> {
    let (this, that) = (stored_decimal(this)?.normalize(), stored_decimal(that)?.normalize());
    let difference = this.checked_sub(that).ok_or(MoneyError::TooLarge)?;
    if difference.scale() < this.scale().max(that.scale()) {
        return Err(MoneyError::TooLarge);
    }
    Ok(canonical(difference))
}
