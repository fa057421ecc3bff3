//! Entries, and whatever names one: references, markers, events, adjustments.

use super::{At, Said, Told, digest, nums, wrong};
use crate::account::{self, Account, Bucket, TenantAccount};
use crate::dynamo::{ItemError, read};
use crate::idempotency::{IdempotencyKey, Window};
use crate::ids::{CustomerId, SettlementId, TopupId, TransactionId};
use crate::keys::attr;
use crate::migration::is_of_legacy;
use crate::money::Asset;
use crate::operation::Operation;
use crate::ops::journal::JournalEntry;
use crate::ops::topup::DECIDED;
use crate::reconcile::breaks::BreakKind;
use crate::reconcile::fact::{Fact, Subject};
use crate::reconcile::num::Num;
use std::collections::BTreeSet;

/// A journal entry.
pub(super) fn entry(at: &At<'_>) -> Told {
    let entry = JournalEntry::read(at.item)?;
    let (principal, key) = (read::text(at.item, "principal")?, read::text(at.item, "idempotency_key")?);
    let operation = Operation::parse(&entry.operation).ok_or_else(|| wrong("operation"))?;
    let key_digest = digest(principal, operation.name(), key);
    let (id, millis) = (entry.id.to_string(), entry.created_at.millis());
    let mut said = vec![at.fact(
        Subject::Transaction(entry.id),
        Fact::Entry {
            home: at.owner(),
            operation: entry.operation.clone(),
            key: key_digest.clone(),
            at: at.sk.to_owned(),
        },
    )];
    if let Some(unbalanced) = unbalanced(at, &entry) {
        said.push(unbalanced);
    }
    let window = Window::of(operation);
    let born = IdempotencyKey::parse(key).ok().and_then(|key| key.born());
    let wallets: BTreeSet<Account> =
        entry.postings.iter().map(|posting| posting.account).filter(Account::has_balance_item).collect();
    said.push(
        at.fact(
            Subject::Once(key_digest),
            Fact::Effect {
                entry: id.clone(),
                operation: entry.operation.clone(),
                principal: principal.to_owned(),
                at: millis,
                window_ms: born
                    .is_none()
                    .then(|| i64::try_from(window.replay.saturating_add(window.gone).as_millis()).unwrap_or(i64::MAX)),
                accounts: wallets.iter().map(Account::to_string).collect(),
            },
        ),
    );
    said.extend(posted(at, &entry, operation)?);
    said.extend(owing(at, &entry)?);
    said.extend(of_records(at, &entry, operation)?);
    let is_due = read::opt_text(at.item, attr::DUE_PK)?.is_some_and(|mark| mark.contains("#due#publish#"));
    if is_due && at.is_late(entry.created_at, at.limits.event) {
        let late = at.finding(BreakKind::EventUnsent, format!("transaction:{id}")).expected("told as an event");
        said.push(at.broken(late.found(format!("due since {}", entry.created_at)).by([at.owner()])));
    }
    Ok(said)
}

/// What its holder owes by it: `disputes` has what a wallet could not give.
fn owing(at: &At<'_>, entry: &JournalEntry) -> Told {
    let Ok(customer) = CustomerId::parse(at.id) else { return Ok(Vec::new()) };
    let own = entry.postings.iter().filter(|p| p.account == Account::Tenant(TenantAccount::Disputes));
    let sums = account::net(own.map(|p| (p.delta.asset().clone(), &p.delta))).map_err(|_| wrong("postings"))?;
    let owing = sums.into_iter().map(|(asset, delta)| {
        let fact = Fact::Owing { delta: Num(delta.inverse().value()), at: entry.created_at.millis() };
        at.fact(Subject::Account(Account::Customer(customer), asset), fact)
    });
    Ok(if at.kind == "customer" { owing.collect() } else { Vec::new() })
}

fn unbalanced(at: &At<'_>, entry: &JournalEntry) -> Option<Said> {
    let odd = account::unbalanced(&entry.postings).ok()?;
    if odd.is_empty() && entry.postings.len() >= 2 {
        return None;
    }
    let sums = nums(entry.postings.iter().map(|posting| &posting.delta));
    let found: Vec<String> = sums.iter().map(|(asset, sum)| format!("{sum} {asset}")).collect();
    let found = if found.is_empty() { format!("{} postings", entry.postings.len()) } else { found.join(", ") };
    let finding = at.finding(BreakKind::UnbalancedEntry, format!("transaction:{}", entry.id)).expected("a sum of 0");
    let accounts = entry.postings.iter().map(|posting| posting.account.to_string());
    Some(at.broken(finding.found(found).by(accounts).by([at.owner()])))
}

/// An entry that answers a break takes back what moved a balance without an entry, so that the balance is again
/// the sum of all others.
fn answers_a_break(at: &At<'_>) -> bool {
    at.item.contains_key("finding")
}

