//! Roles, and the permissions that each bundles.

use crate::permission::{Permission, Staff};
use crate::words::words;
use std::fmt;

words! {
    /// A role of the operator's staff.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum AdminRole {
        /// Sees everything but the audit trail.
        Viewer = "viewer",
        /// Helps customers: freezes wallets and cards, requests adjustments.
        Support = "support",
        /// Runs the tenant: opens customers, merchants, cards and terminals, reviews what is parked.
        Operator = "operator",
        /// Moves money: grants, top-up refunds, destinations, settlements.
        Treasurer = "treasurer",
        /// Decides on requests of others.
        Approver = "approver",
        /// Reads everything, the audit trail included, and changes nothing.
        Auditor = "auditor",
        /// Has every permission, and manages the staff.
        Owner = "owner",
    }
}

words! {
    /// A role of a merchant's staff.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum MerchantRole {
        /// Charges customers.
        Cashier = "cashier",
        /// Also refunds.
        Manager = "manager",
        /// Also manages the merchant's staff.
        Owner = "owner",
    }
}

/// A role of a staff member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StaffRole {
    /// Of the operator's staff.
    Admin(AdminRole),
    /// Of a merchant's staff.
    Merchant(MerchantRole),
}

/// The reads of the operator's staff that show no audit trail.
const VIEWER: &[Permission] = &[
    Permission::CustomersRead,
    Permission::MerchantsRead,
    Permission::CardsRead,
    Permission::TerminalsRead,
    Permission::AdjustmentsRead,
    Permission::ApprovalsRead,
    Permission::JobsRead,
    Permission::TopupsRead,
    Permission::SettlementsRead,
    Permission::FiguresRead,
    Permission::ReconciliationRead,
    Permission::AttentionRead,
    Permission::IdempotencyRead,
    Permission::TermsRead,
    Permission::MigrationRead,
];

impl AdminRole {
    /// Whether the role also has every read of [`AdminRole::Viewer`].
    const fn reads_all(self) -> bool {
        match self {
            Self::Viewer | Self::Operator | Self::Treasurer | Self::Approver | Self::Auditor | Self::Owner => true,
            Self::Support => false,
        }
    }

    /// The permissions beside those reads.
    const fn own(self) -> &'static [Permission] {
        match self {
            Self::Viewer => &[],
            Self::Support => &[
                Permission::CustomersRead,
                Permission::CustomersFreeze,
                Permission::MerchantsRead,
                Permission::CardsRead,
                Permission::CardsManage,
                Permission::TerminalsRead,
                Permission::AdjustmentsRead,
                Permission::AdjustmentsRequest,
                Permission::ApprovalsRequest,
                Permission::JobsRead,
                Permission::FilesRead,
                Permission::TopupsRead,
            ],
            Self::Operator => &[
                Permission::CustomersOpen,
                Permission::CustomersFreeze,
                Permission::AccountsClose,
                Permission::MerchantsOpen,
                Permission::MerchantsChange,
                Permission::MerchantsOwner,
                Permission::CardsManage,
                Permission::TerminalsManage,
                Permission::AdjustmentsRequest,
                Permission::ApprovalsRequest,
                Permission::TopupDecisionsRequest,
                Permission::FilesRead,
                Permission::ReconciliationRun,
                Permission::AttentionResolve,
            ],
            Self::Treasurer => &[
                Permission::MerchantsChange,
                Permission::DestinationsChange,
                Permission::CashRoomsChange,
                Permission::LimitsChange,
                Permission::RefundRoomsChange,
                Permission::CashDepositsRecord,
                Permission::GrantsIssue,
                Permission::UnclaimedClaim,
                Permission::AdjustmentsRequest,
                Permission::ApprovalsRequest,
                Permission::TopupsRefund,
                Permission::TopupDecisionsRequest,
                Permission::SettlementsOpen,
                Permission::SettlementsReturn,
                Permission::BankFilesRead,
                Permission::BankFilesMark,
                Permission::FilesRead,
                Permission::ReconciliationRun,
            ],
            Self::Approver => &[Permission::ApprovalsDecide, Permission::BankFilesRead],
            Self::Auditor => {
                &[Permission::AuditRead, Permission::StaffRead, Permission::FilesRead, Permission::BankFilesRead]
            }
            Self::Owner => Permission::ALL,
        }
    }
}

impl MerchantRole {
    const fn own(self) -> &'static [Permission] {
        match self {
            Self::Cashier => &[Permission::ShopRead, Permission::ShopCharge],
            Self::Manager => &[
                Permission::ShopRead,
                Permission::ShopCharge,
                Permission::PaymentsRefund,
                Permission::ShopStaffRead,
                Permission::ShopsRead,
            ],
            Self::Owner => Permission::ALL,
        }
    }
}

impl StaffRole {
    /// The owner's role of a kind of staff.
    #[must_use]
    pub const fn owner(of: Staff) -> Self {
        match of {
            Staff::Operator => Self::Admin(AdminRole::Owner),
            Staff::Merchant => Self::Merchant(MerchantRole::Owner),
        }
    }

    /// Every role of a kind of staff.
    pub fn all(of: Staff) -> impl Iterator<Item = Self> {
        let admin = AdminRole::ALL.into_iter().map(Self::Admin);
        let merchant = MerchantRole::ALL.into_iter().map(Self::Merchant);
        admin.chain(merchant).filter(move |role| role.staff() == of)
    }

    /// Parses the name of a role of a kind of staff; `None` for any other text.
    #[must_use]
    pub fn parse(of: Staff, name: &str) -> Option<Self> {
        Self::all(of).find(|role| role.name() == name)
    }

    /// Whose staff has the role.
    #[must_use]
    pub const fn staff(self) -> Staff {
        match self {
            Self::Admin(_) => Staff::Operator,
            Self::Merchant(_) => Staff::Merchant,
        }
    }

    /// The stable name, as stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admin(role) => role.name(),
            Self::Merchant(role) => role.name(),
        }
    }

    /// Whether the role has a permission.
    #[must_use]
    pub fn has(self, permission: Permission) -> bool {
        let (own, reads_all) = match self {
            Self::Admin(role) => (role.own(), role.reads_all()),
            Self::Merchant(role) => (role.own(), false),
        };
        permission.staff() == self.staff() && (own.contains(&permission) || (reads_all && VIEWER.contains(&permission)))
    }

    /// Whether it decides on requests of others or moves money, so that only an owner gives and takes it.
    #[must_use]
    pub fn decides_or_pays(self) -> bool {
        Permission::ALL.iter().any(|permission| permission.decides_or_pays() && self.has(*permission))
    }
}

impl fmt::Display for StaffRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
