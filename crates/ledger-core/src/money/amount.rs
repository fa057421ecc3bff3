//! `Amount`: a strictly positive quantity of one asset, made from text or by checked arithmetic only.

pub use inner::Amount;

use super::{Asset, AssetSpec, Balance, Delta, MoneyError, Share, ShareKind, exact_product};
use rust_decimal::Decimal;

/// Why a text is not an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Not of the form `123` or `123.45`.
    #[error("not a decimal number: write digits with an optional point, for example 1240")]
    NotADecimal,
    /// It has an exponent.
    #[error("an exponent is not allowed: write the number out")]
    Exponent,
    /// More decimals than the asset has.
    #[error("too many decimals: this asset has {allowed}")]
    TooManyDecimals {
        /// The number of decimals of the asset.
        allowed: u32,
    },
    /// Zero or less.
    #[error("must be greater than zero")]
    NotPositive,
    /// More than 15 digits before the point.
    #[error("too large: at most 15 digits before the point")]
    TooLarge,
}

/// The only module that can see the fields: even this file must use `positive`.
mod inner {
    use super::Asset;
    use rust_decimal::Decimal;

    /// A strictly positive amount of one asset, as large as a balance may be: of the 28 digits that a `Decimal` holds exactly
    /// (DynamoDB holds 38). What a request names has at most 15 before the point, so that 10^7 of the largest fit on a balance.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct Amount {
        asset: Asset,
        value: Decimal,
    }

    impl Amount {
        // INVARIANT: 0 < value.
        pub(super) fn positive(asset: Asset, value: Decimal) -> Option<Self> {
            (value > Decimal::ZERO).then(|| Self { asset, value: value.normalize() })
        }

        /// The asset.
        #[must_use]
        pub fn asset(&self) -> &Asset {
            &self.asset
        }

        /// The quantity, as an exact decimal greater than zero.
        #[must_use]
        pub fn value(&self) -> Decimal {
            self.value
        }
    }
}

