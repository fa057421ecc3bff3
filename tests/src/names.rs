//! Names of the core's enums in vectors. Every variant is listed, so that a new one does not compile until it has a
//! name.

use ledger_core::failure::Failure;
use ledger_core::transaction::{Role, Verdict};

/// A failure's name.
#[must_use]
pub fn failure(failure: Failure) -> &'static str {
    match failure {
        Failure::StalePlan => "stale_plan",
        Failure::AccountMissing => "account_missing",
        Failure::AlreadyExists => "already_exists",
        Failure::FourEyes => "four_eyes",
        Failure::AccountFrozen => "account_frozen",
        Failure::Decided => "decided",
        Failure::WrongState => "wrong_state",
        Failure::CashRoomExceeded => "cash_room_exceeded",
        Failure::CashNotOutstanding => "cash_not_outstanding",
        Failure::RefundRoomExceeded => "refund_room_exceeded",
        Failure::BudgetExceeded => "budget_exceeded",
        Failure::ApprovalExpired => "approval_expired",
        Failure::ReversalTooLate => "reversal_too_late",
        Failure::PinRequired => "pin_required",
        Failure::PinLocked => "pin_locked",
        Failure::PinWrong => "pin_wrong",
        Failure::OverRefund => "over_refund",
        Failure::CapExceeded => "cap_exceeded",
        Failure::LimitExceeded => "limit_exceeded",
        Failure::Insufficient => "insufficient",
        Failure::RecipientUnavailable => "recipient_unavailable",
    }
}

/// A role's name.
#[must_use]
pub fn role(role: Role) -> &'static str {
    match role {
        Role::Marker => "marker",
        Role::Journal => "journal",
        Role::JournalReference => "journal_reference",
        Role::Payer => "payer",
        Role::Payee => "payee",
        Role::Points => "points",
        Role::Metrics => "metrics",
        Role::Payment => "payment",
        Role::Refund => "refund",
        Role::Profile => "profile",
        Role::Card => "card",
        Role::CardPin => "card_pin",
        Role::Code => "code",
        Role::Audit => "audit",
        Role::RefundRoom => "refund_room",
        Role::Budget => "budget",
        Role::Bonus => "bonus",
        Role::Config => "config",
        Role::RegisteredTenant => "registered_tenant",
        Role::OriginalMarker => "original_marker",
        Role::Job => "job",
        Role::JobLine => "job_line",
        Role::SettlementCalendar => "settlement_calendar",
        Role::Topup => "topup",
        Role::Clawback => "clawback",
        Role::Flight => "flight",
        Role::KeptEvent => "kept_event",
        Role::Rate => "rate",
        Role::Crediting => "crediting",
        Role::MerchantBalance => "merchant_balance",
        Role::Hold => "hold",
        Role::Settlement => "settlement",
        Role::Trail => "trail",
        Role::Figures => "figures",
        Role::Sealing => "sealing",
        Role::Seal => "seal",
        Role::Sealed => "sealed",
        Role::Erased => "erased",
        Role::BankTransfer => "bank_transfer",
        Role::BankFile => "bank_file",
        Role::Returned => "returned",
        Role::Period => "period",
        Role::CashRoom => "cash_room",
        Role::Reconciliation => "reconciliation",
        Role::GodRecord => "god_record",
        Role::Migration => "migration",
        Role::Shop => "shop",
        Role::Staff => "staff",
        Role::Person => "person",
        Role::StaffCounts => "staff_counts",
        Role::Lookup => "lookup",
        Role::Notice => "notice",
        Role::Terms => "terms",
        Role::Denials => "denials",
        Role::Approval => "approval",
        Role::Recovery => "recovery",
    }
}

/// A verdict in words, with `marker_stands` for an existing marker.
#[must_use]
pub fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::MarkerExists(_) => "marker_stands".to_owned(),
        Verdict::Rejected(rejection) => format!("rejected {} by {}", failure(rejection.failure), role(rejection.role)),
        Verdict::Broken(_) => "broken".to_owned(),
        Verdict::Throttled => "throttled".to_owned(),
        Verdict::Conflict => "conflict".to_owned(),
    }
}
