//! A payment: its record, its refunds, what is held for it, and what its entries post to the merchant.

use crate::ids::{PaymentId, Tenant};
use crate::money::Asset;
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::Fact;
use crate::reconcile::num::{Num, Nums};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a payment.
#[derive(Default)]
struct Known<'a> {
    record: Option<Record<'a>>,
    returned: Vec<(&'a str, &'a str, &'a str, &'a Nums)>,
    hold: Option<(&'a str, &'a str, &'a Nums)>,
    moved: BTreeMap<&'a str, &'a Nums>,
    homes: BTreeSet<&'a str>,
}

struct Record<'a> {
    state: &'a str,
    merchant: &'a str,
    payer: &'a str,
    entry: &'a str,
    authorized: &'a Nums,
    captured: &'a Nums,
    refundable: &'a Nums,
    delta: &'a Nums,
    held: bool,
}

pub(super) fn check(tenant: &Tenant, id: PaymentId, facts: &[Fact]) -> Vec<Finding> {
    let known = Known::of(facts);
    let subject = format!("payment:{id}");
    let finding = |kind| Finding::new(tenant, kind, &subject);
    let Some(record) = &known.record else {
        let entries = known.moved.keys().map(|entry| format!("transaction:{entry}"));
        let entries = entries.chain(known.homes.iter().map(|home| (*home).to_owned()));
        return vec![match known.hold {
            Some((state, payer, _)) => finding(BreakKind::HoldWithoutPayment)
                .expected("a payment")
                .found(format!("a hold that is {state}, and no payment"))
                .by(entries)
                .by([payer.to_owned()]),
            None => {
                let refunds = known.returned.iter().map(|(refund, ..)| format!("refund:{refund}"));
                let found = format!("{} refunds, {} entries, and no payment", refunds.len(), known.moved.len());
                finding(BreakKind::PaymentMissing).expected("a payment").found(found).by(refunds).by(entries)
            }
        }];
    };
    let mut findings = Vec::new();
    if let Some((expected, found)) = hold(record, known.hold) {
        let differs = finding(BreakKind::HoldDiffers).expected(expected).found(found);
        findings.push(differs.by([record.payer.to_owned()]));
    }
    findings.extend(remainder(record, &known, finding));
    findings.extend(credited(record, &known, finding));
    findings
}

impl<'a> Known<'a> {
    fn of(facts: &'a [Fact]) -> Self {
        let mut known = Self::default();
        for fact in facts {
            if let Fact::Payment { state, merchant, payer, entry, authorized, captured, refundable, delta, held } = fact
            {
                let held = *held;
                known.record =
                    Some(Record { state, merchant, payer, entry, authorized, captured, refundable, delta, held });
            } else if let Fact::Returned { id, kind, entry, delta } = fact {
                known.returned.push((id, kind, entry, delta));
            } else if let Fact::Hold { state, payer, held } = fact {
                known.hold = Some((state, payer, held));
            } else if let Fact::Moved { entry, home, delta } = fact {
                known.moved.insert(entry, delta);
                known.homes.insert(home);
            }
        }
        known
    }
}

/// A payment that was authorized has its hold, in the same state and of the same amounts.
fn hold(record: &Record<'_>, hold: Option<(&str, &str, &Nums)>) -> Option<(String, String)> {
    let state = match record.state {
        "partially_refunded" | "refunded" => "captured",
        state => state,
    };
    match (record.held, hold) {
        (false, None) => None,
        (false, Some((found, ..))) => Some(("no hold".to_owned(), format!("one that is {found}"))),
        (true, None) => Some((format!("a hold that is {state}"), "none".to_owned())),
        (true, Some((found, ..))) if found != state => Some((state.to_owned(), found.to_owned())),
        (true, Some((_, payer, _))) if payer != record.payer => Some((record.payer.to_owned(), payer.to_owned())),
        (true, Some((_, _, held))) if held != record.authorized => Some((shown(record.authorized), shown(held))),
        (true, Some(_)) => None,
    }
}

/// What may be refunded is what was captured and has not come back, and the state says the same.
fn remainder(record: &Record<'_>, known: &Known<'_>, finding: impl Fn(BreakKind) -> Finding) -> Vec<Finding> {
    let mut left = record.captured.clone();
    for (asset, delta) in known.returned.iter().flat_map(|(.., delta)| delta.iter()) {
        let of_asset = left.entry(asset.clone()).or_default();
        *of_asset = of_asset.plus(*delta);
    }
    let mut findings = Vec::new();
    for asset in left.keys().chain(record.refundable.keys()).collect::<BTreeSet<_>>() {
        let of = |nums: &Nums| nums.get(asset).copied().unwrap_or_default();
        let (expected, found) = (of(&left), of(record.refundable));
        if expected != found || found.is_negative() || found > of(record.captured) {
            let differs = finding(BreakKind::PaymentDiffers).expected(expected).found(found);
            findings.push(Asset::parse(asset).map_or(differs.clone(), |asset| differs.of(&asset)));
        }
    }
    let whole = left.iter().all(|(asset, left)| record.captured.get(asset) == Some(left));
    let nothing = left.values().all(|left| left.is_zero());
    let reversed = known.returned.iter().any(|(_, kind, ..)| *kind == "payment_reversal");
    let expected: &[&str] = match (record.captured.is_empty(), reversed, whole, nothing) {
        (true, ..) => &["authorized", "canceled", "expired"],
        (false, true, ..) => &["reversed"],
        (false, false, true, _) => &["captured"],
        (false, false, false, true) => &["refunded"],
        (false, false, false, false) => &["partially_refunded"],
    };
    if findings.is_empty() && !expected.contains(&record.state) {
        findings.push(finding(BreakKind::PaymentDiffers).expected(expected.join(" or ")).found(record.state));
    }
    findings
}

/// Each record owes its merchant what its entry posts there, and no entry posts what no record owes.
fn credited(record: &Record<'_>, known: &Known<'_>, finding: impl Fn(BreakKind) -> Finding) -> Vec<Finding> {
    let mut records = vec![(record.entry, record.delta)];
    records.extend(known.returned.iter().map(|(_, _, entry, delta)| (*entry, *delta)));
    let mut moved = known.moved.clone();
    let mut findings = Vec::new();
    let mut differs = |entry: &str, expected: &Nums, found: &Nums| {
        let by = [format!("transaction:{entry}"), format!("merchant:{}", record.merchant), record.payer.to_owned()];
        findings.push(finding(BreakKind::CreditDiffers).expected(shown(expected)).found(shown(found)).by(by));
    };
    if record.delta != record.captured {
        differs(record.entry, record.captured, record.delta);
    }
    for (entry, owed) in records {
        // An entry that is not there is a break of its own.
        if let Some(posted) = moved.remove(entry)
            && posted != owed
        {
            differs(entry, posted, owed);
        }
    }
    for (entry, posted) in moved.into_iter().filter(|(_, posted)| !posted.is_empty()) {
        differs(entry, posted, &Nums::new());
    }
    findings
}

fn shown(nums: &Nums) -> String {
    let parts: Vec<String> = nums.iter().map(|(asset, num): (&String, &Num)| format!("{num} {asset}")).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}
