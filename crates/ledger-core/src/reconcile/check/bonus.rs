//! The check of the bonus on the cash of a top-up: the entry has it due, one item records it, and entries grant it and take it
//! back as that says.

use crate::account::Account;
use crate::cards::bonus::BonusState;
use crate::ids::{Tenant, TransactionId};
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::{BonusFact, BonusPart};
use crate::reconcile::num::Num;

/// Checks the facts of the bonus of a top-up, which are none if it has no bonus.
pub(super) fn check(tenant: &Tenant, topup: TransactionId, facts: &[&BonusFact]) -> Option<Finding> {
    let first = facts.first()?;
    let (mut due, mut recorded, mut granted, mut taken_back) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut evidence = Vec::new();
    for BonusFact { part, merchant, card, amount } in facts {
        evidence.extend([Account::Merchant(*merchant).to_string(), card.to_string()]);
        match part {
            BonusPart::Due => due.push(*amount),
            BonusPart::Recorded { state, was_granted } => recorded.push((*amount, *state, *was_granted)),
            BonusPart::Granted { entry } => {
                evidence.push(format!("transaction:{entry}"));
                granted.push(*amount);
            }
            BonusPart::TakenBack { entry } => {
                evidence.push(format!("transaction:{entry}"));
                taken_back.push(*amount);
            }
        }
    }
    let is_of_one = facts.iter().all(|fact| (fact.merchant, fact.card) == (first.merchant, first.card));
    let agrees = match (due.as_slice(), recorded.as_slice()) {
        ([due], [(amount, state, was_granted)]) => {
            let given = if *was_granted { vec![*amount] } else { Vec::new() };
            let back = match state {
                BonusState::Due | BonusState::Granted => Vec::new(),
                BonusState::Reversed => vec![if *was_granted { *amount } else { Num::ZERO }],
            };
            due == amount && granted == given && taken_back == back
        }
        (_, _) => false,
    };
    if agrees && is_of_one {
        return None;
    }
    let sums = |amounts: &[Num]| amounts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let records: Vec<String> = recorded.iter().map(|(amount, state, _)| format!("{amount} {state}")).collect();
    let found = format!(
        "due [{}], recorded [{}], granted [{}], taken back [{}]",
        sums(&due),
        records.join(", "),
        sums(&granted),
        sums(&taken_back)
    );
    let differs = Finding::new(tenant, BreakKind::BonusDiffers, format!("transaction:{topup}"));
    Some(differs.expected("one bonus, granted and taken back as it records").found(found).by(evidence))
}
