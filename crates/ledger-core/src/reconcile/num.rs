//! The quantities of facts, of any asset and sign.

use crate::ids::IdError;
use crate::money::Asset;
use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// A quantity. In a fact's line it is text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Num(pub Decimal);

/// Quantities by asset.
pub type Nums = BTreeMap<Asset, Num>;

impl Num {
    /// Zero.
    pub const ZERO: Self = Self(Decimal::ZERO);

    /// Parses a number as DynamoDB stores it; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        crate::money::stored_decimal(text).ok().map(Self)
    }

    /// The sum, saturating. Amounts are below 10^15 and a decimal holds 10^28, so no possible number of records
    /// reaches the limit. A saturated sum equals no stored value.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, saturating.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Whether it is below zero.
    #[must_use]
    pub fn is_negative(self) -> bool {
        self.0 < Decimal::ZERO
    }

    /// Whether it is zero.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

impl fmt::Display for Num {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::money::canonical(self.0))
    }
}

impl Serialize for Num {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Num {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(IdError))
    }
}
