//! Entries, and the items that name one: references, markers, events, approvals.

use super::bank_files;
use super::bonus;
use super::cash_room;
use super::credit::credit_by_seal;
use super::{Observation, Observations, StoredItem, digest, nums};
use crate::account::{self, Account, Bucket, TenantAccount};
use crate::approvals::ApprovalState;
use crate::dynamo::{Attributes, ItemError};
use crate::idempotency::{ClaimKey, LedgerKey, Phase, StoredState, Window};
use crate::ids::{ApprovalId, SettlementId, TopupId, TransactionId};
use crate::journal::CREDITED_BY;
use crate::journal::{JournalEntry, PAYMENT_STATUS};
use crate::keys::{APPROVAL, attr, sk};
use crate::migration::is_of_legacy;
use crate::money::Asset;
use crate::operation::Operation;
use crate::payment_state::PaymentState;
use crate::psp::PspId;
use crate::reconcile::breaks::BreakKind;
use crate::reconcile::fact::{
    AccountFact, EntryClaim, EntryFact, GroupFact, KeyFact, PaymentEntry, PaymentFact, SettlementEntry, SettlementFact,
    SettlementStep, TopupEntry, TopupFact, TopupStep,
};
use crate::reconcile::num::Num;
use crate::sealing::is_to_publish;
use crate::topups::{DECIDED, EntryDecision};

/// A journal entry as it was read, with the parts that say what it belongs to.
pub(super) struct ReadEntry {
    pub(super) entry: JournalEntry,
    pub(super) home: Account,
    pub(super) operation: Operation,
    pub(super) millis: i64,
}

/// A journal entry.
pub(super) fn entry(at: &StoredItem<'_>) -> Observations {
    let entry = JournalEntry::read(at.item)?;
    at.check_key("transaction_id", entry.id, at.after(sk::TXN))?;
    let home = Account::parse(&at.owner()).map_err(|_| ItemError::invalid(attr::PK))?;
    let (principal, key) = (at.item.text("principal")?, at.item.text("idempotency_key")?);
    let operation = at.item.named("operation", Operation::parse)?;
    // The payment's state after the entry. Nothing is computed from it, but it is shown to people.
    at.item.opt_named(PAYMENT_STATUS, PaymentState::parse)?;
    let millis = entry.created_at.millis();
    let of = ReadEntry { entry, home, operation, millis };
    let entry = &of.entry;
    let key_digest = digest(principal, operation.name(), key);
    let mut observed = vec![at.fact(GroupFact::Entry(entry.id, EntryFact::Entry { home, operation, key: key_digest }))];
    observed.extend(unbalanced(at, entry));
    let window = Window::of(operation);
    let born = ClaimKey::parse(key).ok().and_then(|key| key.born());
    let window_ms = window.replay.saturating_add(window.refused).as_millis();
    let fact = KeyFact {
        at: millis,
        entry: entry.id,
        operation,
        principal: principal.to_owned(),
        window_ms: born.is_none().then(|| i64::try_from(window_ms).unwrap_or(i64::MAX)),
        accounts: entry.postings.iter().map(|posting| posting.account).filter(Account::has_balance_item).collect(),
    };
    observed.push(at.fact(GroupFact::Key(key_digest, fact)));
    observed.extend(posted(at, &of)?);
    observed.extend(debt(at, &of)?);
    observed.extend(of_records(at, &of)?);
    observed.extend(bank_files::of_entry(at, &of)?);
    observed.extend(bonus::of_entry(at, &of)?);
    observed.extend(credit_by_seal(at, entry)?);
    if is_to_publish(&at.tenant, at.item) && at.is_late(entry.created_at, at.limits.event) {
        let late =
            at.finding(BreakKind::EventUnsent, format!("transaction:{}", entry.id)).expected("published as an event");
        observed.push(at.broken(late.found(format!("due since {}", entry.created_at)).by([at.owner()])));
    }
    Ok(observed)
}

/// The change of a customer's debt by an entry: `disputes` has what the wallet could not give.
fn debt(at: &StoredItem<'_>, of: &ReadEntry) -> Observations {
    match of.home {
        Account::Customer(_) => {}
        Account::Card(_) | Account::Merchant(_) | Account::Tenant(_) => return Ok(Vec::new()),
    }
    let own = of.entry.postings.iter().filter(|p| p.account == Account::Tenant(TenantAccount::Disputes));
    let sums =
        account::net(own.map(|p| (p.delta.asset().clone(), &p.delta))).map_err(|_| ItemError::invalid("postings"))?;
    let debts = sums.into_iter().map(|(asset, delta)| {
        let fact = AccountFact::Debt { delta: Num(delta.inverse().value()), at: of.millis };
        at.of_account(of.home, asset, fact)
    });
    Ok(debts.collect())
}

