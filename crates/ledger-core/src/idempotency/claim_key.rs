//! The key of a claim: a caller's, or one that the ledger derives.

use super::{IdempotencyKey, KeyError};
use crate::account::Account;
use crate::ids::{ApprovalId, JobId, PaymentId, SettlementId, TransactionId};
use crate::keys::{EntryKey, MarkedKey};
use crate::time::Timestamp;
use std::fmt;

/// A key that the ledger derives from what a step is of: an id and words with spaces between them. An id comes first, because
/// the journal keeps that as bytes.
///
/// INVARIANT: no caller chooses one. An [`IdempotencyKey`] has no space, so the texts differ, and a marker of the ledger is
/// below another sort-key prefix than a caller's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LedgerKey(String);

/// The key of a claim, and of what the claim writes in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ClaimKey {
    /// Chosen by the caller, in any form.
    Caller(IdempotencyKey),
    /// Derived by the ledger.
    Ledger(LedgerKey),
}

impl LedgerKey {
    /// The end of the key of an approved command.
    const APPROVAL: &str = " approval";

    /// Of the entry that an approved command writes.
    #[must_use]
    pub fn of_approval(id: ApprovalId) -> Self {
        Self(format!("{id}{}", Self::APPROVAL))
    }

    /// Of a job's line: what the job does to one account.
    #[must_use]
    pub fn of_job_line(job: JobId, account: Account) -> Self {
        Self(format!("{job} {account}"))
    }

    /// Of the expiry of a payment's hold.
    #[must_use]
    pub fn of_expiry(payment: PaymentId) -> Self {
        Self(format!("{payment} expiry"))
    }

    /// Of the bonus on a cash top-up with this entry.
    #[must_use]
    pub fn of_cash_bonus(topup: TransactionId) -> Self {
        Self(format!("{topup} bonus"))
    }

    /// Of a step of a settlement.
    #[must_use]
    pub fn of_settlement(id: SettlementId, step: &str) -> Self {
        Self(format!("{id} {step}"))
    }

    /// Of a movement of the payment provider's. A movement that comes back has a round above two.
    #[must_use]
    pub fn of_movement(id: &impl fmt::Display, round: u32) -> Self {
        Self(match round {
            0..=2 => format!("movement {id}"),
            round => format!("movement {id} {round}"),
        })
    }

    /// Of the entry that opens an adopted customer's books.
    #[must_use]
    pub fn of_opening() -> Self {
        Self("opening balance".to_owned())
    }

    /// Of the copy of a concern's records under one fence.
    #[must_use]
    pub fn of_copy(concern: &str, fence: i64) -> Self {
        Self(format!("copy {concern} {fence}"))
    }

    /// The approval whose command has this key.
    #[must_use]
    pub fn approval(&self) -> Option<ApprovalId> {
        ApprovalId::parse(self.0.strip_suffix(Self::APPROVAL)?).ok()
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ClaimKey {
    /// Reads a stored key.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] if it is no caller's key, and does not have words that are separated by single spaces.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if !text.contains(' ') {
            return IdempotencyKey::parse(text).map(Self::Caller);
        }
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic());
        if text.split(' ').all(is_word) {
            Ok(Self::Ledger(LedgerKey(text.to_owned())))
        } else {
            Err(KeyError::Malformed)
        }
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Caller(key) => key.as_str(),
            Self::Ledger(key) => key.as_str(),
        }
    }

    /// The time in a caller's key, if it is a `UUIDv7`. A key of the ledger has none.
    #[must_use]
    pub fn born(&self) -> Option<Timestamp> {
        match self {
            Self::Caller(key) => key.born(),
            Self::Ledger(_) => None,
        }
    }

    /// The approval whose command has this key.
    #[must_use]
    pub fn approval(&self) -> Option<ApprovalId> {
        match self {
            Self::Caller(_) => None,
            Self::Ledger(key) => key.approval(),
        }
    }
}

impl MarkedKey for ClaimKey {
    fn is_derived(&self) -> bool {
        match self {
            Self::Caller(_) => false,
            Self::Ledger(_) => true,
        }
    }

    fn text(&self) -> &str {
        self.as_str()
    }
}

impl From<&ClaimKey> for EntryKey {
    fn from(key: &ClaimKey) -> Self {
        Self { text: key.as_str().to_owned(), is_derived: key.is_derived() }
    }
}

impl From<LedgerKey> for EntryKey {
    fn from(LedgerKey(text): LedgerKey) -> Self {
        Self { text, is_derived: true }
    }
}

impl From<IdempotencyKey> for ClaimKey {
    fn from(key: IdempotencyKey) -> Self {
        Self::Caller(key)
    }
}

impl From<LedgerKey> for ClaimKey {
    fn from(key: LedgerKey) -> Self {
        Self::Ledger(key)
    }
}

impl fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Principal, StaffId, Tenant};
    use crate::keys;
    use crate::operation::Operation;

    const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

    fn of_the_ledger() -> [LedgerKey; 7] {
        let job = JobId::parse(ID).unwrap();
        [
            LedgerKey::of_approval(ApprovalId::parse(ID).unwrap()),
            LedgerKey::of_job_line(job, Account::parse(&format!("customer:{ID}")).unwrap()),
            LedgerKey::of_expiry(PaymentId::parse(ID).unwrap()),
            LedgerKey::of_cash_bonus(TransactionId::parse(ID).unwrap()),
            LedgerKey::of_settlement(SettlementId::parse(ID).unwrap(), "hold"),
            LedgerKey::of_opening(),
            LedgerKey::of_copy("balance", 3),
        ]
    }

    #[test]
    fn no_caller_can_send_a_key_of_the_ledger() {
        for key in of_the_ledger() {
            assert_eq!(IdempotencyKey::parse(key.as_str()), Err(KeyError::Malformed), "{key:?}");
            let quoted = IdempotencyKey::from_header(&format!("\"{}\"", key.as_str()));
            assert_eq!(quoted, Err(KeyError::Malformed), "{key:?}");
            assert_eq!(ClaimKey::parse(key.as_str()), Ok(ClaimKey::Ledger(key)));
        }
        for wrong in ["", " a", "a ", "a  b", "a\tb c", "\u{3042} a"] {
            assert_eq!(ClaimKey::parse(wrong), Err(KeyError::Malformed), "{wrong:?}");
        }
    }

    #[test]
    fn marker_of_the_ledger_is_apart_from_every_callers() {
        let (tenant, staff) = (Tenant::parse("demo").unwrap(), Principal::Staff(StaffId::parse(ID).unwrap()));
        let at = |key: &ClaimKey| keys::marker(&tenant, staff, Operation::WindDown, key).sk().to_owned();
        for key in of_the_ledger() {
            let text = key.as_str().replace(' ', "-");
            let callers = ClaimKey::from(IdempotencyKey::parse(&text).unwrap());
            assert!(at(&callers).starts_with("card_op_idem#"), "{text}");
            assert!(at(&ClaimKey::from(key)).starts_with("ledger_idem#"), "{text}");
        }
    }

    #[test]
    fn approval_is_read_from_its_key_alone() {
        let id = ApprovalId::parse(ID).unwrap();
        assert_eq!(ClaimKey::from(LedgerKey::of_approval(id)).approval(), Some(id));
        assert_eq!(ClaimKey::parse(&format!("approval:{ID}")).unwrap().approval(), None);
    }
}
