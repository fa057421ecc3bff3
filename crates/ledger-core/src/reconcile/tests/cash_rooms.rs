//! Checks of a terminal's cash room.

use super::*;

const TERMINAL: &str = "019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

fn broken(facts: &[CashRoomFact], scope: &Scope) -> bool {
    let found = kinds(&group(&format!("cash_room/{TERMINAL}")), facts, scope);
    assert!(found.iter().all(|kind| *kind == "cash_room_differs"), "{found:?}");
    !found.is_empty()
}

#[test]
fn room_is_what_was_allotted_less_what_was_taken() {
    let scope = Scope { began_at: Timestamp::from_millis(10), at_one_moment: true, listed: None };
    let merchant = MerchantId::parse("019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5f").unwrap();
    let other = MerchantId::parse("019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d60").unwrap();
    let allotted = |merchant, amount| CashRoomFact::Allotted { merchant, amount: num(amount) };
    let room = |merchant, room| CashRoomFact::Room { merchant, room: num(room), changed_at: 20 };
    let taken = |amount, at| CashRoomFact::Taken { amount: num(amount), at };
    assert!(!broken(&[allotted(merchant, "50"), room(merchant, "50")], &scope));
    assert!(!broken(&[allotted(merchant, "50"), taken("30", 1), taken("-10", 2), room(merchant, "30")], &scope));
    assert!(broken(&[allotted(merchant, "50"), taken("30", 1), room(merchant, "30")], &scope));
    assert!(broken(&[allotted(merchant, "50"), taken("60", 1), room(merchant, "-10")], &scope), "below zero");
    assert!(broken(&[allotted(merchant, "50")], &scope), "no room");
    assert!(broken(&[room(merchant, "50")], &scope), "never allotted");
    assert!(broken(&[taken("30", 1)], &scope), "cash without room");
    assert!(broken(&[allotted(other, "50"), room(merchant, "50")], &scope), "another merchant's");
    assert!(broken(&[allotted(merchant, "30"), allotted(other, "20"), room(merchant, "50")], &scope), "two merchants");
    // Under traffic, cash after the first read counts only if the room had changed by then.
    let scope = Scope { at_one_moment: false, ..scope };
    assert!(!broken(&[allotted(merchant, "50"), taken("30", 20), taken("5", 21), room(merchant, "20")], &scope));
    assert!(broken(&[allotted(merchant, "50"), taken("30", 20), taken("5", 20), room(merchant, "20")], &scope));
}