fn unbalanced(at: &StoredItem<'_>, entry: &JournalEntry) -> Option<Observation> {
    let unbalanced_sums = account::unbalanced(&entry.postings).ok()?;
    if unbalanced_sums.is_empty() && entry.postings.len() >= 2 {
        return None;
    }
    let sums = nums(entry.postings.iter().map(|posting| &posting.delta));
    let found: Vec<String> = sums.iter().map(|(asset, sum)| format!("{sum} {asset}")).collect();
    let found = if found.is_empty() { format!("{} postings", entry.postings.len()) } else { found.join(", ") };
    let finding = at.finding(BreakKind::UnbalancedEntry, format!("transaction:{}", entry.id)).expected("a sum of 0");
    let accounts = entry.postings.iter().map(|posting| posting.account.to_string());
    Some(at.broken(finding.found(found).by(accounts).by([at.owner()])))
}

/// Whether an entry corrects a break. It reverses a change of the balance that had no entry, so the balance is again
/// the sum of all other entries.
fn answers_a_break(at: &StoredItem<'_>) -> bool {
    at.item.contains_key("finding")
}

/// The postings to accounts that have a balance item. For a merchant, only those of settlements: everything else in
/// its balance comes from records.
fn posted(at: &StoredItem<'_>, of: &ReadEntry) -> Observations {
    if answers_a_break(at) {
        return Ok(Vec::new());
    }
    let moves_merchants = Operation::MOVING_MERCHANTS.contains(&of.operation);
    let own = of.entry.postings.iter().filter(|posting| match posting.account {
        Account::Customer(_) | Account::Card(_) => true,
        Account::Merchant(_) => moves_merchants,
        Account::Tenant(_) => false,
    });
    let part = own.map(|p| ((p.account, p.delta.asset().clone(), p.bucket), &p.delta));
    let sums = account::net(part).map_err(|_| ItemError::invalid("postings"))?;
    let topup = at.item.opt_parsed("topup_id", TopupId::parse)?;
    let mut observed = Vec::new();
    for ((account, asset, bucket), delta) in sums {
        let (held, delta) = (bucket == Bucket::Held, Num(delta.value()));
        if let Some(topup) = topup.filter(|_| held) {
            let fact = AccountFact::Hold { amount: delta, by: format!("topup:{topup}") };
            observed.push(at.of_account(account, asset.clone(), fact));
        }
        observed.push(at.of_account(account, asset, AccountFact::Posted { held, delta, at: of.millis }));
    }
    Ok(observed)
}

/// The facts of an entry about the record that it belongs to.
fn of_records(at: &StoredItem<'_>, of: &ReadEntry) -> Observations {
    let ReadEntry { entry, home, operation, .. } = of;
    let (id, home, operation) = (entry.id, *home, *operation);
    let to_merchants = entry.postings.iter().filter(|posting| matches!(posting.account, Account::Merchant(_)));
    let to_merchants = nums(to_merchants.map(|posting| &posting.delta));
    let by_settlement = Operation::MOVING_MERCHANTS.contains(&operation);
    let is_cash = cash_room::is_owed_cash(at, of)? || cash_room::is_deposit(at, of)?;
    let mut observed = Vec::new();
    match entry.payment_id {
        Some(payment) => {
            let by_seal = at.item.contains_key(CREDITED_BY);
            let fact = PaymentFact::Entry(PaymentEntry { entry: id, home, delta: to_merchants, by_seal });
            observed.push(at.fact(GroupFact::Payment(payment, fact)));
        }
        None if !by_settlement && !to_merchants.is_empty() && !is_cash => {
            let unexplained = at.finding(BreakKind::CreditDiffers, format!("transaction:{id}"));
            observed.push(at.broken(unexplained.expected("of a payment").found("posted to a merchant for no payment")));
        }
        None => {}
    }
    let topup = at.item.opt_parsed("topup_id", TopupId::parse)?;
    let decision = at.item.opt_named(DECIDED, EntryDecision::parse)?;
    if let Some(topup) = topup {
        let on_suspense = entry.postings.iter().filter(|p| p.account == Account::Tenant(TenantAccount::Suspense));
        let on_suspense = nums(on_suspense.map(|posting| &posting.delta));
        let step = TopupStep::of(operation, decision, entry.refund_id, at.item.opt_named("psp_id", PspId::parse)?);
        let suspense = on_suspense.get(&Asset::Ecopay).copied().unwrap_or_default();
        let fact = TopupFact::Entry(TopupEntry { entry: id, home, step, suspense });
        observed.push(at.fact(GroupFact::Topup(topup, fact)));
    }
    let settlement = if by_settlement {
        Some(at.item.parsed("settlement_id", SettlementId::parse)?)
    } else {
        at.item.opt_parsed("settlement_id", SettlementId::parse)?
    };
    if let Some(settlement) = settlement {
        let held = entry.postings.iter().filter(|posting| posting.bucket == Bucket::Held);
        let held = nums(held.map(|posting| &posting.delta));
        let out = Num::ZERO.minus(held.get(&Asset::Ecopay).copied().unwrap_or_default());
        let fact = SettlementFact::Entry(SettlementEntry {
            home,
            step: SettlementStep::of(operation),
            out,
            booked: bank_files::yen_of(of, TenantAccount::BankClearing),
            bank: bank_files::yen_of(of, TenantAccount::Bank),
        });
        observed.push(at.fact(GroupFact::Settlement(settlement, fact)));
    }
    Ok(observed)
}

