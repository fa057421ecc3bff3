//! The operations that an idempotency key is scoped to, under the names that the API and the table use.

use std::fmt;

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What a request does. Its name stands in the marker's sort key, so it never changes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Operation { $($(#[$doc])* $variant,)* }

        impl Operation {
            /// Every operation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in paths, keys, the journal and metrics.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

operations! {
    /// A customer pays a merchant.
    Pay = "pay",
    /// A customer sends to another.
    Transfer = "transfer",
    /// A merchant charges a customer's one-time code.
    Charge = "charge",
    /// A merchant refunds a payment.
    Refund = "refund",
    /// Cash is loaded onto a card.
    CardTopup = "card_topup",
    /// A card pays at a terminal.
    CardPay = "card_pay",
    /// A terminal refunds a card payment.
    CardRefund = "card_refund",
    /// A terminal takes back an operation of its own.
    CardReverse = "card_reverse",
    /// The operator grants points or regional currency.
    Grant = "grant",
    /// One customer's part of a grant to many.
    BulkGrant = "bulk_grant",
    /// An adjustment is requested.
    AdjustmentRequest = "adjustment_request",
    /// An adjustment is approved and posted.
    AdjustmentApprove = "adjustment_approve",
    /// An adjustment is rejected.
    AdjustmentReject = "adjustment_reject",
    /// A customer changes their profile.
    ProfilePatch = "profile_patch",
    /// A customer freezes or unfreezes an own card.
    CardPatch = "card_patch",
    /// A customer asks for a one-time payment code.
    PaymentCode = "payment_code",
    /// The operator opens a customer's wallet.
    CustomerOpen = "customer_open",
    /// The operator changes a customer.
    CustomerPatch = "customer_patch",
    /// The operator registers a merchant.
    MerchantOpen = "merchant_open",
    /// The operator changes a merchant.
    MerchantPatch = "merchant_patch",
    /// The operator issues a card.
    CardIssue = "card_issue",
    /// The operator changes a card.
    CardAdminPatch = "card_admin_patch",
    /// The operator registers a terminal.
    TerminalOpen = "terminal_open",
    /// The operator changes a terminal.
    TerminalPatch = "terminal_patch",
    /// The operator asks for a terminal's enrolment code.
    EnrolmentCode = "enrolment_code",
    /// A terminal answers its enrolment code; not keyed.
    Enrol = "enrol",
    /// A tenant's configuration is written; not keyed.
    TenantConfigure = "tenant_configure",
    /// A customer tops up through the payment provider.
    Topup = "topup",
    /// The operator refunds a top-up to the card: the money is held.
    TopupRefund = "topup_refund",
    /// The payment provider paid a refund out; not keyed.
    TopupRefundPaid = "topup_refund_paid",
    /// A refund failed and its money is back; not keyed.
    TopupRefundReturned = "topup_refund_returned",
    /// The payment provider took money of a top-up without our asking; not keyed.
    Clawback = "clawback",
    /// It gave such money back; not keyed.
    ClawbackReturned = "clawback_returned",
    /// The operator decides what becomes of an operation that was parked.
    ParkedResolve = "parked_resolve",
    /// What becomes of a top-up or refund that the provider contradicts is requested.
    TopupDecisionRequest = "topup_decision_request",
    /// Another person approves it.
    TopupDecisionApprove = "topup_decision_approve",
    /// The operator has looked at an event that was kept.
    EventDismiss = "event_dismiss",
    /// An event of the payment provider is handled; not keyed.
    StripeEvent = "stripe_event",
    /// A worker recovers operations in flight; not keyed.
    Recovery = "recovery",
    /// A worker credits a merchant; not keyed.
    Crediting = "crediting",
    /// A worker publishes journal entries as events; not keyed.
    Publish = "publish",
    /// A merchant captures what it holds of a customer's.
    Capture = "capture",
    /// A merchant gives up what it holds of a customer's.
    Void = "void",
    /// What was not captured in time comes back to the customer, under a key made of the payment.
    HoldExpire = "hold_expire",
    /// The operator closes a merchant's period.
    SettlementOpen = "settlement_open",
    /// Credited records are taken into a settlement, or given back; not keyed.
    SettlementCollect = "settlement_collect",
    /// What a merchant is owed is put aside.
    SettlementHold = "settlement_hold",
    /// The merchant has been checked.
    SettlementKyc = "settlement_kyc",
    /// What is put aside becomes yen.
    SettlementRelease = "settlement_release",
    /// The fee and its tax are taken.
    SettlementFee = "settlement_fee",
    /// The rest is paid out.
    SettlementPayout = "settlement_payout",
    /// What was put aside is the merchant's again.
    SettlementHoldUndone = "settlement_hold_undone",
    /// What became yen is again what it was.
    SettlementReleaseUndone = "settlement_release_undone",
    /// The fee and its tax are given back.
    SettlementFeeUndone = "settlement_fee_undone",
    /// A settlement turns back, stops, or is resumed by its worker; not keyed.
    SettlementRun = "settlement_run",
    /// The operator resumes a settlement that is stuck.
    SettlementResume = "settlement_resume",
    /// Sending a bank file again is requested.
    FileResendRequest = "file_resend_request",
    /// Another person approves it.
    FileResendApprove = "file_resend_approve",
    /// A worker seals the audit trail; not keyed.
    Sealing = "sealing",
    /// The payment provider's payout came back, and the merchant is owed it again; not keyed.
    SettlementReturned = "settlement_returned",
    /// Booking a transfer as returned by the bank is requested.
    SettlementReturnRequest = "settlement_return_request",
    /// Another person approves it, and the merchant is owed it again.
    SettlementReturnApprove = "settlement_return_approve",
    /// The operator asks for a reconciliation.
    ReconciliationRequest = "reconciliation_request",
    /// A worker reconciles; not keyed.
    Reconcile = "reconcile",
    /// The ledger takes a customer over from the legacy model, with what the customer has.
    Opening = "opening_balance",
    /// A concern of a customer is copied from one model to the other.
    MigrationCopy = "migration_copy",
    /// The operator asks for all customers to be brought where the phase needs them.
    MigrationBackfill = "migration_backfill",
    /// The operator asks for both models to be compared.
    MigrationVerify = "migration_verify",
    /// The operator asks for the God Records to be emptied, from which there is no way back.
    MigrationContract = "migration_contract",
    /// A tenant's migration is begun, moved or carried on; not keyed.
    Migration = "migration",
}

impl Operation {
    /// The operations that call the payment provider under their key.
    pub const CALLING_PSP: [Self; 2] = [Self::Topup, Self::TopupRefund];

    /// The operations whose postings to a merchant move its balance item in their own transaction. To all
    /// others it is a projection, brought up to date by a worker.
    pub const MOVING_MERCHANTS: [Self; 9] = [
        Self::SettlementHold,
        Self::SettlementRelease,
        Self::SettlementFee,
        Self::SettlementPayout,
        Self::SettlementHoldUndone,
        Self::SettlementReleaseUndone,
        Self::SettlementFeeUndone,
        Self::SettlementReturned,
        Self::SettlementReturnApprove,
    ];

    /// Reads a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.name() == name)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
