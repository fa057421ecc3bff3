//! Money: parsing and printing, checked arithmetic, and rounding that never creates value.
//! Expectations are computed in whole units of `i128`, not in decimals.

use ledger_core::money::{Amount, Asset, AssetSpec, Balance, Delta, Rate, RegionalKey, Reward, Share};
use proptest::prelude::*;
use rust_decimal::Decimal;

fn spec(scale: u32) -> AssetSpec {
    AssetSpec::regional(RegionalKey::parse("any").unwrap(), scale).unwrap()
}

/// `units` at a scale, as text: 12345 at 2 is 123.45.
fn text(units: impl Into<i128>, scale: u32) -> String {
    Decimal::from_i128_with_scale(units.into(), scale).to_string()
}

/// An amount of any size and scale.
fn amounts() -> impl Strategy<Value = (Amount, i128, u32)> {
    let units = |scale: u32| prop_oneof![1..100_i128, 1..10_000_000_i128, 1..10_i128.pow(15 + scale)];
    let sized = (0..=6_u32).prop_flat_map(move |scale| (units(scale), Just(scale)));
    sized.prop_map(|(units, scale)| (Amount::parse(&spec(scale), &text(units, scale)).unwrap(), units, scale))
}

/// Small, usual and the largest numbers of units.
fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![1..100_u64, 1..10_000_000_u64, 1..10_u64.pow(14), 10_u64.pow(14) - 3..10_u64.pow(14)]
}

/// The whole units of an amount at a scale.
fn units(amount: Option<&Amount>, scale: u32) -> i128 {
    let Some(amount) = amount else { return 0 };
    let mut value = amount.value();
    value.rescale(scale);
    value.mantissa()
}

