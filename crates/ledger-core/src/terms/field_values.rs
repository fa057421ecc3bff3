//! The texts of single terms, as values. Errors say what is wrong and do not repeat the text.

use crate::canonical::parse_canonical;
use crate::money::{Amount, AssetSpec, Balance, Rate, Share, ShareKind};
use crate::personal::FreeText;
use std::ops::RangeInclusive;

/// The longest source or version of a CO2 rate, in characters.
const SOURCE_CHARS_MAX: usize = 140;
/// The longest name of a term that a refusal repeats, in bytes.
const NAME_BYTES_MAX: usize = 80;

/// What is wrong with a field of an asset that the tenant does not have.
pub(super) const NOT_ENABLED: &str = "the asset is not enabled for the tenant";

pub(super) fn must(to: Option<&str>) -> Result<&str, String> {
    to.ok_or_else(|| "cannot be cleared".to_owned())
}

pub(super) fn rate(text: &str) -> Result<Rate, String> {
    Rate::parse(text).map_err(|error| error.to_string())
}

pub(super) fn share<K: ShareKind>(text: &str) -> Result<Share<K>, String> {
    Share::parse(text).map_err(|error| error.to_string())
}

pub(super) fn amount(spec: &AssetSpec, text: &str) -> Result<Amount, String> {
    Amount::parse(spec, text).map_err(|error| error.to_string())
}

/// An amount that may be zero.
pub(super) fn balance(spec: &AssetSpec, text: &str) -> Result<Balance, String> {
    if text == "0" { Ok(Balance::zero(spec.asset().clone())) } else { Ok(amount(spec, text)?.as_balance()) }
}

/// A whole number of days.
pub(super) fn days(text: &str, among: RangeInclusive<u8>) -> Result<u8, String> {
    let days = parse_canonical(text).filter(|days| among.contains(days));
    days.ok_or_else(|| format!("must be a whole number of days from {} to {}", among.start(), among.end()))
}

pub(super) fn flag(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("must be true or false".to_owned()),
    }
}

pub(super) fn source(text: &str) -> Result<String, String> {
    let text = FreeText::parse(text, SOURCE_CHARS_MAX).map_err(|error| error.to_string())?;
    Ok(text.expose().to_owned())
}

/// A name as a refusal repeats it: only one that could be of a field.
pub(super) fn shown(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '#' | '-');
    if name.len() <= NAME_BYTES_MAX && name.chars().all(is_plain) { name.to_owned() } else { "changes".to_owned() }
}
