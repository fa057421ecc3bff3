//! A top-up: its record and refunds against its entries, and against the payment provider's objects.

use super::Scope;
use crate::ids::{Tenant, TopupId};
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::Fact;
use crate::reconcile::num::Num;
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// What is known of a top-up.
#[derive(Default)]
struct Known<'a> {
    record: Option<Record<'a>>,
    refunds: BTreeMap<&'a str, Refund<'a>>,
    clawbacks: Vec<Clawback<'a>>,
    /// By operation, then by what of the top-up they are about.
    entries: BTreeMap<(&'a str, &'a str), usize>,
    /// What entries post to `suspense`.
    suspense: Num,
    charges: Vec<(&'a str, bool, Num)>,
    payouts: BTreeMap<&'a str, (&'a str, Num)>,
}

struct Record<'a> {
    state: &'a str,
    customer: &'a str,
    charge: Num,
    refundable: Num,
    taken_back: Num,
    suspense: Num,
    given_up: Num,
    intent: Option<&'a str>,
    at: i64,
}

struct Refund<'a> {
    state: &'a str,
    amount: Num,
    paid: Num,
    settled: Num,
    suspense: Num,
    given_up: Num,
    at: i64,
}

struct Clawback<'a> {
    id: &'a str,
    state: &'a str,
    round: u32,
    lowered: Num,
    settled: Num,
}

pub(super) fn check(tenant: &Tenant, id: TopupId, facts: &[Fact], scope: &Scope) -> Vec<Finding> {
    let known = Known::of(facts);
    let subject = format!("topup:{id}");
    let mut findings = Vec::new();
    let new =
        |kind, expected: &str, found: String| Finding::new(tenant, kind, &subject).expected(expected).found(found);
    let Some(record) = &known.record else {
        if !known.entries.is_empty() || !known.refunds.is_empty() || !known.clawbacks.is_empty() {
            findings.push(new(BreakKind::TopupMissing, "a top-up", "its refunds or entries alone".to_owned()));
        }
        for (intent, _, received) in known.charges.iter().filter(|(_, paid, _)| *paid) {
            let unpaid = new(BreakKind::ChargeWithoutCredit, "a top-up", format!("{received} ECOPAY charged"));
            findings.push(unpaid.by([(*intent).to_owned()]));
        }
        return findings;
    };
    let mut differs = |what: &str, expected: String, found: String| {
        let finding = new(BreakKind::TopupDiffers, &format!("{what}: {expected}"), found);
        findings.push(finding.by([record.customer.to_owned()]));
    };
    entries(record, &known, &mut differs);
    let on_suspense = known.refunds.values().fold(record.suspense, |sum, refund| sum.plus(refund.suspense));
    if on_suspense != known.suspense {
        differs("suspense", known.suspense.to_string(), on_suspense.to_string());
    }
    if !known.suspense.is_zero() {
        let open = new(BreakKind::SuspenseOpen, "nothing on suspense", format!("{} ECOPAY", known.suspense));
        findings.push(open.by([record.customer.to_owned()]));
    }
    findings.extend(provider(record, &known, scope, new));
    findings
}

impl<'a> Known<'a> {
    fn of(facts: &'a [Fact]) -> Self {
        let mut known = Self::default();
        for fact in facts {
            if let Fact::Topup { state, customer, charge, refundable, taken_back, suspense, given_up, intent, at } =
                fact
            {
                known.record = Some(Record {
                    state,
                    customer,
                    charge: *charge,
                    refundable: *refundable,
                    taken_back: *taken_back,
                    suspense: *suspense,
                    given_up: *given_up,
                    intent: intent.as_deref(),
                    at: *at,
                });
            } else if let Fact::CardRefund { id, state, amount, paid, settled, suspense, given_up, at } = fact {
                let refund = Refund {
                    state,
                    amount: *amount,
                    paid: *paid,
                    settled: *settled,
                    suspense: *suspense,
                    given_up: *given_up,
                    at: *at,
                };
                known.refunds.insert(id, refund);
            } else if let Fact::Clawback { id, state, round, lowered, settled } = fact {
                let clawback = Clawback { id, state, round: *round, lowered: *lowered, settled: *settled };
                known.clawbacks.push(clawback);
            } else if let Fact::TopupEntry { operation, refund, psp_id, decided, suspense, .. } = fact {
                known.suspense = known.suspense.plus(*suspense);
                let refund = refund.as_deref();
                let (operation, about) = match (decided.as_deref(), operation.as_str(), refund) {
                    (None, "topup", _) | (Some("book"), _, None) => ("topup", ""),
                    (Some("book"), _, Some(refund)) => ("topup_refund_paid", refund),
                    (Some("give_up"), _, Some(refund)) => ("topup_refund_returned", refund),
                    (Some(decided), ..) => (decided, ""),
                    (None, operation, Some(refund)) => (operation, refund),
                    (None, operation, None) => (operation, psp_id.as_deref().unwrap_or_default()),
                };
                let count = known.entries.entry((operation, about)).or_default();
                *count = count.saturating_add(1);
            } else if let Fact::Charge { id, paid, received } = fact {
                known.charges.push((id, *paid, *received));
            } else if let Fact::Payout { refund, state, amount, .. } = fact {
                known.payouts.insert(refund, (state, *amount));
            }
        }
        known
    }

