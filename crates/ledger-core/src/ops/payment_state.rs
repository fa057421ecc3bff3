//! A payment as a state machine, written out as data: every state, every transition, and what each of
//! our transactions does of them. Builders take their states from here, and the write is guarded on the
//! state that was read.
//!
//! The states in `-ing` belong to payments whose money is asked for elsewhere. A wallet's money moves in
//! our own table, so one transaction passes through them and stores only where it ends.

use super::PlanRefusal;
use std::fmt;

/// Where a payment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PaymentState {
    /// It has been asked for.
    Created,
    /// The payer's money is being held.
    Authorizing,
    /// The payer's money is held for the merchant.
    Authorized,
    /// What is held is being taken.
    Capturing,
    /// The money has moved.
    Captured,
    /// Some of it is going back.
    Refunding,
    /// Part of it went back.
    PartiallyRefunded,
    /// All of it went back.
    Refunded,
    /// It was called off, and nothing is held for it.
    Canceled,
    /// The money could not be held, or not be taken.
    Failed,
    /// The merchant did not take it in time, and nothing is held for it.
    Expired,
    /// Its terminal took it back as if it had not been.
    Reversed,
}

/// A transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The money is asked for.
    Authorize,
    /// It is held.
    Grant,
    /// It is not.
    Deny,
    /// The payment is called off before anything is asked for.
    Abandon,
    /// What is held is asked for, whole or in part.
    Capture,
    /// It is the merchant's; the rest of what was held is the payer's again.
    Take,
    /// It could not be had.
    Fail,
    /// The merchant gives up what is held.
    Void,
    /// The time to take what is held is over.
    Expire,
    /// The merchant gives money back.
    Refund,
    /// Part of the payment is back.
    ReturnPart,
    /// All that was left of it is back.
    ReturnRest,
    /// The payment's terminal takes it back.
    Reverse,
    /// A refund's terminal takes it back, and other refunds stand.
    RestorePart,
    /// A refund's terminal takes it back, and none stands.
    RestoreWhole,
}

/// What one transaction does: the transitions that it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Money held and taken at once.
    Pay,
    /// Money held.
    Authorize,
    /// What is held is taken, whole or in part.
    Capture,
    /// What is held is given up.
    Void,
    /// What is held comes back by itself.
    Expire,
    /// Part of what was left goes back.
    RefundPart,
    /// All that was left goes back.
    RefundRest,
    /// A payment is taken back.
    Reverse,
    /// A refund is taken back, and others stand.
    RestorePart,
    /// A refund is taken back, and none stands.
    RestoreWhole,
}

