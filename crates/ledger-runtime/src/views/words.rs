//! The closed lists of words that fields of requests and responses may have, as the OpenAPI document states them.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident: $($word:literal)|+;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl utoipa::PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let words = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([$($word),+]));
                RefOr::T(Schema::Object(words.build()))
            }
        }

        impl utoipa::ToSchema for $name {}
    )*};
}

words! {
    /// Whether an account or card is active.
    AccountStatus: "active" | "frozen";
    /// Whether a terminal is active, frozen or closed.
    TerminalStatus: "active" | "frozen" | "closed";
    /// Whether a customer is active, frozen or closed.
    CustomerStatus: "active" | "frozen" | "closed";
    /// The status of an account that was closed.
    ClosedStatus: "closed";
    /// How far the close of a merchant is.
    MerchantCloseStatus: "closing" | "closed";
    /// Where the value of an account that is closed goes.
    PayOut: "unclaimed";
    /// The kind of a terminal that is registered.
    TerminalKind: "till" | "counter";
    /// The status of a card that was blocked.
    CardBlockedStatus: "blocked";
    /// Whether totals can change.
    TotalsStatus: "provisional" | "closed";
    /// What a file has.
    FileKind: "customer_data" | "customer_history" | "payees" | "payouts" | "statements";
    /// How far a file is.
    FileStatus: "in_progress" | "ready" | "expired" | "failed" | "stopped";
    /// What changed a merchant's balance.
    StatementPart: "payments" | "refunds" | "cash" | "fees" | "settlements" | "adjustments";
    /// Why an asset is no prepaid payment instrument.
    PrepaidExclusion: "not_paid_for" | "not_money";
    /// Whether a card's PIN can be used.
    CardPinState: "set" | "locked";
    /// Whether a merchant can be paid.
    MerchantStatus: "active" | "suspended";
    /// The state of a merchant.
    MerchantStateWord: "active" | "suspended" | "closing" | "closed";
    /// A role of the operator's staff, or of a merchant's: cashier, manager, owner.
    StaffRoleWord: "viewer" | "support" | "operator" | "treasurer" | "approver" | "auditor" | "owner" | "cashier"
        | "manager";
    /// Whose an account is that a staff record declares.
    BeneficiaryKindWord: "own" | "family" | "business";
    /// Why an account is a staff member's.
    TieKindWord: "sign_in" | "card" | "staff" | "own" | "family" | "business";
    /// Whether a staff member may act.
    StaffStatus: "invited" | "active" | "disabled";
    /// The status of a version of the tenant's terms.
    TermsStatus: "in_force" | "scheduled" | "past" | "cancelled";
    /// How far an asset is stopped.
    AssetStateWord: "running" | "not_issued" | "not_spent" | "retired";
    /// The kind of a line of a customer's timeline.
    TimelineKind: "transaction" | "topup" | "act";
    /// The status of the recovery of a tenant's owners.
    RecoveryStatus: "pending" | "done" | "cancelled";
    /// Whether a staff member may act from now on.
    StaffStatusChange: "active" | "disabled";
    /// The status of an operation that is complete when the response is sent.
    CompletedStatus: "completed";
    /// Prepaid yen.
    EcopayOnly: "ECOPAY";
    /// Whether an adjustment adds to the balance or subtracts from it.
    Direction: "credit" | "debit";
    /// Why a balance is adjusted.
    AdjustmentReason: "correction" | "goodwill" | "fraud" | "reconciliation" | "opening";
    /// Whether a request that needs a second person's approval has it.
    ApprovalStatus: "pending" | "approved";
    /// The part of an account that a posting changes.
    PostingBucket: "available" | "held";
    /// The state of a command that another person must approve.
    ApprovalStateWord: "pending" | "approved" | "rejected" | "withdrawn" | "expired" | "stale";
    /// The state of a command that awaits approval.
    PendingWord: "pending";
    /// The kind of a record of the audit trail.
    AuditKind: "act" | "entry" | "step";
    /// The kind of a changed address.
    NoticeKind: "contact" | "sign_in" | "payout_destination";
    /// The kind of a bank account.
    BankAccountType: "ordinary" | "checking" | "savings";
    /// The kind of a payout destination.
    DestinationKind: "bank" | "stripe";
    /// A bank account.
    BankKind: "bank";
    /// An account at Stripe.
    StripeKind: "stripe";
    /// The decision about a top-up that contradicts the provider's object.
    DecisionWay: "book" | "give_up" | "write_off";
    /// The kind of operation that a limit counts.
    LimitKind: "pay" | "transfer" | "topup";
    /// The period that a limit is for.
    LimitPeriod: "operation" | "day" | "month";
    /// The state of a job.
    JobStatus: "waiting" | "running" | "stopping" | "stopped" | "done" | "failed";
    /// The kind of a job.
    JobKind: "grant" | "card_batch" | "wind_down" | "settlement_run" | "bank_file" | "erasure" | "file" | "terms_preview";
    /// What became of a subject of a job.
    JobLineStatus: "done" | "failed" | "skipped";
    /// The state of a migration.
    MigrationStatus: "split" | "migrating" | "contracting";
    /// The legacy model that a tenant is migrated from.
    LegacyModel: "god_record" | "half_way";
    /// A concern, which migrates separately.
    MigrationConcern: "profile" | "history" | "metrics" | "points" | "jcredit" | "regional" | "money";
    /// The phase of a concern.
    MigrationStage: "legacy_only" | "dual_write" | "backfilled" | "read_new" | "new_only";
    /// The kind of a pass over all customers.
    PassKindWord: "backfill" | "verify" | "contract";
    /// The state of a pass.
    PassStatus: "waiting" | "running" | "done" | "superseded";
    /// The state of a key.
    KeyState: "done" | "in_flight" | "parked" | "reversed" | "expired" | "not_known_yet";
    /// An operation that calls the payment provider.
    ProviderOperation: "topup" | "topup_refund";
    /// Why an operation was parked.
    ParkedReason: "attempts" | "not_found" | "contradiction";
    /// The state of a payment that was just made.
    NewPaymentStatus: "captured" | "authorized";
    /// The state of a payment.
    PaymentStatus: "authorized" | "captured" | "partially_refunded" | "refunded" | "canceled" | "expired" | "reversed";
    /// Whether terminals and staff may be assigned to a shop.
    ShopStatus: "open" | "closed";
    /// A refund that was made.
    RefundedStatus: "refunded";
    /// Whether requests must carry a key.
    KeyPhaseWord: "optional" | "mandatory";
    /// How an event was handled.
    EventStatus: "applied" | "repeated" | "behind" | "foreign" | "dismissed" | "ignored";
    /// The kind of a line of a merchant's list.
    RecordKind: "payment" | "refund" | "payment_reversal" | "refund_reversal";
    /// How a parked operation is resolved.
    ResolveAction: "retry" | "give_up";
    /// The result of resolving a parked operation.
    ResolvedStatus: "retrying" | "given_up";
    /// An operation that was reversed.
    ReversedStatus: "reversed";
    /// An operation of a terminal that can be reversed.
    ReversibleOperation: "card_topup" | "card_pay" | "card_refund";
    /// An operation of a terminal.
    CardOperation: "card_topup" | "card_pay" | "card_refund" | "card_reverse";
    /// A terminal's charge, or its reversal.
    ChargeOperation: "terminal_charge" | "terminal_charge_reverse";
    /// How a reversal ended.
    ReversalOutcome: "undone" | "forbidden" | "nothing_moved" | "already_reversed";
    /// Whether the payment provider listed its objects; empty before the run reads them.
    ProviderAsked: "listed" | "none" | "unknown" | "";
    /// The state of a reconciliation, and its result.
    RunStatus: "requested" | "running" | "clean" | "breaks" | "unsettled" | "failed";
    /// The state of a settlement.
    SettlementStatus: "collecting" | "held" | "verified" | "released" | "charged" | "paying" | "booked" | "paid"
        | "carried" | "undone" | "returned";
    /// How far a payout is.
    PayoutStatus: "scheduled" | "delayed" | "paid" | "returned";
    /// The state of a bank file.
    BankFileStatus: "assigning" | "written" | "accepted" | "debited" | "rejected" | "withdrawn" | "empty";
    /// Why a settlement is undone.
    UndoReason: "kyc_refused" | "kyc_unanswered" | "payout_refused" | "step_failed";
    /// A top-up that was just claimed.
    NewTopupStatus: "pending";
    /// The state of a top-up.
    TopupStatus: "pending" | "succeeded" | "canceled" | "refused";
    /// The state of a refund of a top-up.
    TopupRefundStatus: "pending" | "succeeded" | "failed";
}