impl Amount {
    /// Parses what a request names: at most 15 digits, then an optional point with no more decimals than the asset has.
    ///
    /// Trailing zeros do not count: `100` and `100.0` are the same amount.
    ///
    /// # Errors
    /// [`AmountError`] if the text is not an amount of the asset.
    pub fn parse(spec: &AssetSpec, text: &str) -> Result<Self, AmountError> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = match digits.split_once('.') {
            Some((_, "")) => return Err(AmountError::NotADecimal),
            Some(parts) => parts,
            None => (digits, ""),
        };
        if digits.bytes().any(|b| b == b'e' || b == b'E') && digits.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(AmountError::Exponent);
        }
        let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let leading_zero = whole.len() > 1 && whole.starts_with('0');
        if whole.is_empty() || leading_zero || !all_digits(whole) || !all_digits(fraction) {
            return Err(AmountError::NotADecimal);
        }
        if negative {
            return Err(AmountError::NotPositive);
        }
        if whole.len() > 15 {
            return Err(AmountError::TooLarge);
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > usize::try_from(spec.scale()).unwrap_or(0) {
            return Err(AmountError::TooManyDecimals { allowed: spec.scale() });
        }
        let plain = if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") };
        let value = Decimal::from_str_exact(&plain).map_err(|_| AmountError::NotADecimal)?;
        Self::positive(spec.asset().clone(), value).ok_or(AmountError::NotPositive)
    }

    /// The canonical form of an amount's text before its asset is known, for a fingerprint.
    ///
    /// # Errors
    /// [`AmountError`] if the text is not an amount of any asset.
    pub fn canonical_text(text: &str) -> Result<String, AmountError> {
        Self::parse(&AssetSpec::FINEST, text).map(|amount| amount.text())
    }

    /// The canonical decimal string.
    #[must_use]
    pub fn text(&self) -> String {
        super::canonical(self.value())
    }

    /// This amount as a balance.
    #[must_use]
    pub fn as_balance(&self) -> Balance {
        Balance::of(self)
    }

    /// The change that adds this amount.
    #[must_use]
    pub fn credit(&self) -> Delta {
        Delta::positive(self)
    }

    /// The change that subtracts this amount.
    #[must_use]
    pub fn debit(&self) -> Delta {
        Delta::negative(self)
    }

    /// The sum.
    ///
    /// # Errors
    /// [`MoneyError`] if the assets differ or the sum is too large.
    pub fn checked_add(&self, other: &Self) -> Result<Self, MoneyError> {
        self.same_asset(other.asset())?;
        let sum = self.value().checked_add(other.value()).ok_or(MoneyError::TooLarge)?;
        Self::positive(self.asset().clone(), sum).ok_or(MoneyError::TooLarge)
    }

    /// The difference, or `None` if it is zero or less.
    ///
    /// # Errors
    /// [`MoneyError`] if the assets differ.
    pub fn checked_sub(&self, other: &Self) -> Result<Option<Self>, MoneyError> {
        self.same_asset(other.asset())?;
        let left = self.value().checked_sub(other.value()).ok_or(MoneyError::TooLarge)?;
        Ok(Self::positive(self.asset().clone(), left))
    }

    /// The smaller of this amount and `limit`, or `None` if that is zero or less.
    ///
    /// # Errors
    /// [`MoneyError`] if the assets differ.
    pub fn at_most(&self, limit: &Balance) -> Result<Option<Self>, MoneyError> {
        self.same_asset(limit.asset())?;
        Ok(Self::positive(self.asset().clone(), self.value().min(limit.value())))
    }

    /// A share of this amount in `into`, rounded down to its decimals, or `None` if that is zero.
    ///
    /// # Errors
    /// [`MoneyError::TooLarge`] if the product cannot be held exactly.
    pub fn share<K: ShareKind>(&self, share: &Share<K>, into: &AssetSpec) -> Result<Option<Self>, MoneyError> {
        let product = exact_product(self.value(), share.rate().value()).ok_or(MoneyError::TooLarge)?;
        Ok(Self::rounded_down(product, into))
    }

    /// `whole x part / total` in the asset of `whole`, rounded down to `spec`'s decimals.
    ///
    /// `None` if the result is zero.
    ///
    /// # Errors
    /// [`MoneyError`] if `part` and `total`, or `whole` and `spec`, differ in asset, or the product cannot be held
    /// exactly.
    pub fn proportion(
        whole: &Self,
        part: &Balance,
        total: &Self,
        spec: &AssetSpec,
    ) -> Result<Option<Self>, MoneyError> {
        total.same_asset(part.asset())?;
        whole.same_asset(spec.asset())?;
        let product = exact_product(whole.value(), part.value()).ok_or(MoneyError::TooLarge)?;
        let share = product.checked_div(total.value()).ok_or(MoneyError::TooLarge)?;
        let share = share.trunc_with_scale(spec.scale());
        // The quotient has 28 digits, so one just below a unit may have been rounded up to it.
        let rounded_up = exact_product(share, total.value()).ok_or(MoneyError::TooLarge)? > product;
        let unit = if rounded_up { Decimal::new(1, spec.scale()) } else { Decimal::ZERO };
        Ok(Self::rounded_down(share.checked_sub(unit).ok_or(MoneyError::TooLarge)?, spec))
    }

    /// The sum of `count` such amounts.
    ///
    /// # Errors
    /// [`MoneyError::TooLarge`] if there is no such amount, or `count` is zero.
    pub fn times(&self, count: usize) -> Result<Self, MoneyError> {
        let product = exact_product(self.value(), Decimal::from(count)).ok_or(MoneyError::TooLarge)?;
        Self::positive(self.asset().clone(), product).ok_or(MoneyError::TooLarge)
    }

    /// The same quantity of another asset at one to one, for example points settled in yen. `None` if `into` has too
    /// few decimals to hold it.
    #[must_use]
    pub fn one_to_one(&self, into: &AssetSpec) -> Option<Self> {
        (self.value().scale() <= into.scale()).then(|| Self::positive(into.asset().clone(), self.value())).flatten()
    }

    /// The amount; `None` if the value is zero or less.
    pub(super) fn of(asset: Asset, value: Decimal) -> Option<Self> {
        Self::positive(asset, value)
    }

    fn rounded_down(value: Decimal, spec: &AssetSpec) -> Option<Self> {
        Self::positive(spec.asset().clone(), value.trunc_with_scale(spec.scale()))
    }

    fn same_asset(&self, other: &Asset) -> Result<(), MoneyError> {
        if self.asset() == other { Ok(()) } else { Err(MoneyError::AssetMismatch) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_parsed_and_invalid_texts_have_their_error() {
        let yen = AssetSpec::ECOPAY;
        let kg = AssetSpec::JCREDIT;
        let cases: &[(&AssetSpec, &str, Result<&str, AmountError>)] = &[
            (&yen, "1240", Ok("1240")),
            (&yen, "100.0", Ok("100")),
            (&yen, "999999999999999", Ok("999999999999999")),
            (&yen, "1000000000000000", Err(AmountError::TooLarge)),
            (&yen, "99999999999999999999999999999999999999999", Err(AmountError::TooLarge)),
            (&yen, "1.5", Err(AmountError::TooManyDecimals { allowed: 0 })),
            (&kg, "0.001", Ok("0.001")),
            (&kg, "1.500", Ok("1.5")),
            (&kg, "0.0001", Err(AmountError::TooManyDecimals { allowed: 3 })),
            (&yen, "0", Err(AmountError::NotPositive)),
            (&yen, "-0.5", Err(AmountError::NotPositive)),
            (&yen, "-0", Err(AmountError::NotPositive)),
            (&yen, "1e3", Err(AmountError::Exponent)),
            (&yen, "1E3", Err(AmountError::Exponent)),
            (&yen, "+1", Err(AmountError::NotADecimal)),
            (&yen, "01", Err(AmountError::NotADecimal)),
            (&yen, ".5", Err(AmountError::NotADecimal)),
            (&yen, "5.", Err(AmountError::NotADecimal)),
            (&yen, "", Err(AmountError::NotADecimal)),
            (&yen, "-", Err(AmountError::NotADecimal)),
            (&yen, "NaN", Err(AmountError::NotADecimal)),
            (&yen, "1 000", Err(AmountError::NotADecimal)),
            (&yen, "１００", Err(AmountError::NotADecimal)),
            (&yen, "0x10", Err(AmountError::NotADecimal)),
        ];
        for (spec, text, want) in cases {
            let got = Amount::parse(spec, text).map(|a| a.text());
            assert_eq!(got.as_deref(), want.as_ref().map(|s| *s), "{text}");
        }
    }

    #[test]
    fn arithmetic_on_different_assets_is_refused() {
        let yen = Amount::parse(&AssetSpec::ECOPAY, "1").unwrap();
        let point = Amount::parse(&AssetSpec::POINT, "1").unwrap();
        assert_eq!(yen.checked_add(&point), Err(MoneyError::AssetMismatch));
        assert_eq!(yen.checked_sub(&point), Err(MoneyError::AssetMismatch));
    }
}
