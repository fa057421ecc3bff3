//! `exposure` changes otherwise than by the sum of its parts in an adjustment alone.

use super::*;
use crate::forms::Adjusted;
use crate::money::Delta;

fn adjusted(posted: Option<&Delta>, exposure: Option<&Delta>) -> TransactItem {
    let adjusted = Adjusted { asset: &Asset::Ecopay, posted, exposure };
    forms::adjust(&tenant(), Role::Payer, (account(1), adjusted), now(), vec![exists()]).unwrap()
}

fn by(operation: Operation, entry: Option<Entry>, item: TransactItem) -> Result<Transaction, BuildError> {
    let answer = Answer { status: 201, content_type: "text/plain".to_owned(), location: None, body: String::new() };
    let draft = Draft { entry, items: vec![item] };
    let claim = Claim { operation, ..claim() };
    Transaction::assemble(draft, &claim, &answer, &crate::idempotency::MarkerKeys::of_tests())
}

/// What an update adds to `balance` and to `exposure`.
fn added(item: &TransactItem) -> [Option<Value>; 2] {
    let Action::Update(update) = &item.action else { panic!("an update") };
    [attr::BALANCE, attr::EXPOSURE].map(|sum| update.added(sum).0.cloned())
}

#[test]
fn correction_of_exposure_is_added_to_what_is_posted() {
    let (minus, plus, more) = (yen("100").debit(), yen("100").credit(), yen("30").credit());
    let n = |number: i64| Some(Value::int(number));
    assert_eq!(added(&adjusted(Some(&minus), None)), [n(-100), n(-100)]);
    assert_eq!(added(&adjusted(Some(&minus), Some(&more))), [n(-100), n(-70)]);
    // The balance alone had changed: `exposure` stays as it is.
    assert_eq!(added(&adjusted(Some(&minus), Some(&plus))), [n(-100), None]);
    assert_eq!(added(&adjusted(None, Some(&more))), [None, n(30)]);
}

#[test]
fn exposure_is_corrected_by_an_adjustment_alone() {
    let (minus, more) = (yen("100").debit(), yen("30").credit());
    for (posted, entry) in [(Some(&minus), Some(entry(postings()))), (None, None)] {
        let corrected = || adjusted(posted, Some(&more));
        assert!(by(Operation::Adjustment, entry.clone(), corrected()).is_ok());
        for operation in [Operation::Pay, Operation::Refund, Operation::Grant] {
            let refused = Err(BuildError::ExposureCorrected(Role::Payer));
            assert_eq!(by(operation, entry.clone(), corrected()), refused, "{operation}");
        }
        assert!(Transaction::unkeyed(vec![corrected()]).is_err());
    }
    // An update that adds to `exposure` without saying so is refused as before, in an adjustment too.
    let unsaid = adjusted(None, Some(&more)).changing(|update| update.add(attr::RESERVED, "more", Value::int(1)));
    assert_eq!(by(Operation::Adjustment, None, unsaid), Err(BuildError::Exposure(Role::Payer)));
}
