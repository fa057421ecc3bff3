//! Checks of a merchant's rooms: what settlements covered of its cash, and what is outstanding of its refunds.

use super::*;

const MERCHANT: &str = "019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5f";

fn found(facts: &[RoomsFact], scope: &Scope) -> Vec<&'static str> {
    kinds(&group(&format!("rooms/{MERCHANT}")), facts, scope)
}

#[test]
fn sums_of_a_merchant_are_those_of_its_returns_and_settlements() {
    let scope = Scope { began_at: Timestamp::from_millis(10), at_one_moment: true, listed: None };
    let recorded = |of, amount| RoomsFact::Recorded { of, amount: num(amount), changed_at: 20 };
    let changed = |of, amount, at| RoomsFact::Changed { of, amount: num(amount), at };
    let broken = |of: RoomSum| match of {
        RoomSum::CoveredCash => ["cash_room_differs"],
        RoomSum::OutstandingRefunds => ["refund_room_differs"],
    };
    for of in RoomSum::ALL {
        assert!(found(&[], &scope).is_empty());
        assert!(found(&[recorded(of, "0")], &scope).is_empty());
        assert!(found(&[changed(of, "30", 1), changed(of, "-10", 2), recorded(of, "20")], &scope).is_empty());
        assert_eq!(found(&[changed(of, "30", 1), recorded(of, "20")], &scope), broken(of));
        assert_eq!(found(&[changed(of, "30", 1)], &scope), broken(of), "the item does not have it");
        assert_eq!(found(&[recorded(of, "30")], &scope), broken(of), "nothing changed it");
        // Under traffic, what came after the first read counts only if the item had changed by then.
        let scope = Scope { at_one_moment: false, ..scope };
        let later = [changed(of, "30", 20), changed(of, "5", 21), recorded(of, "30")];
        assert!(found(&later, &scope).is_empty());
        assert_eq!(found(&[changed(of, "30", 20), changed(of, "5", 20), recorded(of, "30")], &scope), broken(of));
    }
}