impl PaymentState {
    /// Every state.
    pub const ALL: [Self; 12] = [
        Self::Created,
        Self::Authorizing,
        Self::Authorized,
        Self::Capturing,
        Self::Captured,
        Self::Refunding,
        Self::PartiallyRefunded,
        Self::Refunded,
        Self::Canceled,
        Self::Failed,
        Self::Expired,
        Self::Reversed,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Authorizing => "authorizing",
            Self::Authorized => "authorized",
            Self::Capturing => "capturing",
            Self::Captured => "captured",
            Self::Refunding => "refunding",
            Self::PartiallyRefunded => "partially_refunded",
            Self::Refunded => "refunded",
            Self::Canceled => "canceled",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Reversed => "reversed",
        }
    }

    /// Reads a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Where a transition leads from here, or `None` if there is no such transition.
    #[must_use]
    pub fn next(self, step: Step) -> Option<Self> {
        use PaymentState as S;
        match step {
            Step::Authorize => self.among(&[S::Created], S::Authorizing),
            Step::Grant => self.among(&[S::Authorizing], S::Authorized),
            Step::Deny => self.among(&[S::Authorizing], S::Failed),
            Step::Abandon => self.among(&[S::Created], S::Canceled),
            Step::Capture => self.among(&[S::Authorized], S::Capturing),
            Step::Take => self.among(&[S::Capturing], S::Captured),
            Step::Fail => self.among(&[S::Capturing], S::Failed),
            Step::Void => self.among(&[S::Authorized], S::Canceled),
            Step::Expire => self.among(&[S::Authorized], S::Expired),
            Step::Refund => self.among(&[S::Captured, S::PartiallyRefunded], S::Refunding),
            Step::ReturnPart => self.among(&[S::Refunding], S::PartiallyRefunded),
            Step::ReturnRest => self.among(&[S::Refunding], S::Refunded),
            Step::Reverse => self.among(&[S::Captured], S::Reversed),
            Step::RestorePart => self.among(&[S::PartiallyRefunded, S::Refunded], S::PartiallyRefunded),
            Step::RestoreWhole => self.among(&[S::PartiallyRefunded, S::Refunded], S::Captured),
        }
    }

    /// Where one transaction leads from here, or `None` if a transition on its way is not legal.
    #[must_use]
    pub fn after(self, one: Move) -> Option<Self> {
        one.steps().iter().try_fold(self, |state, step| state.next(*step))
    }

    /// Where one transaction leads from here.
    ///
    /// # Errors
    /// [`PlanRefusal::InState`], which names this state.
    pub(super) fn moved(self, one: Move) -> Result<Self, PlanRefusal> {
        self.after(one).ok_or(PlanRefusal::InState { state: self, expired_at: None })
    }

    /// Whether it has been captured, whatever went back since: asking for it again changes nothing.
    #[must_use]
    pub fn is_captured(self) -> bool {
        match self {
            Self::Captured | Self::Refunding | Self::PartiallyRefunded | Self::Refunded => true,
            Self::Created
            | Self::Authorizing
            | Self::Authorized
            | Self::Capturing
            | Self::Canceled
            | Self::Failed
            | Self::Expired
            | Self::Reversed => false,
        }
    }

    /// Whether what was held is the payer's again: asking for that again changes nothing.
    #[must_use]
    pub fn is_released(self) -> bool {
        match self {
            Self::Canceled | Self::Expired => true,
            Self::Created
            | Self::Authorizing
            | Self::Authorized
            | Self::Capturing
            | Self::Captured
            | Self::Refunding
            | Self::PartiallyRefunded
            | Self::Refunded
            | Self::Failed
            | Self::Reversed => false,
        }
    }

    fn among(self, from: &[Self], to: Self) -> Option<Self> {
        from.contains(&self).then_some(to)
    }
}

