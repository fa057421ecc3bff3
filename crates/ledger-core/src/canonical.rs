//! One canonical text for each value: what enters a key or a guard is never spelled in two ways.

use std::fmt::Display;
use std::str::FromStr;

/// Reads a value from its canonical text: the one that it is written as. A number with a plus or leading
/// zeros, for example, is refused.
#[must_use]
pub fn parse_canonical<T: FromStr + Display>(text: &str) -> Option<T> {
    text.parse::<T>().ok().filter(|value| value.to_string() == text)
}
