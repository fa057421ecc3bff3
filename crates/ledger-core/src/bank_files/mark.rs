//! What one person records that the bank did with a file: it has accepted it, and another person that it has debited it.

use super::file::{
    ACCEPTED_AT, ACCEPTED_BY, BankFile, BankFileState, DEBIT_ID, DEBITED_AT, DEBITED_BY, DEBITED_SUM, REFERENCE, STATE,
};
use crate::account::{Account, Posting, TenantAccount};
use crate::audit::Act;
use crate::dynamo::{Item, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, StaffId, Tenant};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::transaction::{BuildError, Draft, Entry, Planned, Transaction};

/// A record that the bank has accepted a file.
#[derive(Clone, Copy, Debug)]
pub struct FileAcceptance<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who records it.
    pub by: StaffId,
    /// What the bank calls the file.
    pub reference: &'a FreeText,
}

/// A record that the bank has debited a file's sum.
#[derive(Clone, Copy, Debug)]
pub struct FileDebit<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who records it.
    pub by: StaffId,
}

/// Records that the bank has accepted the file. From the end of its day on it is due to be debited.
///
/// # Errors
/// `WrongState` if it is not written.
pub fn plan_accept(of: &FileAcceptance<'_>, file: &BankFile, cx: &Context) -> Result<Planned<BankFile>, PlanRefusal> {
    let FileAcceptance { tenant, by, reference } = *of;
    if file.state != BankFileState::Written {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let update = Update::new()
        .set(STATE, STATE, Value::s(BankFileState::Accepted.name()))
        .set(ACCEPTED_AT, "ua", Value::s(cx.now))
        .set(ACCEPTED_BY, "by", Value::s(by))
        .set(REFERENCE, "reference", Value::s(reference.expose()));
    let update = file.due(tenant, file.id.pay_on.bounds().1).set(update);
    let act = Act::new(Actor::Staff(by), Operation::BankFileAccept, subject(file));
    let accepted = BankFile {
        state: BankFileState::Accepted,
        accepted_at: Some(cx.now),
        accepted_by: Some(by),
        reference: Some(reference.clone()),
        version: file.version.saturating_add(1),
        ..file.clone()
    };
    let items = vec![file.changed(tenant, update, cx.now), act.record(tenant, cx)];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: accepted })
}

/// Records that the bank has debited the file's sum, less what it returned before: the money left, so `bank_clearing` has it no more.
///
/// # Errors
/// `WrongState` if it is not accepted, `FourEyes` if the same person recorded that.
pub fn plan_debit(
    of: &FileDebit<'_>,
    file: &BankFile,
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Planned<BankFile>, PlanRefusal> {
    let FileDebit { tenant, by } = *of;
    if file.state != BankFileState::Accepted {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    if file.accepted_by == Some(by) {
        return Err(PlanRefusal::Refused(Failure::FourEyes));
    }
    let sum = file.left_sum()?.as_amount();
    let mut update = BankFile::not_due(Update::new())
        .set(STATE, STATE, Value::s(BankFileState::Debited.name()))
        .set(DEBITED_AT, "ua", Value::s(cx.now))
        .set(DEBITED_BY, "by", Value::s(by));
    if let Some(sum) = &sum {
        // The reconciliation finds the entry by it.
        update = update.set(DEBITED_SUM, DEBITED_SUM, Value::N(sum.text())).set(
            DEBIT_ID,
            "entry",
            Value::s(cx.transaction_id),
        );
    }
    let entry = sum.as_ref().map(|sum| Entry {
        id: cx.transaction_id,
        home: Account::Tenant(TenantAccount::Bank),
        postings: vec![
            Posting::new(Account::Tenant(TenantAccount::BankClearing), sum.debit()),
            Posting::new(Account::Tenant(TenantAccount::Bank), sum.credit()),
        ],
        references: Vec::new(),
        details: Item::from([("bank_file_id".to_owned(), Value::s(file.id))]),
        memo: None,
        terms: terms.of_entry(),
    });
    let act = Act::new(Actor::Staff(by), Operation::BankFileDebit, subject(file));
    let act = sum.iter().fold(act, |act, sum| act.with("amount", sum.text()));
    let debited = BankFile {
        state: BankFileState::Debited,
        debited_at: Some(cx.now),
        debited_by: Some(by),
        debit_id: sum.as_ref().map(|_| cx.transaction_id),
        debited_sum: sum,
        version: file.version.saturating_add(1),
        ..file.clone()
    };
    let items = vec![file.changed(tenant, update, cx.now), act.record(tenant, cx)];
    Ok(Planned { draft: Draft { entry, items }, receipt: debited })
}

/// Records that a person reads the content of a file: the accounts of merchants.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn reading(tenant: &Tenant, by: Actor, file: &BankFile, cx: &Context) -> Result<Transaction, BuildError> {
    let act = Act::new(by, Operation::BankFileRead, subject(file));
    Transaction::unkeyed(vec![act.record(tenant, cx)])
}

/// What acts about a file are about.
pub(super) fn subject(file: &BankFile) -> String {
    format!("bank_file:{}", file.id)
}
