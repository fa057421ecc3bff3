//! A payment as a state machine, stated as data: every state, every transition, and the transitions of each of our
//! transactions. Builders take the next state from here, and the write is guarded on the state that was read.
//!
//! The states in `-ing` are for payments whose money another system moves. A wallet's money moves in our own table,
//! so one transaction passes through them and stores only the last state.

use crate::words::words;
use std::fmt;

words! {
    /// The state of a payment.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum PaymentState {
        /// It was requested.
        Created = "created",
        /// The payer's money is about to be held.
        Authorizing = "authorizing",
        /// The payer's money is held for the merchant.
        Authorized = "authorized",
        /// The capture is in progress.
        Capturing = "capturing",
        /// The money has moved.
        Captured = "captured",
        /// A refund is in progress.
        Refunding = "refunding",
        /// Part of it was refunded.
        PartiallyRefunded = "partially_refunded",
        /// All of it was refunded.
        Refunded = "refunded",
        /// It was voided or abandoned: nothing is held for it.
        Canceled = "canceled",
        /// The authorization or the capture failed.
        Failed = "failed",
        /// The hold expired before a capture: nothing is held for it.
        Expired = "expired",
        /// The terminal reversed it.
        Reversed = "reversed",
    }
}

/// A transaction that is not legal in the state of the payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongState(pub(crate) PaymentState);

/// A transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Requests that the money be held.
    Authorize,
    /// The money is held.
    Grant,
    /// The money cannot be held.
    Deny,
    /// The payment ends before it was authorized.
    Abandon,
    /// Requests the capture of the hold, in whole or in part.
    Capture,
    /// The captured part is the merchant's; the rest is the payer's again.
    Take,
    /// The capture fails.
    Fail,
    /// The merchant gives up the hold.
    Void,
    /// The time of the hold is over.
    Expire,
    /// The merchant requests a refund.
    Refund,
    /// Part of the payment is refunded.
    ReturnPart,
    /// All that was left of the payment is refunded.
    ReturnRest,
    /// The terminal reverses the payment.
    Reverse,
    /// A refund is reversed, and other refunds remain.
    RestorePart,
    /// A refund is reversed, and no other remains.
    RestoreWhole,
}

/// One transaction: a sequence of transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Holds and captures at once.
    Pay,
    /// Holds money.
    Authorize,
    /// Captures a hold, in whole or in part.
    Capture,
    /// Gives up a hold.
    Void,
    /// Releases a hold after its time.
    Expire,
    /// Refunds part of what is left.
    RefundPart,
    /// Refunds all that is left.
    RefundRest,
    /// Reverses a payment.
    Reverse,
    /// Reverses a refund, when others remain.
    RestorePart,
    /// Reverses a refund, when no other remains.
    RestoreWhole,
}

impl PaymentState {
    /// The state after a transition; `None` if the transition is not legal here.
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

    /// The state after one transaction; `None` if one of its transitions is not legal.
    #[must_use]
    pub fn after(self, one: Move) -> Option<Self> {
        one.steps().iter().try_fold(self, |state, step| state.next(*step))
    }

    /// The state after one transaction.
    ///
    /// # Errors
    /// If one of its transitions is not legal, with this state.
    pub(crate) fn moved(self, one: Move) -> Result<Self, WrongState> {
        self.after(one).ok_or(WrongState(self))
    }

    /// Whether it was captured, even if refunded since. Another capture then changes nothing.
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

    /// Whether its hold was released. Another release then changes nothing.
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
    /// The transitions, in order.
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

    /// Every legal transition. The last five are those of a terminal.
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

    /// The result of each transaction in each stored state; what is not listed is refused.
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
    fn every_transition_is_legal_only_where_listed() {
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
    fn every_transaction_has_the_listed_result() {
        for (one, legal) in MOVES {
            for state in S::ALL {
                let to = legal.iter().find(|(from, _)| *from == state).map(|(_, to)| *to);
                assert_eq!(state.after(one), to, "{one:?} of {state}");
                assert_eq!(state.moved(one), to.ok_or(WrongState(state)));
            }
        }
    }

    #[test]
    fn no_transaction_begins_or_ends_in_an_intermediate_state() {
        let on_the_way = [S::Authorizing, S::Capturing, S::Refunding];
        for (one, legal) in MOVES {
            assert!(legal.iter().all(|(from, to)| !on_the_way.contains(from) && !on_the_way.contains(to)), "{one:?}");
        }
    }

    #[test]
    fn captured_or_released_payment_refuses_a_repetition() {
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
