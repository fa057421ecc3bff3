//! What can happen to one PaymentIntent at the PSP: every history of up to `most` events, the events, and the books
//! that must follow.

use crate::topup_orders::desk::{refund_id, topup_id};
use ledger_core::ids::Tenant;
use ledger_core::money::Amount;
use ledger_core::psp::{
    Dispute, Event, EventId, IntentStatus, PaymentIntent, PspId, PspMoney, PspRefund, RefundStatus, Subject, Tags,
};

/// The content of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Processing,
    PaymentFailed,
    Succeeded,
    Canceled,
    /// A refund that we requested.
    Ours(usize, RefundStatus),
    /// A refund that was made at the PSP.
    Theirs(usize, RefundStatus),
    DisputeCreated,
    Withdrawn,
    Reinstated,
    /// A second withdrawal, after the dispute was won.
    WithdrawnAgain,
    ReinstatedAgain,
    DisputeClosed,
}

/// An event of a top-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TopupEvent {
    pub(crate) topup: usize,
    pub(crate) what: What,
}

/// A history: the actions of customer and operator, and the PSP's events.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub(crate) topup: usize,
    pub(crate) charge: u64,
    /// The customer's balance before.
    pub(crate) balance: u64,
    /// Money and points that the customer transfers away once the top-up is credited.
    pub(crate) spends: (u64, u64),
    /// The amounts of our refunds, claimed right after that.
    pub(crate) refunds: Vec<u64>,
    pub(crate) theirs: Vec<u64>,
    pub(crate) disputed: u64,
    pub(crate) events: Vec<What>,
}

impl What {
    /// The number of our refund that it is about.
    pub(crate) fn ours(self) -> Option<usize> {
        match self {
            Self::Ours(refund, _) => Some(refund),
            Self::Processing
            | Self::PaymentFailed
            | Self::Succeeded
            | Self::Canceled
            | Self::Theirs(..)
            | Self::DisputeCreated
            | Self::Withdrawn
            | Self::Reinstated
            | Self::WithdrawnAgain
            | Self::ReinstatedAgain
            | Self::DisputeClosed => None,
        }
    }
}

/// The books that follow from the history alone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Truth {
    pub(crate) topup: &'static str,
    pub(crate) refunds: Vec<&'static str>,
    /// Refunds made at the PSP, then the dispute.
    pub(crate) clawbacks: Vec<Option<&'static str>>,
    pub(crate) available: u64,
    pub(crate) held: u64,
    pub(crate) owed: u64,
    /// The top-up's points (one per hundred yen) less those taken back and those spent; may be negative.
    pub(crate) points: i64,
    /// Negative if refunds and clawbacks exceed the charge.
    pub(crate) refundable: i64,
}

impl Story {
    pub(crate) fn has(&self, what: What) -> bool {
        self.events.contains(&what)
    }

    /// Whether the top-up's points are still there when they are taken back, in every order.
    pub(crate) fn has_its_points(&self) -> bool {
        let theirs = self.theirs.iter().enumerate();
        let theirs = theirs.filter(|(n, _)| last(|status| self.has(What::Theirs(*n, status))).is_some());
        let disputed = if self.has(What::Withdrawn) { self.disputed } else { 0 };
        let taken = self.refunds.iter().chain(theirs.map(|(_, amount)| amount)).sum::<u64>() + disputed;
        self.spends.1 == 0 && taken <= self.charge
    }

