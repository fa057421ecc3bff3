//! `RequestedAmount`: an amount of a request, before the tenant's terms are read.
//!
//! The fingerprint of a retry must not depend on the terms, which may no longer have the asset. So nothing here does.

use super::{Amount, AmountError, Asset, AssetSpec, Delta};
use rust_decimal::Decimal;

/// A strictly positive amount of an asset, with at most as many decimals as any tenant may give the asset.
///
/// [`Self::in_scale`] makes an [`Amount`] of it when the tenant's number of decimals is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedAmount(Amount);

impl RequestedAmount {
    /// Parses an amount.
    ///
    /// # Errors
    /// [`AmountError`] if no tenant could accept it.
    pub fn parse(asset: Asset, text: &str) -> Result<Self, AmountError> {
        Amount::parse(&AssetSpec::finest(asset), text).map(Self)
    }

    /// The asset.
    #[must_use]
    pub fn asset(&self) -> &Asset {
        self.0.asset()
    }

    /// The canonical decimal string, equal to that of the [`Amount`].
    #[must_use]
    pub fn text(&self) -> String {
        self.0.text()
    }

    /// The canonical text of a change by this amount: `delta_of` is [`Amount::credit`] or [`Amount::debit`].
    #[must_use]
    pub fn change_text(&self, delta_of: fn(&Amount) -> Delta) -> String {
        delta_of(&self.0).text()
    }

    /// The amount, if the asset of `spec` allows its decimals.
    ///
    /// # Errors
    /// [`AmountError::TooManyDecimals`] if it has more decimals than `spec` allows.
    pub fn in_scale(&self, spec: &AssetSpec) -> Result<Amount, AmountError> {
        let allowed = if self.asset() == spec.asset() { spec.scale() } else { 0 };
        if self.0.value().scale() > allowed {
            return Err(AmountError::TooManyDecimals { allowed });
        }
        Ok(self.0.clone())
    }

    /// The value, whatever the asset is.
    pub(crate) fn value(&self) -> Decimal {
        self.0.value()
    }

    /// The difference by value, whatever the assets are; `None` if it is zero or less.
    pub(crate) fn less(&self, other: &Self) -> Option<Self> {
        let left = self.0.value().checked_sub(other.0.value())?;
        Amount::of(self.asset().clone(), left).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::RegionalKey;

    #[test]
    fn requested_amounts_are_compared_by_value_before_the_scale_is_known() {
        let aoba = RegionalKey::parse("aoba").unwrap();
        let parse = |text| RequestedAmount::parse(Asset::Regional(aoba.clone()), text);
        assert_eq!(parse("2.50").unwrap(), parse("2.5").unwrap());
        assert_eq!(parse("2.50").unwrap().text(), "2.5");
        let spec = |scale| AssetSpec::regional(aoba.clone(), scale).unwrap();
        assert_eq!(parse("2.50").unwrap().in_scale(&spec(1)), Amount::parse(&spec(1), "2.5"));
        assert_eq!(parse("2.5").unwrap().in_scale(&spec(0)), Err(AmountError::TooManyDecimals { allowed: 0 }));
        assert_eq!(parse("1.0000001"), Err(AmountError::TooManyDecimals { allowed: 6 }));
        let yen = RequestedAmount::parse(Asset::Ecopay, "2.5");
        assert_eq!(yen, Err(AmountError::TooManyDecimals { allowed: 0 }));
    }
}
