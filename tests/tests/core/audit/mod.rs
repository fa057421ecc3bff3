//! The audit finds each planted error by its rule, and names the row.

mod plants;

use crate::topup_orders::desk::{FactOutcome, Handler, TENANT, WriteOutcome};
use crate::topup_orders::story::{Story, TopupEvent, What};
use ledger_core::psp::RefundStatus;
use ledger_core::terms::SpentPoints;
use ledger_tests::audit::Books;
use plants::plants;

/// Books in order, made by the core's builders: an opening balance, a top-up with a paid refund, a pending refund and a
/// dispute above the wallet's balance, a pending top-up, and one whose request is in flight.
fn books_in_order() -> Books {
    let paid = [
        What::Succeeded,
        What::Ours(0, RefundStatus::Succeeded),
        What::Ours(1, RefundStatus::Pending),
        What::Withdrawn,
    ];
    let stories = [story(0, &paid), story(1, &[What::Processing]), story(2, &[])];
    let handler = Handler::new(SpentPoints::Deduct);
    let mut model = handler.open(1_000);
    for story in &stories {
        assert!(matches!(handler.claim_topup(&mut model, story.topup, story.charge), WriteOutcome::Applied));
        for (n, what) in story.events.iter().enumerate() {
            let event = TopupEvent { topup: story.topup, what: *what };
            let outcome = handler.deliver(&mut model, story, event, &format!("evt_{}_{n}", story.topup));
            assert_eq!(outcome, FactOutcome::Applied, "{what:?}");
        }
    }
    Books::of(TENANT, model.contents())
}

fn story(topup: usize, events: &[What]) -> Story {
    let (spends, refunds) = if topup == 0 { ((9_500, 0), vec![500, 300]) } else { ((0, 0), Vec::new()) };
    let events = events.to_vec();
    Story { topup, charge: 10_000, balance: 1_000, spends, refunds, theirs: Vec::new(), disputed: 8_000, events }
}

#[test]
fn books_made_by_the_builders_are_in_order() {
    let books = books_in_order();
    assert_eq!(books.findings(), []);
    assert_eq!(books.findings_when_credited(), []);
    assert_eq!(books.in_flight(), 1);
    assert_eq!((books.entries_of("topup"), books.entries_of("clawback")), (1, 1));
}

#[test]
fn each_planted_error_is_found_and_its_row_is_named() {
    let plants = plants(&books_in_order());
    let mut missed = Vec::new();
    for plant in &plants {
        let findings = plant.books.findings();
        if !findings.iter().any(|finding| finding.rule == plant.rule && finding.what.contains(&plant.named)) {
            missed.push(format!("{} of {}: {findings:#?}", plant.rule, plant.named));
        }
    }
    assert!(missed.is_empty(), "{} of {} are not found:\n{}", missed.len(), plants.len(), missed.join("\n"));
}

#[test]
#[should_panic(expected = "balances equal postings: aoba#customer#")]
fn check_panics_with_the_finding() {
    let plants = plants(&books_in_order());
    plants.iter().find(|plant| plant.rule == "balances equal postings").expect("a plant").books.check();
}
