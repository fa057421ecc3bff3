//! `RequestedAmount`: an amount as a request names it, before the tenant's terms are read. A retry must be
//! recognized by its fingerprint when the terms no longer have the asset, so nothing here depends on them.

use super::{Amount, AmountError, Asset, AssetSpec, Delta};

/// A strictly positive amount of an asset, with at most as many decimals as any tenant may give the asset.
/// It becomes an [`Amount`] where the tenant's number of decimals is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedAmount(Amount);

impl RequestedAmount {
    /// Reads an amount from text.
    ///
    /// # Errors
    /// [`AmountError`] if no tenant could take it.
    pub fn parse(asset: Asset, text: &str) -> Result<Self, AmountError> {
        Amount::parse(&AssetSpec::finest(asset), text).map(Self)
    }

    /// What is counted.
    #[must_use]
    pub fn asset(&self) -> &Asset {
        self.0.asset()
    }

    /// The canonical decimal string: that of the [`Amount`] that it becomes.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.text()
    }

    /// The canonical text of a change by it: `delta_of` is [`Amount::credit`] or [`Amount::debit`].
    #[must_use]
    pub fn change_text(&self, delta_of: fn(&Amount) -> Delta) -> String {
        delta_of(&self.0).text()
    }

    /// The amount, if the asset's scale allows its decimals.
    ///
    /// # Errors
    /// [`AmountError::TooManyDecimals`] if not.
    pub fn in_scale(&self, spec: &AssetSpec) -> Result<Amount, AmountError> {
        let allowed = if self.asset() == spec.asset() { spec.scale() } else { 0 };
        if self.0.value().scale() > allowed {
            return Err(AmountError::TooManyDecimals { allowed });
        }
        Ok(self.0.clone())
    }

    /// What is left after taking `other`, or `None` if nothing or less than nothing is; by value, whatever
    /// is counted.
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
    fn an_amount_is_known_by_value_before_its_scale_is() {
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
