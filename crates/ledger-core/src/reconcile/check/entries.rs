//! Entries: whatever is named is there, once, and one key has one.

use crate::ids::{Tenant, TransactionId};
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::Fact;

/// An entry, and whatever names it.
pub(super) fn transaction(tenant: &Tenant, id: TransactionId, facts: &[Fact]) -> Vec<Finding> {
    let subject = format!("transaction:{id}");
    let finding = |kind| Finding::new(tenant, kind, &subject);
    let (mut entries, mut names) = (Vec::new(), Vec::new());
    for fact in facts {
        if let Fact::Entry { home, operation, key, .. } = fact {
            entries.push((home, operation, key));
        } else if let Fact::Named { by, home, says } = fact {
            names.push((by, home, says));
        }
    }
    let owners = |by: &str, home: &Option<String>| [Some(by.to_owned()), home.clone()].into_iter().flatten();
    let [(home, operation, key)] = entries.as_slice() else {
        let homes = entries.iter().map(|(home, _, _)| (*home).clone());
        if !entries.is_empty() {
            let doubled = finding(BreakKind::EntryDoubled).expected("one entry");
            return vec![doubled.found(format!("{} entries", entries.len())).by(homes)];
        }
        let by = names.iter().flat_map(|(by, home, _)| owners(by, home));
        let named = format!("none; named by {}", names.first().map_or("nothing", |(by, _, _)| by.as_str()));
        return vec![finding(BreakKind::EntryMissing).expected("an entry").found(named).by(by)];
    };
    let mut findings = Vec::new();
    for (by, says_home, says) in names {
        let elsewhere = says_home.as_ref().is_some_and(|said| said != *home);
        let otherwise =
            says.as_ref().is_some_and(|(said_operation, said_key)| said_operation != *operation || said_key != *key);
        if elsewhere || otherwise {
            let differs = finding(BreakKind::EntryDiffers).expected(format!("{operation} of {home}"));
            let said = says.as_ref().map_or("another place", |(said, _)| said.as_str());
            findings.push(differs.found(format!("{said} by {by}")).by(owners(by, says_home)));
        }
    }
    findings
}

/// The entries under one key. A key that carries no time may be used again after its window.
pub(super) fn once(tenant: &Tenant, facts: &[Fact]) -> Vec<Finding> {
    let mut effects = Vec::new();
    for fact in facts {
        if let Fact::Effect { entry, operation, principal, at, window_ms, accounts } = fact {
            effects.push((*at, entry, operation, principal, *window_ms, accounts));
        }
    }
    effects.sort();
    let mut findings: Vec<Finding> = Vec::new();
    for pair in effects.windows(2) {
        let [(first_at, first, operation, principal, window, accounts), (at, second, _, _, _, others)] = pair else {
            continue;
        };
        if window.is_some_and(|window| at.saturating_sub(*first_at) > window) {
            continue;
        }
        let doubled = Finding::new(tenant, BreakKind::DuplicateEffect, format!("transaction:{second}"))
            .expected("one entry under one key")
            .found(format!("another of {operation} of {principal}"))
            .by([first, second].map(|id| format!("transaction:{id}")))
            .by(accounts.iter().chain(others.iter()).cloned());
        findings.push(doubled);
    }
    findings
}
