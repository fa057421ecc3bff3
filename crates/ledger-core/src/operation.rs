//! The operations that an idempotency key is scoped to, under the names that the API and the table use.

use crate::words::words;
use std::fmt;

words! {
    /// What a request does. The name is part of the marker's sort key, so it never changes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Operation {
        /// A customer pays a merchant.
        Pay = "pay",
        /// A customer sends to another.
        Transfer = "transfer",
        /// A merchant charges a customer's one-time code.
        Charge = "charge",
        /// A merchant refunds a payment, or the operator does beyond the merchant's refund room.
        Refund = "refund",
        /// Cash is loaded onto a card.
        CardTopup = "card_topup",
        /// The bonus on cash that is covered is granted to the card. The key is made of the top-up's entry.
        CardBonus = "card_bonus",
        /// A card pays at a terminal.
        CardPay = "card_pay",
        /// A terminal refunds a card payment.
        CardRefund = "card_refund",
        /// A terminal reverses one of its own operations, or the operator a cash top-up.
        CardReverse = "card_reverse",
        /// A terminal charges a customer's one-time code.
        TerminalCharge = "terminal_charge",
        /// A terminal reverses one of its own charges.
        TerminalChargeReverse = "terminal_charge_reverse",
        /// The operator grants points or regional currency.
        Grant = "grant",
        /// One customer's part of a grant to many.
        BulkGrant = "bulk_grant",
        /// A balance is adjusted: one person requested it and another approved it.
        Adjustment = "adjustment",
        /// A customer changes their profile.
        ProfilePatch = "profile_patch",
        /// A customer freezes or unfreezes their own card.
        CardPatch = "card_patch",
        /// A customer asks for a one-time payment code.
        PaymentCode = "payment_code",
        /// The operator opens a customer's wallet.
        CustomerOpen = "customer_open",
        /// The operator changes a customer.
        CustomerPatch = "customer_patch",
        /// A customer is moved to another sign-in, as two people of the operator's staff decided.
        SignInMove = "sign_in_move",
        /// The operator registers a merchant.
        MerchantOpen = "merchant_open",
        /// The operator changes a merchant.
        MerchantPatch = "merchant_patch",
        /// The operator closes a merchant.
        MerchantClose = "merchant_close",
        /// A worker records that payments to a merchant are above its limit of a day; not keyed.
        VolumeExceeded = "volume_exceeded",
        /// The operator issues a card.
        CardIssue = "card_issue",
        /// The operator changes a card.
        CardAdminPatch = "card_admin_patch",
        /// The operator issues many cards; the worker's part is not keyed.
        CardBatch = "card_batch",
        /// The operator assigns a card to a customer.
        CardAssign = "card_assign",
        /// The operator blocks a card that is lost.
        CardBlock = "card_block",
        /// The operator replaces a card by another one, which gets its balance.
        CardReplace = "card_replace",
        /// The operator closes a card.
        CardClose = "card_close",
        /// The operator closes a customer's wallet.
        CustomerClose = "customer_close",
        /// A closed customer is erased, as two people decided; the worker's part is not keyed.
        CustomerErase = "customer_erase",
        /// Value of a closed account is claimed for a customer.
        UnclaimedClaim = "unclaimed_claim",
        /// The operator records that a bank pays value of a closed account to its holder.
        UnclaimedPayout = "unclaimed_payout",
        /// A job is started that closes every card and customer of the tenant; of each close, the operation of its key.
        WindDown = "wind_down",
        /// The operator stops a job.
        JobStop = "job_stop",
        /// A customer sets or changes the PIN of their own card.
        CardPin = "card_pin",
        /// An attempt at a card's PIN is counted or taken back; not keyed.
        CardPinAttempt = "card_pin_attempt",
        /// The operator removes a card's PIN.
        CardPinReset = "card_pin_reset",
        /// The operator registers a terminal.
        TerminalOpen = "terminal_open",
        /// The operator changes a terminal.
        TerminalPatch = "terminal_patch",
        /// The operator closes a terminal.
        TerminalClose = "terminal_close",
        /// A merchant assigns one of its terminals to a shop, or to none.
        TerminalAssign = "terminal_assign",
        /// A merchant opens a shop.
        ShopOpen = "shop_open",
        /// A merchant renames, closes or reopens a shop.
        ShopPatch = "shop_patch",
        /// The ceiling of a merchant's cash rooms is set.
        CashCeiling = "cash_ceiling",
        /// Cash room is allotted to a terminal, or withdrawn from it.
        CashRoom = "cash_room",
        /// The ceiling of a merchant's refund room is set.
        RefundCeiling = "refund_ceiling",
        /// The budget of an asset is set.
        AssetBudget = "asset_budget",
        /// The operator records that a merchant brought money for cash that it owes.
        CashDeposit = "cash_deposit",
        /// A deposit that was recorded wrongly is taken back.
        CashDepositReversal = "cash_deposit_reversal",
        /// The operator records that it collected cash of a counter.
        CashCollection = "cash_collection",
        /// The operator asks for a terminal's enrolment code.
        EnrolmentCode = "enrolment_code",
        /// A terminal answers its enrolment code; not keyed.
        Enrol = "enrol",
        /// A tenant's configuration is written; not keyed.
        TenantConfigure = "tenant_configure",
        /// A customer tops up through the payment provider.
        Topup = "topup",
        /// A customer cancels a top-up that is not paid.
        TopupCancel = "topup_cancel",
        /// The operator refunds a top-up to the card: the money is held until the refund is paid.
        TopupRefund = "topup_refund",
        /// The payment provider paid a refund out; not keyed.
        TopupRefundPaid = "topup_refund_paid",
        /// A refund failed and its money was returned; not keyed.
        TopupRefundReturned = "topup_refund_returned",
        /// The payment provider took money of a top-up without our request; not keyed.
        Clawback = "clawback",
        /// The payment provider returned such money; not keyed.
        ClawbackReturned = "clawback_returned",
        /// The operator decides on a parked operation.
        ParkedResolve = "parked_resolve",
        /// A contradiction with the provider is decided: one person requested it and another approved it.
        TopupDecision = "topup_decision",
        /// The operator dismisses a kept event after review.
        EventDismiss = "event_dismiss",
        /// An event of the payment provider is handled; not keyed.
        StripeEvent = "stripe_event",
        /// A worker recovers operations in flight; not keyed.
        Recovery = "recovery",
        /// A worker publishes journal entries as events; not keyed.
        Publish = "publish",
        /// A merchant captures a hold.
        Capture = "capture",
        /// A merchant voids a hold.
        Void = "void",
        /// A hold expires and its money is the customer's again. The key is made of the payment.
        HoldExpire = "hold_expire",
        /// The operator closes a merchant's period.
        SettlementOpen = "settlement_open",
        /// Credited records are added to a settlement, or released from it; not keyed.
        SettlementCollect = "settlement_collect",
        /// What the merchant is owed is held.
        SettlementHold = "settlement_hold",
        /// The KYC check of the merchant passed.
        SettlementKyc = "settlement_kyc",
        /// What is held is converted to yen.
        SettlementRelease = "settlement_release",
        /// The fee and its tax are taken.
        SettlementFee = "settlement_fee",
        /// The rest is paid out.
        SettlementPayout = "settlement_payout",
        /// Compensation: what was held is the merchant's again.
        SettlementHoldUndone = "settlement_hold_undone",
        /// Compensation: the conversion to yen is reversed.
        SettlementReleaseUndone = "settlement_release_undone",
        /// Compensation: the fee and its tax are given back.
        SettlementFeeUndone = "settlement_fee_undone",
        /// A settlement turns back, stops, or is resumed by its worker; not keyed.
        SettlementRun = "settlement_run",
        /// A run is started that closes every merchant whose schedule closes on a day, and continues.
        SettlementRunStart = "settlement_run_start",
        /// A file is asked for.
        FileRequest = "file_request",
        /// A worker goes on with a job; not keyed.
        JobRun = "job_run",
        /// The operator sets the settlement schedule of a merchant.
        SettlementSchedule = "settlement_schedule",
        /// The operator resumes a stuck settlement.
        SettlementResume = "settlement_resume",
        /// A worker seals the audit trail; not keyed.
        Sealing = "sealing",
        /// A worker closes posting days and folds entries into the totals of days; not keyed.
        Figures = "figures",
        /// The payment provider's payout was returned, and the merchant is owed it again; not keyed.
        SettlementReturned = "settlement_returned",
        /// A transfer that the bank returned is booked: one person requested it and another approved it.
        SettlementReturn = "settlement_return",
        /// A bank file is begun, by a worker or a person.
        BankFileCut = "bank_file_cut",
        /// A person reads a bank file's content; not keyed.
        BankFileRead = "bank_file_read",
        /// A person records that the bank has accepted a file.
        BankFileAccept = "bank_file_accept",
        /// Another person records that the bank has debited a file's sum.
        BankFileDebit = "bank_file_debit",
        /// Two people record that the bank has rejected a file.
        BankFileReject = "bank_file_reject",
        /// Two people take a file back from the bank.
        BankFileWithdraw = "bank_file_withdraw",
        /// Two people take back that a file was accepted.
        BankFileReopen = "bank_file_reopen",
        /// A person puts the transfers of a file that was rejected or withdrawn into one with another day.
        BankFileSupersede = "bank_file_supersede",
        /// The operator asks for a reconciliation.
        ReconciliationRequest = "reconciliation_request",
        /// A worker reconciles; not keyed.
        Reconcile = "reconcile",
        /// A customer is adopted from the legacy model, with their balances.
        Opening = "opening_balance",
        /// A concern of a customer is copied from one model to the other.
        MigrationCopy = "migration_copy",
        /// The operator requests a backfill of all customers for the current phase.
        MigrationBackfill = "migration_backfill",
        /// The operator requests a comparison of both models.
        MigrationVerify = "migration_verify",
        /// The operator requests contraction of the God Records. It cannot be reversed.
        MigrationContract = "migration_contract",
        /// A person is invited to the staff of the operator or of a merchant.
        StaffInvite = "staff_invite",
        /// A staff member's roles or state are changed.
        StaffChange = "staff_change",
        /// A staff member accepts the invitation.
        StaffAccept = "staff_accept",
        /// The operator strikes out an invitation in a merchant's staff.
        StaffStrike = "staff_strike",
        /// A version of the tenant's terms is stored, to hold from a stated time on.
        TermsChange = "terms_change",
        /// A version of the tenant's terms is cancelled before its time.
        TermsCancel = "terms_cancel",
        /// What a change of the tenant's terms would have done is computed.
        TermsPreview = "terms_preview",
        /// The limits of one account are changed.
        AccountLimits = "account_limits",
        /// The operator sets the first owner of a merchant.
        MerchantOwner = "merchant_owner",
        /// A staff member sees a customer's personal data; not keyed.
        CustomerRead = "customer_read",
        /// A staff member lists or searches customers; not keyed.
        CustomerSearch = "customer_search",
        /// A command adds what lists and searches find records by; not keyed.
        Reindex = "reindex",
        /// A worker announces that an address was changed; not keyed.
        Notice = "notice",
        /// A command is stored until another person decides on it; not keyed, since the key is that of the command.
        ApprovalRequest = "approval_request",
        /// Another person approves a command, which is executed.
        ApprovalApprove = "approval_approve",
        /// Another person rejects a command.
        ApprovalReject = "approval_reject",
        /// A staff member sees whole what another person asked for; not keyed.
        ApprovalRead = "approval_read",
        /// A command is withdrawn before another person has decided on it.
        ApprovalWithdraw = "approval_withdraw",
        /// New owners are named for a tenant whose owners are lost, become owners, or are cancelled.
        OwnerRecovery = "owner_recovery",
        /// An owner cancels the recovery of the tenant's owners.
        OwnerRecoveryCancel = "owner_recovery_cancel",
        /// A staff member lacked a permission; not keyed.
        PermissionDenied = "permission_denied",
        /// A tenant's migration is begun, moved on or continued; not keyed.
        Migration = "migration",
    }
}

impl Operation {
    /// The operations that call the payment provider under their key.
    pub const CALLING_PSP: [Self; 2] = [Self::Topup, Self::TopupRefund];

    /// The operations whose response has a one-time secret: a code, or the PSP's client secret.
    pub const ANSWERING_WITH_SECRET: [Self; 3] = [Self::EnrolmentCode, Self::PaymentCode, Self::Topup];

    /// The operations whose postings to a merchant change its balance item in their own transaction. For all others
    /// the balance is a projection that a worker updates.
    pub const MOVING_MERCHANTS: [Self; 9] = [
        Self::SettlementHold,
        Self::SettlementRelease,
        Self::SettlementFee,
        Self::SettlementPayout,
        Self::SettlementHoldUndone,
        Self::SettlementReleaseUndone,
        Self::SettlementFeeUndone,
        Self::SettlementReturned,
        Self::SettlementReturn,
    ];

    /// Whether its response has a one-time secret, when it is executed.
    #[must_use]
    pub fn answers_with_secret(self) -> bool {
        Self::ANSWERING_WITH_SECRET.contains(&self)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
