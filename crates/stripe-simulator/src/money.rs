//! Amounts and currencies in Stripe's form: whole numbers of the smallest unit. Only a few common currencies are known.

use crate::error::StripeError;

/// Currency, the sign before its amounts, digits after the point, minimum amount of a charge.
const CURRENCIES: [(&str, &str, u32, i64); 7] = [
    ("jpy", "¥", 0, 50),
    ("usd", "$", 2, 50),
    ("eur", "€", 2, 50),
    ("gbp", "£", 2, 30),
    ("aud", "A$", 2, 50),
    ("cad", "CA$", 2, 50),
    ("krw", "₩", 0, 500),
];
const AMOUNT_MAX: i64 = 99_999_999;

/// The currency in lower case, as Stripe writes it.
pub(crate) fn currency(text: &str) -> Result<String, StripeError> {
    let lower = text.to_ascii_lowercase();
    if CURRENCIES.iter().any(|(name, ..)| *name == lower) {
        return Ok(lower);
    }
    let names: Vec<&str> = CURRENCIES.iter().map(|(name, ..)| *name).collect();
    let message = format!("Invalid currency: {lower}. The simulator supports these currencies: {}", names.join(", "));
    Err(StripeError::refused(None, message).not_executed().about("currency"))
}

/// Checks that a charge may have this amount.
pub(crate) fn check(amount: i64, currency: &str) -> Result<(), StripeError> {
    positive(amount)?;
    let least = CURRENCIES.iter().find(|(name, ..)| *name == currency).map_or(1, |(.., least)| *least);
    if amount < least {
        let message = format!("Amount must be at least {} {currency}", in_words(least, currency));
        return Err(StripeError::parameter("amount_too_small", "amount", message));
    }
    if amount > AMOUNT_MAX {
        let message = format!("Amount must be no more than {} {currency}", in_words(AMOUNT_MAX, currency));
        return Err(StripeError::parameter("amount_too_large", "amount", message));
    }
    Ok(())
}

/// Checks that an amount is at least 1.
pub(crate) fn positive(amount: i64) -> Result<(), StripeError> {
    if amount >= 1 {
        return Ok(());
    }
    let message = "This value must be greater than or equal to 1.";
    Err(StripeError::parameter("parameter_invalid_integer", "amount", message))
}

/// An amount as text, such as `¥1,234` or `$12.34`.
pub(crate) fn in_words(amount: i64, currency: &str) -> String {
    let (sign, decimals) = CURRENCIES
        .iter()
        .find(|(name, ..)| *name == currency)
        .map_or(("", 0), |(_, sign, decimals, _)| (*sign, *decimals));
    let unit = 10_i64.saturating_pow(decimals);
    let whole = amount.checked_div(unit).unwrap_or_default().to_string();
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        let left = whole.len().saturating_sub(place);
        if place > 0 && left.is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if decimals == 0 {
        return format!("{sign}{grouped}");
    }
    let cents = amount.checked_rem(unit).unwrap_or_default();
    format!("{sign}{grouped}.{cents:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amount_outside_the_limits_of_a_charge_is_refused() {
        assert!(check(50, "jpy").is_ok());
        let error = check(49, "jpy").unwrap_err().body();
        assert_eq!(error["error"]["code"], "amount_too_small");
        assert_eq!(error["error"]["message"], "Amount must be at least ¥50 jpy");
        let error = check(100_000_000, "jpy").unwrap_err().body();
        assert_eq!(error["error"]["message"], "Amount must be no more than ¥99,999,999 jpy");
        assert!(check(0, "jpy").is_err() && check(-1, "jpy").is_err());
        assert_eq!(in_words(123_456, "usd"), "$1,234.56");
        assert_eq!(currency("JPY").unwrap(), "jpy");
        assert!(currency("xxx").is_err());
    }
}