    /// The books after all events, in any order.
    pub(crate) fn truth(&self) -> Truth {
        let succeeded = self.has(What::Succeeded);
        let open = self.has(What::Processing) || self.has(What::PaymentFailed);
        let topup = match (succeeded, self.has(What::Canceled), open) {
            (true, false, _) => "succeeded",
            (false, true, _) => "canceled",
            (false, false, true) => "pending",
            (false, false, false) => "requested",
            (true, true, _) => panic!("a PaymentIntent is not both succeeded and canceled"),
        };
        let mut truth = Truth {
            topup,
            refunds: Vec::new(),
            clawbacks: Vec::new(),
            available: 0,
            held: 0,
            owed: 0,
            points: 0,
            refundable: if succeeded { self.charge.cast_signed() } else { 0 },
        };
        let credits = self.balance + if succeeded { self.charge } else { 0 };
        let mut debits = if succeeded { self.spends.0 } else { 0 };
        for (n, amount) in self.refunds.iter().enumerate().filter(|_| succeeded) {
            let state = match last(|status| self.has(What::Ours(n, status))) {
                Some(RefundStatus::Failed) => "failed",
                Some(RefundStatus::Succeeded) => "succeeded",
                Some(RefundStatus::Pending) => "pending",
                None => "requested",
            };
            truth.refunds.push(state);
            if state != "failed" {
                debits += amount;
                truth.refundable -= amount.cast_signed();
            }
            if state == "requested" || state == "pending" {
                truth.held += amount;
            }
        }
        let mut clawback = |is_taken: Option<bool>, amount: u64| {
            if is_taken == Some(true) {
                debits += amount;
                truth.refundable -= amount.cast_signed();
            }
            truth.clawbacks.push(is_taken.map(|taken| if taken { "taken" } else { "returned" }));
        };
        for (n, amount) in self.theirs.iter().enumerate() {
            let status = last(|status| self.has(What::Theirs(n, status)));
            clawback(status.map(|status| status != RefundStatus::Failed), *amount);
        }
        let movements = [What::ReinstatedAgain, What::WithdrawnAgain, What::Reinstated, What::Withdrawn];
        let latest = movements.into_iter().find(|what| self.has(*what));
        clawback(latest.map(|what| matches!(what, What::Withdrawn | What::WithdrawnAgain)), self.disputed);
        truth.available = credits.saturating_sub(debits);
        truth.owed = debits.saturating_sub(credits);
        truth.points = if succeeded { truth.refundable / 100 - self.spends.1.cast_signed() } else { 0 };
        truth
    }

    /// The PaymentIntent in a status.
    pub(crate) fn intent(&self, tenant: &Tenant, status: IntentStatus) -> PaymentIntent {
        PaymentIntent {
            id: self.intent_id(),
            amount: money(self.charge),
            received: if status == IntentStatus::Succeeded { self.charge } else { 0 },
            status,
            livemode: false,
            client_secret: None,
            tags: Some(Tags { tenant: tenant.clone(), topup: topup_id(self.topup), refund: None }),
        }
    }

    /// A refund of ours in a status; `paid` is the amount that we requested.
    pub(crate) fn our_refund(&self, tenant: &Tenant, n: usize, status: RefundStatus, paid: &Amount) -> PspRefund {
        let tags = Tags { tenant: tenant.clone(), topup: topup_id(self.topup), refund: Some(refund_id(self.topup, n)) };
        self.refund(&format!("re_{}_{n}", self.topup), paid.text().parse().unwrap(), status, Some(tags))
    }

    /// An event under an id.
    pub(crate) fn event(&self, tenant: &Tenant, event: TopupEvent, id: &str, paid: Option<&Amount>) -> Event {
        let intent = |status| Subject::Intent(self.intent(tenant, status));
        let dispute = |movements| {
            Subject::Dispute(Dispute {
                id: psp(&format!("dp_{}", self.topup)),
                intent: Some(self.intent_id()),
                amount: money(self.disputed),
                livemode: false,
                movements,
            })
        };
        let of_refund = |status| match status {
            RefundStatus::Pending => "refund.created",
            RefundStatus::Succeeded => "refund.updated",
            RefundStatus::Failed => "refund.failed",
        };
        let (kind, subject) = match event.what {
            What::Processing => ("payment_intent.processing", intent(IntentStatus::Open)),
            What::PaymentFailed => ("payment_intent.payment_failed", intent(IntentStatus::Open)),
            What::Succeeded => ("payment_intent.succeeded", intent(IntentStatus::Succeeded)),
            What::Canceled => ("payment_intent.canceled", intent(IntentStatus::Canceled)),
            What::Ours(n, status) => {
                (of_refund(status), Subject::Refund(self.our_refund(tenant, n, status, paid.unwrap())))
            }
            What::Theirs(n, status) => {
                let id = format!("re_{}_theirs_{n}", self.topup);
                (of_refund(status), Subject::Refund(self.refund(&id, self.theirs[n], status, None)))
            }
            What::DisputeCreated => ("charge.dispute.created", dispute(0)),
            What::Withdrawn => ("charge.dispute.funds_withdrawn", dispute(1)),
            What::Reinstated => ("charge.dispute.funds_reinstated", dispute(2)),
            What::WithdrawnAgain => ("charge.dispute.funds_withdrawn", dispute(3)),
            What::ReinstatedAgain => ("charge.dispute.funds_reinstated", dispute(4)),
            What::DisputeClosed => ("charge.dispute.closed", dispute(4)),
        };
        let id = EventId::parse(id).unwrap();
        Event { id, kind: kind.to_owned(), livemode: false, account: None, subject }
    }

