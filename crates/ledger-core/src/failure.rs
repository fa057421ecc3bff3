//! What a failed condition means. Declared in order of precedence: where several guards of one transaction fail, the
//! first of these is returned.

/// Why a transaction was refused. Highest precedence first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// What the plan was made from has changed: the request is read and planned again. Never stored or shown.
    StalePlan,
    /// The command was decided on, or withdrawn. It comes before what the decision made: a second approval finds both.
    Decided,
    /// The account, card, payment or code does not exist.
    AccountMissing,
    /// The item to be created exists already.
    AlreadyExists,
    /// The requester may not decide on their own request.
    FourEyes,
    /// The account may not be debited.
    AccountFrozen,
    /// The record's state does not allow it.
    WrongState,
    /// The time to decide on the request has passed.
    ApprovalExpired,
    /// The terminal's cash room is too small, or the merchant's unallotted room.
    CashRoomExceeded,
    /// The counter has less cash that was not collected.
    CashNotOutstanding,
    /// The merchant's refund room is too small.
    RefundRoomExceeded,
    /// The budget of the asset is too small.
    BudgetExceeded,
    /// The time in which a terminal may reverse its top-up, its refund or its charge has passed.
    ReversalTooLate,
    /// The payment needs the card's PIN, and none was typed or the card has none.
    PinRequired,
    /// No attempt at the card's PIN is left.
    PinLocked,
    /// The card's PIN is another one.
    PinWrong,
    /// The refund is above the refundable rest of the payment.
    OverRefund,
    /// The recipient would hold more than the cap.
    CapExceeded,
    /// The amount or count is above a limit.
    LimitExceeded,
    /// Not enough money, points or credits.
    Insufficient,
    /// The other party cannot receive it. It replaces every failure of that party's items in what the sender sees.
    RecipientUnavailable,
}

impl Failure {
    /// Whether it is about the state of what a command names, and not about an amount. A command that fails so at its request is not
    /// stored; an amount may suffice at the decision.
    pub(crate) const fn is_of_state(self) -> bool {
        match self {
            Self::AccountMissing | Self::AlreadyExists | Self::AccountFrozen | Self::WrongState => true,
            Self::StalePlan
            | Self::Decided
            | Self::FourEyes
            | Self::ApprovalExpired
            | Self::CashRoomExceeded
            | Self::CashNotOutstanding
            | Self::RefundRoomExceeded
            | Self::BudgetExceeded
            | Self::ReversalTooLate
            | Self::PinRequired
            | Self::PinLocked
            | Self::PinWrong
            | Self::OverRefund
            | Self::CapExceeded
            | Self::LimitExceeded
            | Self::Insufficient
            | Self::RecipientUnavailable => false,
        }
    }

    /// Every failure, highest precedence first.
    pub const ALL: &'static [Self] = &[
        Self::StalePlan,
        Self::Decided,
        Self::AccountMissing,
        Self::AlreadyExists,
        Self::FourEyes,
        Self::AccountFrozen,
        Self::WrongState,
        Self::ApprovalExpired,
        Self::CashRoomExceeded,
        Self::CashNotOutstanding,
        Self::RefundRoomExceeded,
        Self::BudgetExceeded,
        Self::ReversalTooLate,
        Self::PinRequired,
        Self::PinLocked,
        Self::PinWrong,
        Self::OverRefund,
        Self::CapExceeded,
        Self::LimitExceeded,
        Self::Insufficient,
        Self::RecipientUnavailable,
    ];

    /// Whether the refusal is stored under the key and replayed.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Insufficient
            | Self::CapExceeded
            | Self::LimitExceeded
            | Self::OverRefund
            | Self::Decided
            | Self::WrongState
            | Self::ApprovalExpired
            | Self::CashRoomExceeded
            | Self::CashNotOutstanding
            | Self::RefundRoomExceeded
            | Self::BudgetExceeded
            | Self::ReversalTooLate
            | Self::PinRequired
            | Self::PinLocked
            | Self::PinWrong
            | Self::AccountFrozen
            | Self::RecipientUnavailable => true,
            Self::StalePlan | Self::AccountMissing | Self::AlreadyExists | Self::FourEyes => false,
        }
    }

    /// The stable `code` of the problem document.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::StalePlan => "busy",
            Self::AccountMissing => "not_found",
            Self::AlreadyExists => "already_exists",
            Self::FourEyes => "four_eyes_required",
            Self::AccountFrozen => "account_frozen",
            Self::Decided | Self::WrongState => "wrong_state",
            Self::ApprovalExpired => "approval_expired",
            Self::CashRoomExceeded => "cash_room_exceeded",
            Self::CashNotOutstanding => "cash_not_outstanding",
            Self::RefundRoomExceeded => "refund_room_exceeded",
            Self::BudgetExceeded => "budget_exceeded",
            Self::ReversalTooLate => "reversal_too_late",
            Self::PinRequired => "pin_required",
            Self::PinLocked => "pin_locked",
            Self::PinWrong => "pin_wrong",
            Self::OverRefund => "over_refund",
            Self::CapExceeded => "cap_exceeded",
            Self::LimitExceeded => "limit_exceeded",
            Self::Insufficient => "insufficient_balance",
            Self::RecipientUnavailable => "recipient_unavailable",
        }
    }
}
