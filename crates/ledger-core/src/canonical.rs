//! One canonical text per value, so that a key or a guard never has two spellings.

use std::fmt::Display;
use std::str::FromStr;

/// Parses a text if it is the canonical form of its value, the one that `Display` writes. A number with a plus or
/// leading zeros, for example, is refused.
#[must_use]
pub fn parse_canonical<T: FromStr + Display>(text: &str) -> Option<T> {
    text.parse::<T>().ok().filter(|value| value.to_string() == text)
}