/// A reference to an entry in another party's partition. Legacy operations have no entry.
pub(super) fn reference(at: &StoredItem<'_>) -> Observations {
    if is_of_legacy(at.item) {
        return Ok(Vec::new());
    }
    let id = at.item.parsed("transaction_id", TransactionId::parse)?;
    at.check_key("transaction_id", id, at.after(sk::TXNREF))?;
    let operation = at.item.named("operation", Operation::parse)?;
    let (principal, key) = (at.item.text("principal")?, at.item.text("idempotency_key")?);
    let claim = Some(EntryClaim { operation, key: digest(principal, operation.name(), key) });
    let home = Some(at.item.parsed("home", Account::parse)?);
    let merchant = cash_room::merchant_of(at)?;
    let fact = EntryFact::Reference { by: at.owner(), home, merchant, claim };
    let mut observed = vec![at.fact(GroupFact::Entry(id, fact))];
    observed.extend(cash_room::taken(at)?);
    Ok(observed)
}

/// An idempotency marker: the entry that it names, and whether it is in flight for too long.
pub(super) fn marker(at: &StoredItem<'_>) -> Observations {
    let operation = at.item.named("operation", Operation::parse)?;
    at.check_key("operation", operation, at.marked_operation().unwrap_or_default())?;
    let mut observed = reference_by(at, &at.shown(), "entry_id")?;
    match at.item.named("state", StoredState::parse)? {
        StoredState::InFlight(Phase::InFlight | Phase::FailedRetry) => {
            let due = at.due_at()?;
            if at.is_late(due, at.limits.claim) {
                let resource = at.item.opt_text("topup_id")?.unwrap_or_default();
                let stuck = at.finding(BreakKind::ClaimStuck, at.shown()).by([format!("topup:{resource}")]);
                observed.push(at.broken(stuck.expected("an answer").found(format!("in flight, due since {due}"))));
            }
        }
        // A parked operation needs review; another alarm reports it.
        StoredState::InFlight(Phase::Parked)
        | StoredState::Completed
        | StoredState::FailedTerminal
        | StoredState::Reversed => {}
    }
    Ok(observed)
}

/// The marker of an event of the payment provider.
pub(super) fn event(at: &StoredItem<'_>) -> Observations {
    reference_by(at, &at.owner(), "entry_id")
}

/// A command that takes two people. An approved one names its entry, if it has one, and not where the entry is.
pub(super) fn approval(at: &StoredItem<'_>) -> Observations {
    let id = at.item.parsed("approval_id", ApprovalId::parse)?;
    at.check_key("approval_id", id, at.after(APPROVAL))?;
    let observed = reference_by(at, LedgerKey::of_approval(id).as_str(), "transaction_id")?;
    match at.item.named("state", ApprovalState::parse)? {
        ApprovalState::Approved => Ok(observed),
        ApprovalState::Pending | ApprovalState::Rejected | ApprovalState::Withdrawn | ApprovalState::Stale
            if observed.is_empty() =>
        {
            Ok(observed)
        }
        ApprovalState::Pending
        | ApprovalState::Rejected
        | ApprovalState::Withdrawn
        | ApprovalState::Expired
        | ApprovalState::Stale => Err(ItemError::invalid("state")),
    }
}

fn reference_by(at: &StoredItem<'_>, by: &str, id: &str) -> Result<Vec<Observation>, ItemError> {
    let Some(entry) = at.item.opt_parsed(id, TransactionId::parse)? else { return Ok(Vec::new()) };
    let home = at.item.opt_parsed("entry_home", Account::parse)?;
    let reference = EntryFact::Reference { by: by.to_owned(), home, merchant: None, claim: None };
    Ok(vec![at.fact(GroupFact::Entry(entry, reference))])
}