impl fmt::Display for PaymentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Move {
    /// Its transitions, in order.
    #[must_use]
    pub fn steps(self) -> &'static [Step] {
        match self {
            Self::Pay => &[Step::Authorize, Step::Grant, Step::Capture, Step::Take],
            Self::Authorize => &[Step::Authorize, Step::Grant],
            Self::Capture => &[Step::Capture, Step::Take],
            Self::Void => &[Step::Void],
            Self::Expire => &[Step::Expire],
            Self::RefundPart => &[Step::Refund, Step::ReturnPart],
            Self::RefundRest => &[Step::Refund, Step::ReturnRest],
            Self::Reverse => &[Step::Reverse],
            Self::RestorePart => &[Step::RestorePart],
            Self::RestoreWhole => &[Step::RestoreWhole],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PaymentState as S;
    use Step as T;

    /// Every legal transition, as DESIGN draws them; the last five are the terminal's.
    const LEGAL: &str = "
        created            authorize     authorizing
        authorizing        grant         authorized
        authorized         capture       capturing
        capturing          take          captured
        captured           refund        refunding
        refunding          return_part   partially_refunded
        refunding          return_rest   refunded
        created            abandon       canceled
        authorizing        deny          failed
        authorized         void          canceled
        authorized         expire        expired
        capturing          fail          failed
        partially_refunded refund        refunding
        captured           reverse       reversed
        partially_refunded restore_part  partially_refunded
        refunded           restore_part  partially_refunded
        partially_refunded restore_whole captured
        refunded           restore_whole captured
    ";

    const STEPS: [(T, &str); 15] = [
        (T::Authorize, "authorize"),
        (T::Grant, "grant"),
        (T::Deny, "deny"),
        (T::Abandon, "abandon"),
        (T::Capture, "capture"),
        (T::Take, "take"),
        (T::Fail, "fail"),
        (T::Void, "void"),
        (T::Expire, "expire"),
        (T::Refund, "refund"),
        (T::ReturnPart, "return_part"),
        (T::ReturnRest, "return_rest"),
        (T::Reverse, "reverse"),
        (T::RestorePart, "restore_part"),
        (T::RestoreWhole, "restore_whole"),
    ];

    /// What each transaction makes of each state that can be read; what is not listed is refused.
    const MOVES: [(Move, &[(S, S)]); 10] = [
        (Move::Pay, &[(S::Created, S::Captured)]),
        (Move::Authorize, &[(S::Created, S::Authorized)]),
        (Move::Capture, &[(S::Authorized, S::Captured)]),
        (Move::Void, &[(S::Authorized, S::Canceled)]),
        (Move::Expire, &[(S::Authorized, S::Expired)]),
        (Move::RefundPart, &[(S::Captured, S::PartiallyRefunded), (S::PartiallyRefunded, S::PartiallyRefunded)]),
        (Move::RefundRest, &[(S::Captured, S::Refunded), (S::PartiallyRefunded, S::Refunded)]),
        (Move::Reverse, &[(S::Captured, S::Reversed)]),
        (Move::RestorePart, &[(S::PartiallyRefunded, S::PartiallyRefunded), (S::Refunded, S::PartiallyRefunded)]),
        (Move::RestoreWhole, &[(S::PartiallyRefunded, S::Captured), (S::Refunded, S::Captured)]),
    ];

    #[test]
    fn every_state_and_transition() {
        let legal: Vec<[&str; 3]> = LEGAL
            .lines()
            .filter_map(|line| <[&str; 3]>::try_from(line.split_whitespace().collect::<Vec<_>>()).ok())
            .collect();
        assert_eq!(legal.len(), 18);
        for state in S::ALL {
            for (step, name) in STEPS {
                let line = legal.iter().find(|[from, by, _]| (*from, *by) == (state.name(), name));
                assert_eq!(state.next(step).map(S::name), line.map(|[_, _, to]| *to), "{state} {name}");
            }
            assert_eq!(S::parse(state.name()), Some(state));
        }
        assert_eq!(S::parse("else"), None);
    }

    #[test]
    fn every_transaction_from_every_state() {
        for (one, legal) in MOVES {
            for state in S::ALL {
                let to = legal.iter().find(|(from, _)| *from == state).map(|(_, to)| *to);
                assert_eq!(state.after(one), to, "{one:?} of {state}");
                let refused = PlanRefusal::InState { state, expired_at: None };
                assert_eq!(state.moved(one), to.ok_or(refused));
            }
        }
    }

    #[test]
    fn no_transaction_stops_on_its_way() {
        let on_the_way = [S::Authorizing, S::Capturing, S::Refunding];
        for (one, legal) in MOVES {
            assert!(legal.iter().all(|(from, to)| !on_the_way.contains(from) && !on_the_way.contains(to)), "{one:?}");
        }
    }

    #[test]
    fn what_has_been_done_cannot_be_done_again() {
        for state in S::ALL {
            assert!(!(state.is_captured() && state.is_released()), "{state}");
            assert!(!state.is_captured() || state.after(Move::Capture).is_none(), "{state}");
            assert!(!state.is_released() || state.after(Move::Void).is_none(), "{state}");
        }
        let captured = S::ALL.into_iter().filter(|state| state.is_captured());
        assert_eq!(
            captured.map(S::name).collect::<Vec<_>>(),
            ["captured", "refunding", "partially_refunded", "refunded"]
        );
    }
}