proptest! {
    #![proptest_config(super::cases(2_000))]

    #[test]
    fn printing_and_parsing_are_inverse((amount, units_, scale) in amounts()) {
        let printed = amount.text();
        let again = Amount::parse(&spec(scale), &printed).unwrap();
        prop_assert_eq!(&again, &amount);
        prop_assert_eq!(units(Some(&amount), scale), units_);
        prop_assert!(printed.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
        prop_assert!(!printed.contains('.') || !(printed.ends_with('0') || printed.ends_with('.')));
        prop_assert!(!printed.starts_with('0') || printed.starts_with("0."));
    }

    #[test]
    fn trailing_zeros_do_not_change_an_amount((amount, _, scale) in amounts(), zeros in 0..8_usize) {
        let printed = amount.text();
        let longer = if printed.contains('.') { printed } else { format!("{printed}.0") };
        let longer = longer + &"0".repeat(zeros);
        prop_assert_eq!(Amount::parse(&spec(scale), &longer).unwrap(), amount);
    }

    #[test]
    fn amount_with_too_many_decimals_is_refused(units in 0..1_000_000_u64, scale in 0..=6_u32, last in 1..10_u32) {
        let whole = text(units, scale);
        let longer = if whole.contains('.') { format!("{whole}{last}") } else { format!("{whole}.{last}") };
        prop_assert!(Amount::parse(&spec(scale), &longer).is_err(), "{}", longer);
    }

    #[test]
    fn any_text_is_an_amount_or_an_error(text in "\\PC*", digits in "[-+]?[0-9eE.]{0,40}", scale in 0..=6_u32) {
        for text in [text, digits] {
            if let Ok(amount) = Amount::parse(&spec(scale), &text) {
                prop_assert_eq!(Amount::parse(&spec(scale), &amount.text()).unwrap(), amount);
                prop_assert!(text.bytes().all(|b| b.is_ascii_digit() || b == b'.'), "{}", text);
            }
            let _ = (Rate::parse(&text).is_ok(), Balance::from_stored(Asset::Point, &text).is_ok());
            let _ = Delta::from_stored(Asset::Point, &text).is_ok();
        }
    }

    #[test]
    fn addition_and_subtraction_are_inverse((a, ua, scale) in amounts(), ub in 1..1_000_000_000_000_000_u64) {
        let b = Amount::parse(&spec(scale), &text(ub, scale)).unwrap();
        if let Ok(sum) = a.checked_add(&b) {
            prop_assert_eq!(units(Some(&sum), scale), ua + i128::from(ub));
            prop_assert_eq!(sum.checked_sub(&b).unwrap(), Some(a.clone()));
            prop_assert_eq!(a.checked_sub(&sum).unwrap(), None);
        }
        let least = a.at_most(&b.as_balance()).unwrap();
        prop_assert_eq!(units(least.as_ref(), scale), ua.min(i128::from(ub)));
        prop_assert_eq!(a.credit().checked_add(&a.debit()).unwrap(), None);
        prop_assert_eq!(a.debit().inverse(), a.credit());
        prop_assert_eq!(a.debit().size(), Some(a.clone()));
        prop_assert_eq!(a.as_balance().checked_apply(&a.debit()).unwrap().as_amount(), None);
    }

    #[test]
    fn share_rounds_down_by_less_than_a_unit(
        (amount, units_, scale) in amounts(), share in 0..=500_000_u64, into in 0..=6_u32,
    ) {
        let parsed = Share::<Reward>::parse(&text(share, 6)).unwrap();
        let Ok(got) = amount.share(&parsed, &spec(into)) else { return Ok(()) };
        // amount x share, in units of 10^-(scale + 6), against the result in the same units.
        let exact = units_ * i128::from(share);
        let unit = 10_i128.pow(scale + 6 - into);
        let got = units(got.as_ref(), into) * unit;
        prop_assert!(got <= exact && exact < got + unit, "{} {} {}", got, exact, unit);
    }

    #[test]
    fn co2_is_exact((amount, units_, scale) in amounts(), rate in 0..=100_000_000_u64) {
        let (mut exact, mut decimals) = (units_ * i128::from(rate), scale + 6);
        while exact % 10 == 0 && decimals > 0 {
            (exact, decimals) = (exact / 10, decimals - 1);
        }
        let exact = Decimal::try_from_i128_with_scale(exact, decimals);
        let Ok(co2) = Rate::parse(&text(rate, 6)).unwrap().co2(&amount) else {
            // An amount that yen or a usual rate could need is never refused.
            prop_assert!(exact.is_err() || scale > 0 && units_ >= 10_i128.pow(19));
            return Ok(());
        };
        prop_assert_eq!(co2.text(), exact.unwrap().normalize().to_string());
        let none = co2.checked_add(co2.inverse()).unwrap();
        prop_assert_eq!(none.text(), "0");
    }

    #[test]
    fn proportion_rounds_down_and_the_whole_is_exact(
        total in sizes(), whole in sizes(), at in 0..=1000_u64,
    ) {
        let amount = |units: u64| Amount::parse(&AssetSpec::ECOPAY, &units.to_string()).unwrap();
        let points = Amount::parse(&AssetSpec::POINT, &whole.to_string()).unwrap();
        let share = |part: u64| {
            let part = Balance::from_stored(Asset::Ecopay, &part.to_string()).unwrap();
            let share = Amount::proportion(&points, &part, &amount(total), &AssetSpec::POINT);
            share.map(|share| units(share.as_ref(), 0))
        };
        if share(total).is_err() {
            prop_assert!(u128::from(whole) * u128::from(total) > 10_u128.pow(28), "refused for no reason");
            return Ok(());
        }
        let share = |part| share(part).unwrap();
        let part = u64::try_from(u128::from(total) * u128::from(at) / 1000).unwrap();
        prop_assert_eq!(share(part), i128::from(whole) * i128::from(part) / i128::from(total));
        prop_assert_eq!(share(total), i128::from(whole));
        prop_assert_eq!(share(0), 0);
        prop_assert!(share(part.saturating_sub(1)) <= share(part));
    }

    #[test]
    fn one_to_one_conversion_keeps_the_value((amount, units_, scale) in amounts(), into in 0..=6_u32) {
        match amount.one_to_one(&spec(into)) {
            Some(same) => prop_assert_eq!(same.value(), amount.value()),
            None => prop_assert!(into < scale && units_ % 10_i128.pow(scale - into) != 0),
        }
    }
}
