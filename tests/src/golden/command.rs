//! A vector's command as JSON: the claim, the stored response, and what is to happen. Ids, times and randomness are
//! given, so that a command always builds the same request.

use super::build_approvals::ApprovalDoes;
use super::build_bank_files::BankFileDoes;
use super::build_card_life::CardLifeDoes;
use super::build_card_pin::CardPinDoes;
use super::build_cash::CashDoes;
use super::build_figures::FiguresDoes;
use super::build_jobs::JobDoes;
use super::build_lanes::LanesDoes;
use super::build_merchants::ClosingDoes;
use super::build_notices::NoticeDoes;
use super::build_reconcile::ReconcileDoes;
use super::build_registry::RegistryDoes;
use super::build_scale::ScaleDoes;
use super::build_settlement::{SettlementDoes, SettlementStep};
use super::build_shops::ShopDoes;
use super::build_staff::StaffDoes;
use super::build_terms::TermsDoes;
use super::build_trail::TrailDoes;
use super::command_hold::{HoldDoes, Maybe};
use super::command_migration::MigrationDoes;
pub use super::command_psp::{FactJson, FlightStep, MarkerJson, PspJson};
pub use super::command_values::{AnswerJson, ClaimJson, ContextJson, Money};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The tenant's slug.
    pub tenant: String,
    /// The claim on the key; `None` for a request without a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimJson>,
    /// The response that is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerJson>,
    /// Ids and randomness.
    pub context: ContextJson,
    /// Items as read when the plan was made, where the table differs by the time of the write. An item with only its
    /// key did not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Json>,
    /// What is to happen.
    pub does: Does,
}

