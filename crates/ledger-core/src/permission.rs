//! The closed list of what a person may do. Each endpoint for staff needs exactly one permission; roles bundle them.

use crate::ids::{Actor, Employer, StaffId};

macro_rules! permissions {
    ($($staff:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* })*) => {
        /// A permission of a staff member.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Permission { $($($(#[$doc])* $variant,)*)* }

        impl Permission {
            /// Every permission.
            pub const ALL: &'static [Self] = &[$($(Self::$variant,)*)*];

            /// The name in the OpenAPI document, in refusals and on the audit trail.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$variant => $name,)*)* }
            }

            /// Whose staff may have it.
            #[must_use]
            pub const fn staff(self) -> Staff {
                match self { $($(Self::$variant => Staff::$staff,)*)* }
            }
        }
    };
}

/// A kind of staff. No permission and no role belongs to both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Staff {
    /// The staff of the tenant's operator.
    Operator,
    /// The staff of a merchant.
    Merchant,
}

permissions! {
    Operator {
        /// Sees customers.
        CustomersRead = "customers.read",
        /// Opens customers.
        CustomersOpen = "customers.open",
        /// Changes, freezes and unfreezes customers.
        CustomersFreeze = "customers.freeze",
        /// Closes customers, cards, terminals and merchants.
        AccountsClose = "accounts.close",
        /// Requests that a customer gets what is unclaimed of a closed account.
        UnclaimedClaim = "unclaimed.claim",
        /// Starts and stops the closing of every card and customer.
        WindDownsRun = "wind_downs.run",
        /// Sees merchants.
        MerchantsRead = "merchants.read",
        /// Registers merchants.
        MerchantsOpen = "merchants.open",
        /// Changes and suspends merchants.
        MerchantsChange = "merchants.change",
        /// Sets the first owner of a merchant, and strikes out invitations in a merchant's staff.
        MerchantsOwner = "merchants.owner",
        /// Changes where a merchant is paid.
        DestinationsChange = "destinations.change",
        /// Sees cards.
        CardsRead = "cards.read",
        /// Issues, freezes and unfreezes cards.
        CardsManage = "cards.manage",
        /// Sees terminals.
        TerminalsRead = "terminals.read",
        /// Registers, freezes and enrols terminals.
        TerminalsManage = "terminals.manage",
        /// Sets how much cash merchants' terminals may take.
        CashRoomsChange = "cash_rooms.change",
        /// Changes the limits of single customers and cards.
        LimitsChange = "limits.change",
        /// Sets how much merchants may refund beyond what their settlements have covered, and refunds payments above that.
        RefundRoomsChange = "refund_rooms.change",
        /// Records money that merchants bring for cash that they owe and cash of counters, and reverses cash top-ups.
        CashDepositsRecord = "cash_deposits.record",
        /// Grants points and regional currency.
        GrantsIssue = "grants.issue",
        /// Sees adjustments.
        AdjustmentsRead = "adjustments.read",
        /// Requests adjustments.
        AdjustmentsRequest = "adjustments.request",
        /// Sees commands that await approval, and those that were decided on.
        ApprovalsRead = "approvals.read",
        /// Withdraws its own commands that await approval.
        ApprovalsRequest = "approvals.request",
        /// Decides on commands that others requested.
        ApprovalsDecide = "approvals.decide",
        /// Sees top-ups, their refunds and decisions.
        TopupsRead = "topups.read",
        /// Refunds top-ups.
        TopupsRefund = "topups.refund",
        /// Requests what becomes of a top-up that the provider contradicts.
        TopupDecisionsRequest = "topup_decisions.request",
        /// Sees settlements.
        SettlementsRead = "settlements.read",
        /// Closes periods and resumes settlements.
        SettlementsOpen = "settlements.open",
        /// Sees bank files, and reads their content.
        BankFilesRead = "bank_files.read",
        /// Begins bank files, and records what the bank did with them.
        BankFilesMark = "bank_files.mark",
        /// Requests that a settlement's transfer is booked as returned by the bank.
        SettlementsReturn = "settlements.return",
        /// Sees jobs whose work it may see, and stops those that it may start.
        JobsRead = "jobs.read",
        /// Asks for files of what it may read, and fetches them.
        FilesRead = "files.read",
        /// Sees the totals of days.
        FiguresRead = "figures.read",
        /// Sees reconciliations.
        ReconciliationRead = "reconciliation.read",
        /// Runs reconciliations.
        ReconciliationRun = "reconciliation.run",
        /// Sees what needs review.
        AttentionRead = "attention.read",
        /// Decides on what needs review.
        AttentionResolve = "attention.resolve",
        /// Reads the audit trail.
        AuditRead = "audit.read",
        /// Sees how far the rollout of idempotency keys is.
        IdempotencyRead = "idempotency.read",
        /// Sees the tenant's terms and their versions.
        TermsRead = "terms.read",
        /// Changes the tenant's terms.
        TermsChange = "terms.change",
        /// Sees the migration.
        MigrationRead = "migration.read",
        /// Moves the migration.
        MigrationManage = "migration.manage",
        /// Sees the operator's staff.
        StaffRead = "staff.read",
        /// Invites, changes and disables the operator's staff.
        StaffManage = "staff.manage",
    }
    Merchant {
        /// Sees payments, balances and settlements.
        ShopRead = "shop.read",
        /// Charges, authorizes, captures and voids.
        ShopCharge = "shop.charge",
        /// Refunds payments.
        PaymentsRefund = "payments.refund",
        /// Sees the merchant's staff.
        ShopStaffRead = "shop_staff.read",
        /// Invites, changes and disables the merchant's staff.
        ShopStaffManage = "shop_staff.manage",
        /// Sees the merchant's shops and terminals.
        ShopsRead = "shops.read",
        /// Opens, renames and closes shops, and assigns terminals to them.
        ShopsManage = "shops.manage",
    }
}

