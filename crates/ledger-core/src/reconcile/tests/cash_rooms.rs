//! Checks of a terminal's cash room.

use super::*;

const TERMINAL: &str = "019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

fn broken(facts: &[CashRoomFact], scope: &Scope) -> bool {
    let found = kinds(&group(&format!("cash_room/{TERMINAL}")), facts, scope);
    assert!(found.iter().all(|kind| *kind == "cash_room_differs"), "{found:?}");
    !found.is_empty()
}

fn owner(merchant: &str) -> TerminalOwner {
    TerminalOwner::Merchant(MerchantId::parse(merchant).unwrap())
}

#[test]
fn room_is_what_was_allotted_less_what_was_taken() {
    let scope = Scope { began_at: Timestamp::from_millis(10), at_one_moment: true, listed: None };
    let merchant = owner("019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5f");
    let other = owner("019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d60");
    let allotted = |owner, amount| CashRoomFact::Allotted { owner, amount: num(amount) };
    let room = |owner, room| CashRoomFact::Room { owner, room: num(room), changed_at: 20 };
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

#[test]
fn cash_of_a_counter_is_outstanding_until_it_is_collected() {
    let scope = Scope { began_at: Timestamp::from_millis(10), at_one_moment: true, listed: None };
    let allotted = CashRoomFact::Allotted { owner: TerminalOwner::Operator, amount: num("50") };
    let room = |room| CashRoomFact::Room { owner: TerminalOwner::Operator, room: num(room), changed_at: 20 };
    let outstanding = |amount| CashRoomFact::Outstanding { amount: num(amount), changed_at: 20 };
    let taken = |amount, at| CashRoomFact::Taken { amount: num(amount), at };
    let collected = |amount, at| CashRoomFact::Collected { amount: num(amount), at };
    let broken = |facts: &[CashRoomFact]| {
        let facts = [std::slice::from_ref(&allotted), facts].concat();
        super::cash_rooms::broken(&facts, &scope)
    };
    assert!(!broken(&[room("50")]), "it took none");
    assert!(!broken(&[taken("30", 1), room("20"), outstanding("30")]));
    assert!(!broken(&[taken("30", 1), taken("-10", 2), collected("15", 3), room("30"), outstanding("5")]));
    assert!(broken(&[taken("30", 1), room("20")]), "nothing says that it is outstanding");
    assert!(broken(&[taken("30", 1), room("20"), outstanding("29")]));
    assert!(broken(&[taken("30", 1), collected("30", 2), room("20"), outstanding("30")]), "collected, and still there");
    assert!(broken(&[taken("30", 1), collected("31", 2), room("20"), outstanding("-1")]), "more than it took");
    assert!(broken(&[collected("5", 2), room("50")]), "it never took any");
    // A till's cash is a debt of its merchant.
    let owner = owner("019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5f");
    let till = [
        CashRoomFact::Allotted { owner, amount: num("50") },
        CashRoomFact::Room { owner, room: num("20"), changed_at: 20 },
        taken("30", 1),
    ];
    assert!(!self::broken(&till, &scope));
    assert!(self::broken(&[&till[..], &[collected("30", 2)]].concat(), &scope), "a till is not collected");
    // Under traffic, what came after the first read counts only if the item had changed by then.
    let scope = Scope { at_one_moment: false, ..scope };
    let facts = [allotted, taken("30", 20), collected("10", 20), collected("5", 21), room("20"), outstanding("20")];
    assert!(!self::broken(&facts, &scope));
}
