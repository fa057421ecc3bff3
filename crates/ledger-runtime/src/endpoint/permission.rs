//! The permissions of callers.
//!
//! Staff have no roles yet: a token for the right API is permitted everything. The document names the permission of
//! each operation.

macro_rules! permissions {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A permission of a caller: a closed list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Permission { $($(#[$doc])* $variant,)* }

        impl Permission {
            /// Every permission.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in the document.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

permissions! {
    /// A customer sees their own profile, balances, history and keys.
    WalletRead = "wallet.read",
    /// A customer pays, sends, and shows a payment code.
    WalletSpend = "wallet.spend",
    /// A customer tops up their own wallet.
    WalletTopUp = "wallet.top_up",
    /// A customer changes their own profile and cards.
    ProfileChange = "profile.change",
    /// A merchant's staff sees payments, balances and settlements.
    ShopRead = "shop.read",
    /// A merchant's staff charges, authorizes, captures and voids.
    ShopCharge = "shop.charge",
    /// A merchant's staff refunds.
    ShopRefund = "shop.refund",
    /// A terminal works with cards.
    TerminalOperate = "terminal.operate",
    /// The operator's staff sees customers.
    CustomersRead = "customers.read",
    /// The operator's staff opens, changes and freezes customers.
    CustomersManage = "customers.manage",
    /// The operator's staff sees merchants.
    MerchantsRead = "merchants.read",
    /// The operator's staff registers, changes and suspends merchants.
    MerchantsManage = "merchants.manage",
    /// The operator's staff sees cards.
    CardsRead = "cards.read",
    /// The operator's staff issues and freezes cards.
    CardsManage = "cards.manage",
    /// The operator's staff sees terminals.
    TerminalsRead = "terminals.read",
    /// The operator's staff registers, freezes and enrols terminals.
    TerminalsManage = "terminals.manage",
    /// The operator's staff sees grants.
    GrantsRead = "grants.read",
    /// The operator's staff grants points and regional currency.
    GrantsMake = "grants.make",
    /// The operator's staff sees adjustments.
    AdjustmentsRead = "adjustments.read",
    /// The operator's staff requests adjustments.
    AdjustmentsRequest = "adjustments.request",
    /// The operator's staff decides on adjustments of others.
    AdjustmentsDecide = "adjustments.decide",
    /// The operator's staff sees top-ups, their refunds and decisions.
    TopupsRead = "topups.read",
    /// The operator's staff refunds top-ups.
    TopupsRefund = "topups.refund",
    /// The operator's staff requests what becomes of a top-up that the provider contradicts.
    TopupDecisionsRequest = "topup_decisions.request",
    /// The operator's staff decides on such requests of others.
    TopupDecisionsDecide = "topup_decisions.decide",
    /// The operator's staff sees settlements.
    SettlementsRead = "settlements.read",
    /// The operator's staff closes periods and resumes settlements.
    SettlementsRun = "settlements.run",
    /// The operator's staff requests that a bank file is sent again, or a transfer booked as returned.
    PayoutRequestsMake = "payout_requests.make",
    /// The operator's staff decides on such requests of others.
    PayoutRequestsDecide = "payout_requests.decide",
    /// The operator's staff sees reconciliations.
    ReconciliationRead = "reconciliation.read",
    /// The operator's staff runs reconciliations.
    ReconciliationRun = "reconciliation.run",
    /// The operator's staff sees what needs review.
    AttentionRead = "attention.read",
    /// The operator's staff decides on what needs review.
    AttentionResolve = "attention.resolve",
    /// The operator's staff reads the audit trail.
    AuditRead = "audit.read",
    /// The operator's staff sees how far the rollout of idempotency keys is.
    IdempotencyRead = "idempotency.read",
    /// The operator's staff sets the phase of idempotency keys.
    IdempotencyManage = "idempotency.manage",
    /// The operator's staff sees the migration.
    MigrationRead = "migration.read",
    /// The operator's staff moves the migration.
    MigrationManage = "migration.manage",
}