impl Permission {
    /// Parses a name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|permission| permission.name() == name)
    }

    /// Whether it decides on requests of others or moves money out of a tenant's books. Only an owner gives a role with
    /// such a permission to a member of the operator's staff, or takes it away.
    #[must_use]
    pub fn decides_or_pays(self) -> bool {
        matches!(
            self,
            Self::ApprovalsDecide
                | Self::CashRoomsChange
                | Self::LimitsChange
                | Self::RefundRoomsChange
                | Self::CashDepositsRecord
                | Self::GrantsIssue
                | Self::UnclaimedClaim
                | Self::WindDownsRun
                | Self::DestinationsChange
                | Self::SettlementsOpen
                | Self::SettlementsReturn
                | Self::BankFilesMark
                | Self::TopupsRefund
                | Self::PaymentsRefund
                | Self::TermsChange
                | Self::StaffManage
                | Self::ShopStaffManage
        )
    }
}

impl Employer {
    /// The kind of its staff.
    #[must_use]
    pub const fn staff(self) -> Staff {
        match self {
            Self::Operator => Staff::Operator,
            Self::Merchant(_) => Staff::Merchant,
        }
    }

    /// A member of its staff as an actor.
    #[must_use]
    pub const fn actor(self, id: StaffId) -> Actor {
        match self {
            Self::Operator => Actor::Staff(id),
            Self::Merchant(_) => Actor::MerchantStaff(id),
        }
    }

    /// A member of its staff as the subject of an audit record.
    #[must_use]
    pub fn subject(self, id: StaffId) -> String {
        self.actor(id).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_distinct_and_parse() {
        let names: BTreeSet<&str> = Permission::ALL.iter().map(|permission| permission.name()).collect();
        assert_eq!(names.len(), Permission::ALL.len());
        for permission in Permission::ALL {
            assert_eq!(Permission::parse(permission.name()), Some(*permission));
        }
        assert_eq!(Permission::parse("staff"), None);
    }
}
