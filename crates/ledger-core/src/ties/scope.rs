//! What an act is for: named accounts, or a class of them.

use crate::account::Account;

/// What an act is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActScope {
    /// These accounts gain or are relieved by it. A tie to one of them counts.
    Named(Vec<Account>),
    /// It follows one rule for a class of accounts. A tie is shown and recorded, and keeps no member from deciding.
    Class(Among),
}

/// A class of accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Among {
    /// These.
    Accounts(Vec<Account>),
    /// All merchants of the tenant.
    Merchants,
    /// All accounts of the tenant.
    Everyone,
}

impl ActScope {
    /// The accounts that it lists.
    #[must_use]
    pub fn accounts(&self) -> &[Account] {
        match self {
            Self::Named(accounts) | Self::Class(Among::Accounts(accounts)) => accounts,
            Self::Class(Among::Merchants | Among::Everyone) => &[],
        }
    }

    /// Whether a tie to an account of it keeps a member from asking and deciding.
    #[must_use]
    pub const fn is_named(&self) -> bool {
        match self {
            Self::Named(_) => true,
            Self::Class(_) => false,
        }
    }

    /// Whether the class has an account, without its being listed.
    pub(super) const fn includes(&self, account: &Account) -> bool {
        match (self, account) {
            (Self::Class(Among::Merchants), Account::Merchant(_))
            | (Self::Class(Among::Everyone), Account::Merchant(_) | Account::Customer(_) | Account::Card(_)) => true,
            (Self::Named(_) | Self::Class(_), _) => false,
        }
    }
}