/// What is to happen. Merchants, payments, cards and terms are read from the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum Does {
    // The forms alone, assembled against the tenant's account `adjustments`.
    Refusal {},
    /// The refusal of what would make a payment, with a code.
    RefusedPayment {
        payment: Box<Does>,
        code: String,
    },
    Deduct {
        account: String,
        amount: Money,
    },
    Credit {
        account: String,
        amount: Money,
    },
    TopUp {
        account: String,
        charge: Money,
        bonus: Maybe<Money>,
        cap: Money,
    },
    Settle {
        account: String,
        out: Maybe<Money>,
        r#in: Maybe<Money>,
        short: String,
        frozen_too: bool,
    },
    // The operations.
    Pay {
        customer: String,
        merchant: String,
        amount: Money,
        points: Maybe<String>,
        regional: Vec<Money>,
        memo: Maybe<String>,
    },
    Transfer {
        from: String,
        to: String,
        amount: Money,
        memo: Maybe<String>,
    },
    Charge {
        merchant: String,
        code: String,
        amount: Money,
        memo: Maybe<String>,
    },
    TerminalCharge {
        terminal: String,
        merchant: String,
        code: String,
        amount: Money,
        memo: Maybe<String>,
    },
    TerminalChargeReverse {
        terminal: String,
        merchant: String,
        original: ClaimJson,
    },
    Refund {
        merchant: String,
        payment: String,
        amount: Maybe<Money>,
        reason: Maybe<String>,
        terminal: Maybe<String>,
    },
    CardTopup {
        terminal: String,
        merchant: String,
        card: String,
        charge: Money,
    },
    CardPay {
        terminal: String,
        merchant: String,
        card: String,
        amount: Money,
    },
    CardReverse {
        terminal: String,
        merchant: String,
        original: ClaimJson,
    },
    Grant {
        staff: String,
        customer: String,
        amount: Money,
        reason: String,
    },
    BulkGrant {
        staff: String,
        customers: Vec<String>,
        amount: Money,
        reason: String,
    },
    Job(JobDoes),
    ProfilePatch {
        customer: String,
        change: ProfileChange,
    },
    CustomerPatch {
        customer: String,
        change: ProfileChange,
        status: Maybe<String>,
        actor: String,
        reason: Maybe<String>,
    },
    CustomerOpen {
        /// The id, if it was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        customer: Option<String>,
        actor: String,
        name: String,
        email: Maybe<String>,
        phone: Maybe<String>,
    },
    PaymentCode {
        customer: String,
        /// The subject that asks for it, in a tenant that has moved customers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sign_in: Option<String>,
    },
    CardIssue {
        owner: Maybe<String>,
        actor: String,
    },
    CardOwnStatus {
        customer: String,
        card: String,
        status: String,
    },
    CardStatus {
        card: String,
        status: String,
        actor: String,
        reason: Maybe<String>,
    },
    MerchantOpen {
        name: String,
        shards: String,
        actor: String,
    },
    MerchantPatch {
        merchant: String,
        name: Maybe<String>,
        status: Maybe<String>,
        actor: String,
        reason: Maybe<String>,
    },
    TerminalOpen {
        merchant: String,
        actor: String,
    },
    TerminalStatus {
        terminal: String,
        status: String,
        actor: String,
        reason: Maybe<String>,
    },
    EnrolmentCode {
        terminal: String,
        actor: String,
        /// The staff member whose permit is used up.
        permit: String,
    },
    Enrol {
        code: String,
        public_key: String,
        request_id: Option<String>,
    },
    TenantOpen {
        terms: Json,
    },
    KeyPhase {
        from: String,
        to: String,
        actor: String,
    },
    VolumeExceeded {
        merchant: String,
        date: String,
        volume: String,
        most: String,
        suspends: bool,
    },
    /// Changes of an account's rules, such as `pay_day=5000`, from its item that is read.
    AccountLimits {
        account: String,
        asset: String,
        changes: Vec<String>,
        actor: String,
    },
    /// In the window that contains the command's time.
    RateLease {
        requests_per_second: String,
    },
    // Money from outside. Records, markers and balances are read from the state.
    TopupClaim {
        customer: String,
        charge: Money,
        psp: PspJson,
    },
    TopupRefund {
        actor: String,
        topup: String,
        amount: Maybe<Money>,
        reason: String,
        psp: PspJson,
    },
    /// Under the event's own marker; a marker in flight gets its response in the same transaction.
    TopupEvent {
        event: String,
        kind: String,
        fact: FactJson,
        topup: String,
        refund: Maybe<String>,
    },
    /// By the holder of the token that the marker had when it was read.
    TopupLanding {
        fact: FactJson,
        topup: String,
        refund: Maybe<String>,
    },
    TopupRefused {
        topup: String,
        refund: Maybe<String>,
    },
    Flight {
        marker: MarkerJson,
        step: FlightStep,
    },
    ParkedRetry {
        marker: MarkerJson,
        actor: String,
        reason: String,
    },
    ParkedGiveUp {
        marker: MarkerJson,
        topup: String,
        refund: Maybe<String>,
        refusal: AnswerJson,
        actor: String,
        reason: String,
    },
    EventKeep {
        event: String,
        kind: String,
        why: String,
        object: Maybe<String>,
    },
    EventDismiss {
        event: String,
        actor: String,
        reason: String,
    },
    /// A later check of the PSP's object.
    TopupCheck {
        topup: String,
        burnt: bool,
    },
    /// The customer cancels it.
    TopupCancel {
        topup: String,
    },
    TopupRefundCheck {
        topup: String,
        refund: String,
    },
    // Money that a merchant holds.
    Hold(HoldDoes),
    Registry(RegistryDoes),
    Scale(ScaleDoes),
    Cash(CashDoes),
    CardLife(CardLifeDoes),
    CardPin(CardPinDoes),
    Notice(NoticeDoes),
    Terms(TermsDoes),
    Staff(StaffDoes),
    Shop(ShopDoes),
    Closing(ClosingDoes),
    Approval(ApprovalDoes),
    BankFile(BankFileDoes),
    Trail(TrailDoes),
    // The lanes of the audit trail.
    Lanes(LanesDoes),
    // Posting days, and the totals of days.
    Figures(FiguresDoes),
    Migration(MigrationDoes),
    Reconcile(ReconcileDoes),
    // Settlements, which are read from the state.
    Settlement {
        merchant: String,
        settlement: String,
        step: SettlementStep,
    },
    SettlementAdmin {
        staff: String,
        does: SettlementDoes,
    },
}

/// A change of a profile. A [`Change`] is `"keep"`, `"clear"` or `{"set": ..}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileChange {
    /// The name.
    pub name: Option<String>,
    /// The e-mail address.
    pub email: Change,
    /// The telephone number.
    pub phone: Change,
}

/// A change of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Keeps the value.
    Keep,
    /// Removes the value.
    Clear,
    /// Sets a value.
    Set(String),
}
