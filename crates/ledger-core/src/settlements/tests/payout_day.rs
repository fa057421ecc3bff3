//! A payout through the payment provider waits for the payment day.

use super::*;

/// Midnight in Japan.
const DAY_BEGINS: &str = "2026-12-09T15:00:00.000Z";

fn at(instant: &str) -> Timestamp {
    Timestamp::parse(instant).unwrap()
}

/// A settlement that Stripe pays on 10 December.
fn on_the_tenth(state: S) -> Settlement {
    Settlement { pay_on: BusinessDate::parse("2026-12-10").unwrap(), sending: None, ..by_stripe(state, 0) }
}

/// When a write makes the settlement due, and whether it counts a run.
fn due(transaction: &Transaction) -> (String, bool) {
    let [item] = transaction.items() else { panic!("{transaction:?}") };
    let rendered = format!("{:?}", item.render().unwrap());
    let from = rendered.split('"').find(|text| text.contains("Z#")).unwrap_or_default();
    (from.split('#').next().unwrap().to_owned(), rendered.contains("runs"))
}

#[test]
fn payout_through_stripe_is_due_when_its_day_begins() {
    let charged = on_the_tenth(S::Charged);
    let payout = Task::Do(Step::Payout);
    let postponed_at = |settlement: &Settlement, task, now| postponed(&tenant(), settlement, task, at(now)).unwrap();
    for early in ["2026-11-30T15:10:00Z", "2026-12-09T14:59:59.999Z"] {
        let write = postponed_at(&charged, payout, early).unwrap();
        assert_eq!(due(&write), (DAY_BEGINS.to_owned(), true), "{early}");
    }
    for late in [DAY_BEGINS, "2026-12-20T00:00:00Z"] {
        assert_eq!(postponed_at(&charged, payout, late), None, "{late}");
        assert!(matches!(next_move(&tenant(), &charged, payout, at(late)), Ok(Move::Write(_))), "{late}");
    }
}

#[test]
fn nothing_else_waits_for_the_payment_day() {
    let early = at("2026-12-01T00:00:00Z");
    let charged = on_the_tenth(S::Charged);
    let undo_reason = Settlement { undo_reason: Some(UndoReason::StepFailed), ..charged.clone() };
    let nothing_to_pay = Settlement { payable: None, ..charged.clone() };
    let bank = Settlement { destination: settlement(S::Charged, &[]).destination, ..charged.clone() };
    for (of, settlement) in [("turned back", undo_reason), ("nothing to pay", nothing_to_pay), ("bank file", bank)] {
        assert_eq!(postponed(&tenant(), &settlement, Task::Do(Step::Payout), early), Ok(None), "{of}");
    }
    for state in S::ALL {
        for task in Task::all().filter(|task| (*task, state) != (Task::Do(Step::Payout), S::Charged)) {
            assert_eq!(postponed(&tenant(), &on_the_tenth(state), task, early), Ok(None), "{task:?} on {state}");
        }
    }
}

/// The record of a start may be written after the run has ended: it must not delay the payout past its day.
#[test]
fn start_that_is_recorded_does_not_delay_the_payout() {
    let due_after = |state, now| due(&started(&tenant(), &on_the_tenth(state), at(now)).unwrap()).0;
    for state in [S::Collecting, S::Charged] {
        assert_eq!(due_after(state, "2026-12-01T00:00:00.000Z"), "2026-12-02T01:00:00.000Z", "{state}");
        assert_eq!(due_after(state, "2026-12-09T14:00:00.000Z"), DAY_BEGINS, "{state}");
        assert_eq!(due_after(state, DAY_BEGINS), "2026-12-10T16:00:00.000Z", "{state}");
    }
    assert_eq!(due_after(S::Paying, "2026-12-09T14:00:00.000Z"), "2026-12-10T15:00:00.000Z");
}