    fn refund(&self, id: &str, amount: u64, status: RefundStatus, tags: Option<Tags>) -> PspRefund {
        PspRefund { id: psp(id), intent: Some(self.intent_id()), amount: money(amount), status, tags }
    }

    fn intent_id(&self) -> PspId {
        psp(&format!("pi_{}", self.topup))
    }
}

fn psp(id: &str) -> PspId {
    PspId::parse(id).unwrap()
}

fn money(minor: u64) -> PspMoney {
    PspMoney { minor, currency: "jpy".to_owned() }
}

/// The final status of a refund, given the statuses that occur.
fn last(occurs: impl Fn(RefundStatus) -> bool) -> Option<RefundStatus> {
    [RefundStatus::Failed, RefundStatus::Succeeded, RefundStatus::Pending].into_iter().find(|status| occurs(*status))
}

/// The possible sequences of a refund at the PSP: it may fail even after it succeeded.
pub(crate) fn ways_of_a_refund() -> [&'static [RefundStatus]; 7] {
    use RefundStatus::{Failed as F, Pending as P, Succeeded as S};
    [&[P], &[S], &[F], &[P, S], &[P, F], &[S, F], &[P, S, F]]
}

/// The possible sequences of a dispute. An inquiry takes no money.
pub(crate) fn ways_of_a_dispute() -> [&'static [What]; 9] {
    use What::{DisputeClosed as X, DisputeCreated as C, Reinstated as R, Withdrawn as W};
    let (withdrawn_again, reinstated_again) =
        (&[W, R, What::WithdrawnAgain], &[W, R, What::WithdrawnAgain, What::ReinstatedAgain]);
    [&[], &[W], &[C, X], &[W, R], &[C, W], &[C, W, X], &[C, W, R, X], withdrawn_again, reinstated_again]
}

/// Every history of 1 to `most` events, shortest first.
pub(crate) fn histories(most: usize) -> Vec<Story> {
    let mut all = Vec::new();
    let opens: [&[What]; 4] =
        [&[], &[What::Processing], &[What::PaymentFailed], &[What::Processing, What::PaymentFailed]];
    for open in opens {
        all.push(story(open, None, &[], &[]));
        all.push(story(open, Some(What::Canceled), &[], &[]));
        for refunds in pairs() {
            for dispute in ways_of_a_dispute() {
                all.push(story(open, Some(What::Succeeded), &refunds, dispute));
            }
        }
    }
    all.retain(|story| (1..=most).contains(&story.events.len()));
    all.sort_by_key(|story| story.events.len());
    all
}

/// A refund: whether it is ours, and its statuses. Ours may be claimed and have no event.
type Refund = (bool, &'static [RefundStatus]);

/// No refund, one, or two.
fn pairs() -> Vec<Vec<Refund>> {
    let mut one: Vec<Refund> = ways_of_a_refund().into_iter().flat_map(|way| [(true, way), (false, way)]).collect();
    one.push((true, &[]));
    let mut all = vec![Vec::new()];
    for (n, first) in one.iter().enumerate() {
        all.push(vec![*first]);
        all.extend(one[n..].iter().map(|second| vec![*first, *second]));
    }
    all
}

fn story(open: &[What], end: Option<What>, refunds: &[Refund], dispute: &[What]) -> Story {
    let mut story = Story {
        topup: 0,
        charge: 10_000,
        balance: 0,
        spends: (0, 0),
        refunds: Vec::new(),
        theirs: vec![5_000, 3_000],
        disputed: 10_000,
        events: open.iter().copied().chain(end).collect(),
    };
    let mut theirs = 0;
    for (ours, way) in refunds {
        if *ours {
            let n = story.refunds.len();
            story.refunds.push([2_000, 1_000][n]);
            story.events.extend(way.iter().map(|status| What::Ours(n, *status)));
        } else {
            story.events.extend(way.iter().map(|status| What::Theirs(theirs, *status)));
            theirs += 1;
        }
    }
    story.events.extend(dispute);
    story
}