    fn count(&self, operation: &str, about: &str) -> usize {
        self.entries.get(&(operation, about)).copied().unwrap_or_default()
    }
}

/// State and sums follow from the entries.
fn entries(record: &Record<'_>, known: &Known<'_>, differs: &mut impl FnMut(&str, String, String)) {
    let succeeded = record.state == "succeeded";
    let credits = known.count("topup", "");
    if credits != usize::from(succeeded) {
        differs("credits", usize::from(succeeded).to_string(), format!("{credits}, and it is {}", record.state));
    }
    let (mut refundable, mut settled) = (record.charge, Num::ZERO);
    for (id, refund) in &known.refunds {
        if refund.state != "failed" {
            refundable = refundable.minus(refund.amount);
            settled = settled.plus(refund.settled);
        }
        let paid = known.count("topup_refund_paid", id);
        // A person who gives up a refund gives its money back under a key of their own.
        let back = known.count("topup_refund_returned", id).saturating_add(known.count("parked_resolve", id));
        let fits = match refund.state {
            "succeeded" => (paid, back) == (1, 0),
            "failed" => paid <= 1 && back == 1,
            _ => (paid, back) == (0, 0),
        };
        if known.count("topup_refund", id) != 1 || !fits {
            let found = format!("paid {paid} times, returned {back} times");
            differs(&format!("refund:{id}"), format!("the entries of one that is {}", refund.state), found);
        }
    }
    for clawback in &known.clawbacks {
        refundable = refundable.minus(clawback.lowered);
        settled = settled.plus(clawback.settled);
    }
    if succeeded {
        let sums = [("refundable", refundable, record.refundable), ("points taken back", settled, record.taken_back)];
        for (what, expected, found) in sums {
            // Refunds and clawbacks together may be more than was charged.
            let is_overdrawn = what == "refundable" && !known.clawbacks.is_empty();
            if expected != found || (found.is_negative() && !is_overdrawn) {
                differs(what, expected.to_string(), found.to_string());
            }
        }
    }
    for Clawback { id, state, round, .. } in &known.clawbacks {
        let (taken, returned) = (known.count("clawback", id), known.count("clawback_returned", id));
        let is_taken = *state == "taken";
        let fits = taken == returned.saturating_add(usize::from(is_taken));
        let most = usize::try_from(*round).unwrap_or(usize::MAX).div_ceil(2);
        if !fits || taken > most {
            let found = format!("taken {taken} times, returned {returned} times");
            differs(id, format!("the entries of one that is {state}"), found);
        }
    }
}

/// What the provider says, where it was asked.
fn provider(
    record: &Record<'_>,
    known: &Known<'_>,
    scope: &Scope,
    new: impl Fn(BreakKind, &str, String) -> Finding,
) -> Vec<Finding> {
    let was_listed = |at: i64| {
        let at = Timestamp::from_millis(at);
        scope.listed.is_some_and(|(since, until)| since <= at && at <= until)
    };
    let mut findings = Vec::new();
    let by = |finding: Finding, intent: &str| finding.by([intent.to_owned(), record.customer.to_owned()]);
    for (intent, paid, received) in &known.charges {
        if !paid {
            continue;
        }
        if record.state != "succeeded" && record.given_up == *received {
            continue;
        }
        if record.state != "succeeded" {
            let found = format!("{received} ECOPAY charged, and it is {}", record.state);
            findings.push(by(new(BreakKind::ChargeWithoutCredit, "credited", found), intent));
        } else if *received != record.charge {
            let expected = record.charge.to_string();
            findings.push(by(new(BreakKind::ChargeDiffers, &expected, received.to_string()), intent));
        }
    }
    let paid = known.charges.iter().any(|(_, paid, _)| *paid);
    if record.state == "succeeded" && !paid && was_listed(record.at) {
        let intent = record.intent.unwrap_or("no PaymentIntent");
        let credited = new(BreakKind::CreditWithoutCharge, "charged", format!("credited for {intent}"));
        findings.push(by(credited, intent));
    }
    for (id, refund) in &known.refunds {
        let expected = format!("{} of {} ECOPAY", refund.state, refund.paid);
        let found = match (known.payouts.get(id), refund.state) {
            (Some((_, amount)), "failed") if !amount.is_zero() && *amount == refund.given_up => continue,
            (Some((_, amount)), _) if *amount != refund.paid => format!("{amount} ECOPAY"),
            (Some((state, _)), ours) if *state != ours => (*state).to_owned(),
            (None, "succeeded") if was_listed(refund.at) => "none".to_owned(),
            (Some(_) | None, _) => continue,
        };
        let differs = new(BreakKind::ProviderRefundDiffers, &expected, found);
        findings.push(differs.by([format!("refund:{id}"), record.customer.to_owned()]));
    }
    for (id, (state, _)) in known.payouts.iter().filter(|(id, _)| !known.refunds.contains_key(*id)) {
        let differs = new(BreakKind::ProviderRefundDiffers, "a refund of ours", format!("one that is {state}"));
        findings.push(differs.by([format!("refund:{id}")]));
    }
    findings
}
