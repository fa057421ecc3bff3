//! The checks of entries: each named entry exists, once and as it is named, and each key has one entry.

use super::bonus;
use crate::account::Account;
use crate::ids::{Tenant, TransactionId};
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::{EntryClaim, EntryFact, KeyFact};
use std::collections::BTreeSet;

/// Checks an entry against the items that name it.
pub(super) fn check(tenant: &Tenant, id: TransactionId, facts: &BTreeSet<EntryFact>) -> Vec<Finding> {
    let subject = format!("transaction:{id}");
    let finding = |kind| Finding::new(tenant, kind, &subject);
    let (mut entries, mut references, mut merchants) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mut bonuses = Vec::new();
    for fact in facts {
        match fact {
            EntryFact::Entry { home, operation, key } => entries.push((home, *operation, *key)),
            EntryFact::Reference { by, home, merchant, claim } => {
                merchants.extend(merchant.map(|merchant| Account::Merchant(merchant).to_string()));
                references.push((by, home, claim));
            }
            EntryFact::Bonus(bonus) => bonuses.push(bonus),
        }
    }
    let named = |by: &str, home: &Option<Account>| [Some(by.to_owned()), home.map(|home| home.to_string())];
    let [(home, operation, key)] = entries.as_slice() else {
        let homes = entries.iter().map(|(home, ..)| home.to_string());
        if !entries.is_empty() {
            let doubled = finding(BreakKind::EntryDoubled).expected("one entry");
            return vec![doubled.found(format!("{} entries", entries.len())).by(homes)];
        }
        let by = references.iter().flat_map(|(by, home, _)| named(by, home)).flatten();
        let found = format!("none; named by {}", references.first().map_or("nothing", |(by, ..)| by.as_str()));
        return vec![finding(BreakKind::EntryMissing).expected("an entry").found(found).by(by).by(merchants)];
    };
    let mut findings = Vec::from_iter(bonus::check(tenant, id, &bonuses));
    for (by, named_home, claim) in references {
        let is_elsewhere = named_home.is_some_and(|named| named != **home);
        let is_other = claim.is_some_and(|claim| claim != EntryClaim { operation: *operation, key: *key });
        if is_elsewhere || is_other {
            let found = match claim {
                Some(claim) => format!("{} by {by}", claim.operation),
                None => format!("another place by {by}"),
            };
            let differs = finding(BreakKind::EntryDiffers).expected(format!("{operation} of {home}")).found(found);
            findings.push(differs.by(named(by, named_home).into_iter().flatten()).by([home.to_string()]));
        }
    }
    findings
}

/// Checks the entries of one key. A key that contains no time may be used again after its window.
pub(super) fn check_key(tenant: &Tenant, facts: &BTreeSet<KeyFact>) -> Vec<Finding> {
    let mut findings = Vec::new();
    // In order of time, which is a fact's first field.
    for (first, second) in facts.iter().zip(facts.iter().skip(1)) {
        if first.window_ms.is_some_and(|window| second.at.saturating_sub(first.at) > window) {
            continue;
        }
        let doubled = Finding::new(tenant, BreakKind::DuplicateEffect, format!("transaction:{}", second.entry))
            .expected("one entry under one key")
            .found(format!("another of {} of {}", first.operation, first.principal))
            .by([first, second].map(|fact| format!("transaction:{}", fact.entry)))
            .by(first.accounts.union(&second.accounts).map(Account::to_string));
        findings.push(doubled);
    }
    findings
}
