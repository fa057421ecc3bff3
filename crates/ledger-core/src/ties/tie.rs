//! One tie between a member and an account.

use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::StaffId;
use crate::staff::BeneficiaryKind;
use crate::words::words;

words! {
    /// Why an account is a member's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum TieKind {
        /// The member signs in to the wallet, or did before the customer was moved to another sign-in.
        SignIn = "sign_in",
        /// The card, or one that replaced it, is in a wallet that the member signs in to.
        Card = "card",
        /// The member has accepted an invitation to the merchant's staff.
        Staff = "staff",
        /// The record of the member declares it as the person's own.
        Own = "own",
        /// The record of the member declares it as the family's.
        Family = "family",
        /// The record of the member declares it as that of a business which the person has an interest in.
        Business = "business",
    }
}

impl TieKind {
    /// Whether the account is the member's own: then the member never asks for, decides on or does alone what is for it.
    #[must_use]
    pub const fn is_own(self) -> bool {
        match self {
            Self::SignIn | Self::Card | Self::Staff | Self::Own => true,
            Self::Family | Self::Business => false,
        }
    }
}

impl From<BeneficiaryKind> for TieKind {
    fn from(kind: BeneficiaryKind) -> Self {
        match kind {
            BeneficiaryKind::Own => Self::Own,
            BeneficiaryKind::Family => Self::Family,
            BeneficiaryKind::Business => Self::Business,
        }
    }
}

/// A tie between a member of the operator's staff and an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tie {
    /// The member.
    pub member: StaffId,
    /// The account.
    pub account: Account,
    /// Why it is the member's.
    pub kind: TieKind,
}

impl Tie {
    /// Reads a stored tie.
    pub(crate) fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            member: item.parsed("member", StaffId::parse)?,
            account: item.parsed("account", Account::parse)?,
            kind: item.named("kind", TieKind::parse)?,
        })
    }

    /// The stored form: ids alone.
    pub(crate) fn value(&self) -> Value {
        let of = [
            ("member", Value::s(self.member)),
            ("account", Value::s(self.account)),
            ("kind", Value::s(self.kind.name())),
        ];
        Value::M(of.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}