/// What it posts to accounts that have a balance item of their own; to a merchant by a settlement only, for
/// everything else a merchant's balance follows from records.
fn posted(at: &At<'_>, entry: &JournalEntry, operation: Operation) -> Told {
    if answers_a_break(at) {
        return Ok(Vec::new());
    }
    let moves_merchants = Operation::MOVING_MERCHANTS.contains(&operation);
    let own = entry.postings.iter().filter(|posting| match posting.account {
        Account::Customer(_) | Account::Card(_) => true,
        Account::Merchant(_) => moves_merchants,
        Account::Tenant(_) => false,
    });
    let part = own.map(|p| ((p.account, p.delta.asset().clone(), p.bucket), &p.delta));
    let sums = account::net(part).map_err(|_| wrong("postings"))?;
    let topup = read::opt_text(at.item, "topup_id")?;
    let mut said = Vec::new();
    for ((account, asset, bucket), delta) in sums {
        let (held, delta) = (bucket == Bucket::Held, Num(delta.value()));
        let of = Subject::Account(account, asset);
        if let Some(topup) = topup.filter(|_| held) {
            said.push(at.fact(of.clone(), Fact::Holding { amount: delta, by: format!("topup:{topup}") }));
        }
        said.push(at.fact(of, Fact::Posted { held, delta, at: entry.created_at.millis() }));
    }
    Ok(said)
}

/// What it says of the record that it belongs to.
fn of_records(at: &At<'_>, entry: &JournalEntry, operation: Operation) -> Told {
    let (id, text) = (entry.id.to_string(), |name: &str| read::opt_string(at.item, name));
    let to_merchants = entry.postings.iter().filter(|posting| matches!(posting.account, Account::Merchant(_)));
    let to_merchants = nums(to_merchants.map(|posting| &posting.delta));
    let by_settlement = Operation::MOVING_MERCHANTS.contains(&operation);
    let mut said = Vec::new();
    match entry.payment_id {
        Some(payment) => {
            said.push(at.fact(
                Subject::Payment(payment),
                Fact::Moved { entry: id.clone(), home: at.owner(), delta: to_merchants },
            ));
        }
        None if !by_settlement && !to_merchants.is_empty() => {
            let odd = at.finding(BreakKind::CreditDiffers, format!("transaction:{id}"));
            said.push(at.broken(odd.expected("of a payment").found("posted to a merchant for no payment")));
        }
        None => {}
    }
    if let Some(topup) = read::opt_parsed(at.item, "topup_id", TopupId::parse)? {
        let on_suspense = entry.postings.iter().filter(|p| p.account == Account::Tenant(TenantAccount::Suspense));
        let on_suspense = nums(on_suspense.map(|posting| &posting.delta));
        said.push(at.fact(
            Subject::Topup(topup),
            Fact::TopupEntry {
                entry: id,
                operation: operation.name().to_owned(),
                refund: text("refund_id")?,
                psp_id: text("psp_id")?,
                decided: text(DECIDED)?,
                suspense: on_suspense.get(Asset::Ecopay.to_string().as_str()).copied().unwrap_or_default(),
            },
        ));
    }
    if by_settlement {
        let settlement = read::parsed(at.item, "settlement_id", SettlementId::parse)?;
        let held = entry.postings.iter().filter(|posting| posting.bucket == Bucket::Held);
        let held = nums(held.map(|posting| &posting.delta));
        let out = held.get(Asset::Ecopay.to_string().as_str()).copied().unwrap_or_default();
        let out = Num::ZERO.minus(out);
        let fact = Fact::SettlementEntry { operation: operation.name().to_owned(), out };
        said.push(at.fact(Subject::Settlement(settlement), fact));
    }
    Ok(said)
}

/// Another party's view of an entry. What happened before the ledger kept books has no entry.
pub(super) fn reference(at: &At<'_>) -> Told {
    if is_of_legacy(at.item) {
        return Ok(Vec::new());
    }
    let id = read::parsed(at.item, "transaction_id", TransactionId::parse)?;
    let text = |name: &str| read::text(at.item, name);
    let operation = text("operation")?;
    let key = digest(text("principal")?, operation, text("idempotency_key")?);
    let says = Some((operation.to_owned(), key));
    let home = Some(text("home")?.to_owned());
    Ok(vec![at.fact(Subject::Transaction(id), Fact::Named { by: at.owner(), home, says })])
}

/// An idempotency marker: the entry that it tells of, and whether it has been in flight for too long.
pub(super) fn marker(at: &At<'_>) -> Told {
    let mut said = named(at, &at.shown(), "entry_id", "entry_home")?;
    match read::text(at.item, "state")? {
        "IN_FLIGHT" | "FAILED_RETRY" => {
            let due = at.due_at()?;
            if at.is_late(due, at.limits.claim) {
                let resource = read::opt_text(at.item, "topup_id")?.unwrap_or_default();
                let stuck = at.finding(BreakKind::ClaimStuck, at.shown()).by([format!("topup:{resource}")]);
                said.push(at.broken(stuck.expected("an answer").found(format!("in flight, due since {due}"))));
            }
        }
        // What is parked waits for a person, who is told otherwise.
        "COMPLETED" | "FAILED_TERMINAL" | "REVERSED" | "PARKED" => {}
        _ => return Err(wrong("state")),
    }
    Ok(said)
}

/// The marker of an event of the payment provider.
pub(super) fn event(at: &At<'_>) -> Told {
    named(at, &at.owner(), "entry_id", "entry_home")
}

/// An adjustment that was posted.
pub(super) fn adjustment(at: &At<'_>) -> Told {
    let by = format!("adjustment:{}", read::text(at.item, "adjustment_id")?);
    named(at, &by, "transaction_id", "account")
}

fn named(at: &At<'_>, by: &str, id: &str, home: &str) -> Result<Vec<Said>, ItemError> {
    if !at.item.contains_key(id) {
        return Ok(Vec::new());
    }
    let entry = read::parsed(at.item, id, TransactionId::parse)?;
    let home = read::opt_string(at.item, home)?;
    Ok(vec![at.fact(Subject::Transaction(entry), Fact::Named { by: by.to_owned(), home, says: None })])
}
