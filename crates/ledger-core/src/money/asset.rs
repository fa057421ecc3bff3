//! The kinds of value, and the number of decimals of each.

use std::fmt;

/// A kind of value: yen, points, carbon credits or a regional currency.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asset {
    /// Prepaid yen.
    Ecopay,
    /// Points.
    Point,
    /// J-Credits, in kg of CO2.
    Jcredit,
    /// A regional currency, with its own rules in the tenant's terms.
    Regional(RegionalKey),
}

/// The name of a regional currency: 1 to 32 of `a-z`, `0-9` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionalKey(String);

/// A text that is not the name of an asset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown asset: use ECOPAY, POINT, JCREDIT or REGIONAL#<key> with a key of a-z, 0-9 and -")]
pub struct AssetError;

/// An asset together with the number of decimals that its amounts may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetSpec {
    asset: Asset,
    scale: u32,
}

impl RegionalKey {
    /// Parses a key.
    ///
    /// # Errors
    /// [`AssetError`] if it is empty, longer than 32 bytes or has other characters.
    pub fn parse(text: &str) -> Result<Self, AssetError> {
        let fits = (1..=32).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if fits { Ok(Self(text.to_owned())) } else { Err(AssetError) }
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Asset {
    /// Parses the wire form, for example `ECOPAY` or `REGIONAL#aoba`.
    ///
    /// # Errors
    /// [`AssetError`] for anything else.
    pub fn parse(text: &str) -> Result<Self, AssetError> {
        match text {
            "ECOPAY" => Ok(Self::Ecopay),
            "POINT" => Ok(Self::Point),
            "JCREDIT" => Ok(Self::Jcredit),
            other => other.strip_prefix("REGIONAL#").ok_or(AssetError).and_then(RegionalKey::parse).map(Self::Regional),
        }
    }

    /// The suffix of attribute names that are kept per asset, for example `refundable_ecopay`.
    #[must_use]
    pub fn attribute_suffix(&self) -> String {
        match self {
            Self::Ecopay => "ecopay".to_owned(),
            Self::Point => "point".to_owned(),
            Self::Jcredit => "jcredit".to_owned(),
            Self::Regional(key) => format!("regional_{}", key.as_str()),
        }
    }

    /// The inverse of [`Asset::attribute_suffix`].
    ///
    /// # Errors
    /// [`AssetError`] if no asset has this suffix.
    pub fn from_attribute_suffix(suffix: &str) -> Result<Self, AssetError> {
        match suffix {
            "ecopay" => Ok(Self::Ecopay),
            "point" => Ok(Self::Point),
            "jcredit" => Ok(Self::Jcredit),
            other => other.strip_prefix("regional_").ok_or(AssetError).and_then(RegionalKey::parse).map(Self::Regional),
        }
    }
}

impl fmt::Display for Asset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ecopay => f.write_str("ECOPAY"),
            Self::Point => f.write_str("POINT"),
            Self::Jcredit => f.write_str("JCREDIT"),
            Self::Regional(key) => write!(f, "REGIONAL#{}", key.as_str()),
        }
    }
}

impl AssetSpec {
    /// Yen: no decimals.
    pub const ECOPAY: Self = Self { asset: Asset::Ecopay, scale: 0 };
    /// Points: no decimals.
    pub const POINT: Self = Self { asset: Asset::Point, scale: 0 };
    /// Carbon credits in kg-CO2: three decimals.
    pub const JCREDIT: Self = Self { asset: Asset::Jcredit, scale: 3 };
    /// The largest number of decimals of a regional currency.
    pub const MAX_SCALE: u32 = 6;
    /// The largest number of decimals of any asset, for parsing a text before its asset is known.
    pub(super) const FINEST: Self = Self { asset: Asset::Jcredit, scale: Self::MAX_SCALE };

    /// A regional currency with the tenant's number of decimals, or `None` above [`AssetSpec::MAX_SCALE`].
    #[must_use]
    pub fn regional(key: RegionalKey, scale: u32) -> Option<Self> {
        (scale <= Self::MAX_SCALE).then_some(Self { asset: Asset::Regional(key), scale })
    }

    /// An asset with the largest number of decimals that any tenant may give it, for use before the terms are read.
    #[must_use]
    pub fn finest(asset: Asset) -> Self {
        let scale = match asset {
            Asset::Ecopay => Self::ECOPAY.scale,
            Asset::Point => Self::POINT.scale,
            Asset::Jcredit => Self::JCREDIT.scale,
            Asset::Regional(_) => Self::MAX_SCALE,
        };
        Self { asset, scale }
    }

    /// The asset.
    #[must_use]
    pub fn asset(&self) -> &Asset {
        &self.asset
    }

    /// The largest number of decimals of an amount.
    #[must_use]
    pub fn scale(&self) -> u32 {
        self.scale
    }
}
