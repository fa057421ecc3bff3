//! Shares of money that a tenant's terms name: fees and taxes that are taken, points and bonuses that are given.

use super::{Rate, RateError, canonical};
use rust_decimal::Decimal;
use std::marker::PhantomData;

/// What a share is of, and how large it may be.
pub trait ShareKind {
    /// The most, in per cent.
    const PERCENT_MAX: u32;
}

/// What is taken: a fee, or the tax on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {}

/// What is given for a payment or a top-up: points, or a bonus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reward {}

impl ShareKind for Charge {
    const PERCENT_MAX: u32 = 30;
}

impl ShareKind for Reward {
    const PERCENT_MAX: u32 = 50;
}

/// A share of money, as a decimal from 0 to the most of its kind with at most six decimals: `0.015` is 1.5 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share<K>(Rate, PhantomData<K>);

/// A text that is no share of its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// Not a decimal of the form `0.015`.
    #[error("a share of money is a decimal with at most six decimals: write 0.015 for 1.5 %")]
    Malformed(#[from] RateError),
    /// More than a share of its kind may be.
    #[error("{percent} % is more than the {percent_max} % that this share may be: write 0.015 for 1.5 %")]
    TooLarge {
        /// The share, in per cent.
        percent: String,
        /// The most, in per cent.
        percent_max: u32,
    },
}

impl<K: ShareKind> Share<K> {
    /// Nothing.
    pub const ZERO: Self = Self(Rate::ZERO, PhantomData);

    /// Parses a share.
    ///
    /// # Errors
    /// [`ShareError`] if it is no decimal, or more than a share of its kind may be.
    pub fn parse(text: &str) -> Result<Self, ShareError> {
        Self::checked(Rate::parse(text)?)
    }

    /// Parses a number as DynamoDB returns it.
    ///
    /// # Errors
    /// As [`Share::parse`].
    pub fn from_stored(number: &str) -> Result<Self, ShareError> {
        Self::checked(Rate::from_stored(number)?)
    }

    // INVARIANT: a share is never above the most of its kind.
    fn checked(rate: Rate) -> Result<Self, ShareError> {
        let most = Decimal::new(i64::from(K::PERCENT_MAX), 2);
        if rate.value() > most {
            return Err(ShareError::TooLarge { percent: percent(&rate), percent_max: K::PERCENT_MAX });
        }
        Ok(Self(rate, PhantomData))
    }

    /// The share as a rate.
    #[must_use]
    pub fn rate(&self) -> &Rate {
        &self.0
    }

    /// The canonical decimal string: `0.015`.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.text()
    }

    /// The share in per cent: `1.5`.
    #[must_use]
    pub fn percent(&self) -> String {
        percent(&self.0)
    }
}

fn percent(rate: &Rate) -> String {
    canonical(rate.value().checked_mul(Decimal::ONE_HUNDRED).unwrap_or(Decimal::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_is_at_most_that_of_its_kind_and_is_shown_in_per_cent() {
        for (text, percent) in [("0", "0"), ("0.015", "1.5"), ("0.000001", "0.0001"), ("0.3", "30")] {
            let share = Share::<Charge>::parse(text).unwrap();
            assert_eq!((share.text().as_str(), share.percent().as_str()), (text, percent));
            assert_eq!(Share::<Charge>::from_stored(text), Ok(share));
        }
        assert_eq!(Share::<Reward>::parse("0.5").map(|share| share.percent()), Ok("50".to_owned()));
        let too_large = |percent: &str, percent_max| ShareError::TooLarge { percent: percent.to_owned(), percent_max };
        assert_eq!(Share::<Charge>::parse("1.5"), Err(too_large("150", 30)));
        assert_eq!(Share::<Charge>::from_stored("0.300001"), Err(too_large("30.0001", 30)));
        assert_eq!(Share::<Reward>::parse("0.500001"), Err(too_large("50.0001", 50)));
        for wrong in ["", "1.5%", "-0.1", "1E-2", "0.0000001"] {
            assert_eq!(Share::<Charge>::parse(wrong), Err(ShareError::Malformed(RateError)), "{wrong}");
        }
        let said = Share::<Charge>::parse("1.5").unwrap_err().to_string();
        assert_eq!(said, "150 % is more than the 30 % that this share may be: write 0.015 for 1.5 %");
    }
}
