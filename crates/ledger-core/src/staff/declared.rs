//! What a staff record declares: the accounts that are the person's own, or of the person's family or business.

use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::StaffId;
use crate::time::Timestamp;
use crate::words::words;
use std::collections::BTreeMap;

const KIND: &str = "kind";
const BY: &str = "by";
const AT: &str = "at";

/// The most declared accounts of one person.
pub(super) const ACCOUNTS_MAX: usize = 20;

words! {
    /// Whose an account is that a staff record declares.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum BeneficiaryKind {
        /// The person's own.
        Own = "own",
        /// That of a member of the person's family.
        Family = "family",
        /// That of a business which the person has an interest in.
        Business = "business",
    }
}

/// A declared tie of a staff record to one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Whose the account is.
    pub kind: BeneficiaryKind,
    /// The member who declared it.
    pub by: StaffId,
    /// When it was declared.
    pub at: Timestamp,
}

/// The declared ties of a staff record, by account.
pub type DeclaredTies = BTreeMap<Account, Declared>;

/// The accounts and kinds that a request names.
pub type BeneficiaryKinds = BTreeMap<Account, BeneficiaryKind>;

impl Declared {
    fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            kind: item.named(KIND, BeneficiaryKind::parse)?,
            by: item.parsed(BY, StaffId::parse)?,
            at: item.timestamp(AT)?,
        })
    }

    fn item(&self) -> Item {
        let of = [(KIND, Value::s(self.kind.name())), (BY, Value::s(self.by)), (AT, Value::s(self.at))];
        of.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Reads the declared ties of a record; none if there is no such attribute.
pub(super) fn read_declared(item: &Item, name: &str) -> Result<DeclaredTies, ItemError> {
    let Some(all) = item.opt_map(name)? else { return Ok(DeclaredTies::new()) };
    let one = |account: &String| Ok((account_of(account, name)?, Declared::read(all.map(account)?)?));
    all.keys().map(one).collect()
}

/// The stored form of declared ties.
pub(super) fn declared_value(all: &DeclaredTies) -> Value {
    Value::M(all.iter().map(|(account, of)| (account.to_string(), Value::M(of.item()))).collect())
}

/// Reads accounts and kinds; `None` if there is no such attribute.
pub(crate) fn read_kinds(item: &Item, name: &str) -> Result<Option<BeneficiaryKinds>, ItemError> {
    let Some(all) = item.opt_map(name)? else { return Ok(None) };
    let one = |account: &String| Ok((account_of(account, name)?, all.named(account, BeneficiaryKind::parse)?));
    all.keys().map(one).collect::<Result<_, ItemError>>().map(Some)
}

/// The stored form of accounts and kinds.
pub(crate) fn kinds_value(all: &BeneficiaryKinds) -> Value {
    Value::M(all.iter().map(|(account, kind)| (account.to_string(), Value::s(kind.name()))).collect())
}

/// The accounts and kinds as text, for the audit trail and for who decides: `customer:<id>=own`, joined by `+`.
#[must_use]
pub fn kinds_text(all: &BeneficiaryKinds) -> String {
    all.iter().map(|(account, kind)| format!("{account}={}", kind.name())).collect::<Vec<_>>().join("+")
}

/// The accounts and kinds of declared ties.
pub(crate) fn kinds_of(declared: &DeclaredTies) -> BeneficiaryKinds {
    declared.iter().map(|(account, of)| (*account, of.kind)).collect()
}

/// Whether an account has a holder who can be declared: that of a customer, a card or a merchant.
pub(super) const fn can_be_declared(account: &Account) -> bool {
    match account {
        Account::Customer(_) | Account::Card(_) | Account::Merchant(_) => true,
        Account::Tenant(_) => false,
    }
}

/// The ties after a declaration of all of them. What keeps its kind keeps who declared it, and when.
pub(super) fn declare(before: &DeclaredTies, all: &BeneficiaryKinds, by: StaffId, now: Timestamp) -> DeclaredTies {
    let one = |(account, kind): (&Account, &BeneficiaryKind)| {
        let kept = before.get(account).filter(|of| of.kind == *kind);
        (*account, kept.copied().unwrap_or(Declared { kind: *kind, by, at: now }))
    };
    all.iter().map(one).collect()
}

/// Whether a tie of `before` is missing in `all`, or is one that binds the member less.
pub(super) fn is_weakened(before: &DeclaredTies, all: &BeneficiaryKinds) -> bool {
    let binds_less = |(account, of): (&Account, &Declared)| match (of.kind, all.get(account)) {
        (_, None) | (BeneficiaryKind::Own, Some(BeneficiaryKind::Family | BeneficiaryKind::Business)) => true,
        (BeneficiaryKind::Own, Some(BeneficiaryKind::Own))
        | (BeneficiaryKind::Family | BeneficiaryKind::Business, Some(_)) => false,
    };
    before.iter().any(binds_less)
}

fn account_of(text: &str, name: &str) -> Result<Account, ItemError> {
    Account::parse(text).map_err(|_| ItemError::invalid(name))
}
