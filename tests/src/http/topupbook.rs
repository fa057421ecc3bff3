//! Audits top-ups, their refunds, clawbacks, and the markers of operations that call the PSP. Written from DESIGN, like
//! `ledgerbook`.

use super::books::{Books, Row, opt_text, text};
use super::ledgerbook::{Sums, kind_and_id, number, opt_number};
use rust_decimal::Decimal;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use uuid::Uuid;

impl Books {
    /// The charges of unpaid top-ups, by customer and asset.
    pub(super) fn reserved(&self) -> Sums {
        let mut sums = Sums::new();
        for (_, _, topup) in self.topups().filter(|(_, _, topup)| is_open(topup)) {
            *sums.entry((wallet(topup), "ECOPAY".to_owned())).or_default() += number(topup, "charge");
        }
        sums
    }

    /// The money and points that refunds of top-ups hold, by customer and asset.
    pub(super) fn held_for_refunds(&self) -> Sums {
        let mut sums = Sums::new();
        for (pk, _, topup) in self.topups() {
            for (_, refund) in self.of_topup(pk, "REFUND#").filter(|(_, refund)| is_open(refund)) {
                for (name, asset) in [("amount", "ECOPAY"), ("points", "POINT")] {
                    let held = opt_number(refund, name);
                    if !held.is_zero() {
                        *sums.entry((wallet(topup), asset.to_owned())).or_default() += held;
                    }
                }
            }
        }
        sums
    }

    /// Checks that exactly the top-ups that succeeded were credited, once; that what is refundable and what is owed
    /// follow from refunds and entries; and that each record has its entries.
    pub(super) fn check_topups(&self) {
        for (pk, _, topup) in self.topups() {
            let succeeded = text(topup, "state") == "succeeded";
            let states = ["requested", "pending", "succeeded", "canceled", "refused"];
            assert!(states.contains(&text(topup, "state")), "{pk}: {topup:?}");
            assert_eq!(topup.contains_key("due_pk"), is_open(topup), "{pk}: it is looked at while it is open");
            self.one_entry_of(topup, "topup", "credit", "topup_id", usize::from(succeeded));
            let (mut refundable, mut settled) = (number(topup, "charge"), Decimal::ZERO);
            for (sk, refund) in self.of_topup(pk, "REFUND#") {
                self.check_refund(pk, sk, topup, refund);
                if text(refund, "state") != "failed" {
                    refundable -= number(refund, "amount");
                    settled += opt_number(refund, "settled");
                }
            }
            if succeeded {
                assert!(refundable >= Decimal::ZERO, "{pk}: more is refunded than was charged");
                for (_, clawback) in self.of_topup(pk, "CLAWBACK#") {
                    if text(clawback, "state") == "taken" {
                        refundable -= number(clawback, "refundable_lowered");
                        settled += opt_number(clawback, "settled");
                    }
                }
                assert_eq!(number(topup, "refundable"), refundable, "{pk}: refundable");
                assert_eq!(opt_number(topup, "points_taken_back"), settled, "{pk}: points taken back");
            }
            assert_eq!(opt_number(topup, "owed"), Decimal::ZERO, "{pk}: an earlier release's debt");
            if text(topup, "state") == "requested" {
                assert!(!self.marker_of(topup, "topup").is_some_and(has_landed), "{pk}: answered, and not bound");
            }
            for (sk, clawback) in self.of_topup(pk, "CLAWBACK#") {
                let entries =
                    ["clawback", "clawback_returned"].map(|operation| self.of_clawback(operation, topup, clawback));
                let rounds = opt_number(clawback, "round") > Decimal::ZERO;
                match (text(clawback, "state"), entries) {
                    ("taken", [1, 0]) | ("returned", [0, 0] | [1, 1]) => {}
                    ("taken", [2, 1]) | ("returned", [2, 2]) if rounds => {}
                    (state, entries) => panic!("{pk} {sk} is {state}, and its entries are {entries:?}"),
                }
            }
        }
        self.check_debts();
        self.check_entries_have_records();
    }

    /// Checks that what a wallet owes is what its entries post to the tenant's account `disputes`.
    fn check_debts(&self) {
        let mut owed = BTreeMap::<(String, String), Decimal>::new();
        for (pk, _, entry) in self.under("TXN#") {
            let postings = entry.get("postings").and_then(|postings| postings.as_l().ok()).into_iter().flatten();
            let postings = postings.filter_map(|posting| posting.as_m().ok());
            for posting in postings.filter(|posting| text(posting, "account") == "disputes") {
                let key = (pk.to_owned(), format!("BALANCE#{}", text(posting, "asset")));
                *owed.entry(key).or_default() -= number(posting, "delta");
            }
        }
        for (pk, sk, wallet) in self.under("BALANCE#") {
            let posted = owed.remove(&(pk.to_owned(), sk.to_owned())).unwrap_or_default();
            assert_eq!(opt_number(wallet, "owed"), posted, "{pk} {sk}: what it owes");
            assert!(posted >= Decimal::ZERO, "{pk} {sk} owes {posted}");
        }
        assert!(owed.values().all(Decimal::is_zero), "owed by wallets that do not exist: {owed:?}");
    }

    fn check_refund(&self, pk: &str, sk: &str, topup: &Row, refund: &Row) {
        let state = text(refund, "state");
        assert!(["requested", "pending", "succeeded", "failed"].contains(&state), "{pk} {sk} is {state}");
        assert!(text(topup, "state") == "succeeded", "{pk} {sk} refunds what was never paid");
        self.one_entry_of(refund, "topup_refund", "hold", "refund_id", 1);
        let paid = self.entries_with("topup_refund_paid", "refund_id", text(refund, "refund_id"));
        self.one_entry_of(refund, "topup_refund_paid", "paid", "refund_id", paid);
        match (state, paid) {
            ("requested" | "pending", 0) | ("succeeded", 1) | ("failed", 0 | 1) => {}
            (state, paid) => panic!("{pk} {sk} is {state}, and was paid out {paid} times"),
        }
        let decided = self.of_topup(pk, "DECISION#").any(|(_, decision)| text(decision, "state") == "approved");
        let of_it = number(refund, "paid") + opt_number(refund, "kept");
        let elsewhere = opt_number(refund, "suspense") + opt_number(refund, "written_off");
        match (decided, state) {
            (false, _) => assert_eq!(of_it, number(refund, "amount"), "{pk} {sk}: what is paid out of it"),
            (true, "succeeded") => assert_eq!(of_it + elsewhere, number(refund, "amount"), "{pk} {sk}: as decided"),
            (true, _) => {}
        }
        // A decision that gives up a parked refund returns its money under the key of the person who decides.
        let back = ["topup_refund_returned", "parked_resolve"];
        let back: Vec<_> = back
            .into_iter()
            .filter(|operation| self.entries_with(operation, "refund_id", text(refund, "refund_id")) > 0)
            .collect();
        assert_eq!(back.len(), usize::from(state == "failed"), "{pk} {sk} is {state}: {back:?}");
        for operation in back {
            self.one_entry_of(refund, operation, "returned", "refund_id", 1);
        }
        let awaited = state == "pending";
        assert!(!awaited || refund.contains_key("due_pk"), "{pk} {sk} is on its way, and nobody looks at it");
        assert!(is_open(refund) || !refund.contains_key("due_pk"), "{pk} {sk} is done, and is looked at");
        if state == "requested" {
            assert!(
                !self.marker_of(refund, "topup_refund").is_some_and(has_landed),
                "{pk} {sk}: answered, and not bound"
            );
        }
    }

    /// Checks that every entry about a top-up, a refund of one or a clawback has that record.
    fn check_entries_have_records(&self) {
        for (pk, sk, entry) in self.under("TXN#") {
            let Some(topup) = opt_text(entry, "topup_id") else { continue };
            let of = format!("{}#topup#{topup}", self.tenant);
            let topup = self.row(&of, "TOPUP").unwrap_or_else(|| panic!("{pk} {sk} is of no top-up"));
            assert_eq!(
                wallet(topup),
                format!("customer:{}", kind_and_id(pk).1),
                "{pk} {sk} stands with another customer"
            );
            let record = match (opt_text(entry, "refund_id"), text(entry, "operation")) {
                (Some(refund), _) => format!("REFUND#{refund}"),
                (None, "clawback" | "clawback_returned") => format!("CLAWBACK#{}", text(entry, "psp_id")),
                (None, _) => "TOPUP".to_owned(),
            };
            assert!(self.row(&of, &record).is_some(), "{pk} {sk} has no {record}");
        }
    }

    /// Checks that a marker in flight has a token, a lease and a due index entry, and no expiry, and that a landed one
    /// has a response and an expiry, and is not due. Events' markers expire; a kept event needs review until an
    /// operator dismisses it.
    pub(super) fn check_markers(&self) {
        for (pk, sk, marker) in self.under("card_op_idem#") {
            let has = |name: &str| marker.contains_key(name);
            if is_in_flight(marker) {
                let operation = text(marker, "operation");
                assert!(["topup", "topup_refund"].contains(&operation), "{pk} {sk} calls nobody");
                for name in
                    ["fence", "lease_until", "taken_at", "epoch", "first_sent_at", "psp_body", "due_pk", "due_sk"]
                {
                    assert!(has(name), "{pk} {sk} is in flight without {name}");
                }
                for name in ["ttl", "status", "body"] {
                    assert!(!has(name), "{pk} {sk} is in flight with {name}");
                }
                assert_eq!(text(marker, "state") == "PARKED", has("parked"), "{pk} {sk}: why it is parked");
            } else {
                for name in ["due_pk", "due_sk", "lease_until", "parked"] {
                    assert!(!has(name), "{pk} {sk} has landed with {name}");
                }
                let answered = has_landed(marker);
                assert!(answered || text(marker, "state") == "REVERSED", "{pk} {sk}: {marker:?}");
                for name in ["status", "body", "fp"] {
                    assert!(!answered || has(name), "{pk} {sk} has landed without {name}");
                }
                // A terminal's marker is kept for its reversal, however late that comes.
                assert_eq!(has("ttl"), answered && !pk.contains("#terminal#"), "{pk} {sk}: its ttl");
            }
        }
        for (pk, _, marker) in self.events() {
            assert!(marker.contains_key("ttl") && marker.contains_key("processed_at"), "{pk}: {marker:?}");
        }
        for (pk, _, kept) in self.under("kept") {
            assert_ne!(kept.contains_key("due_pk"), kept.contains_key("dismissed_at"), "{pk}: {kept:?}");
        }
    }

    fn topups(&self) -> impl Iterator<Item = (&str, &str, &Row)> {
        self.under("TOPUP")
    }

    fn of_topup(&self, topup: &str, prefix: &'static str) -> impl Iterator<Item = (&str, &Row)> {
        self.under(prefix).filter(move |(pk, _, _)| *pk == topup).map(|(_, sk, row)| (sk, row))
    }

    /// Checks that a record has `count` entries of an operation, none or one, and that the entry is in its customer's
    /// partition under the id of its step.
    fn one_entry_of(&self, record: &Row, operation: &str, step: &str, name: &str, count: usize) {
        let id = text(record, name);
        assert_eq!(self.entries_with(operation, name, id), count, "entries of {operation} of {id}");
        let is = |entry: &Row| step_of(entry) == operation && opt_text(entry, name) == Some(id);
        for (pk, sk, entry) in self.under("TXN#").filter(|(_, _, entry)| is(entry)) {
            let own = text(entry, "transaction_id");
            assert!(is_of_step(own, id, step), "{pk} {sk} is not the step {step} of {id}");
            assert_eq!(sk, format!("TXN#{own}"), "{pk} {sk} stands under another id than its own");
        }
    }

    fn entries_with(&self, operation: &str, name: &str, id: &str) -> usize {
        let is = |entry: &Row| step_of(entry) == operation && opt_text(entry, name) == Some(id);
        self.under("TXN#").filter(|(_, _, entry)| is(entry)).count()
    }

    fn of_clawback(&self, operation: &str, topup: &Row, clawback: &Row) -> usize {
        let same = |entry: &Row, of: &Row, name| opt_text(entry, name) == Some(text(of, name));
        let is = |entry: &Row| {
            text(entry, "operation") == operation && same(entry, topup, "topup_id") && same(entry, clawback, "psp_id")
        };
        self.under("TXN#").filter(|(_, _, entry)| is(entry)).count()
    }

    fn marker_of(&self, record: &Row, operation: &str) -> Option<&Row> {
        let pk = format!("{}#{}", self.tenant, text(record, "principal").replace(':', "#"));
        self.row(&pk, &format!("card_op_idem#{operation}#{}", text(record, "idempotency_key")))
    }
}

/// Whether a marker is claimed and has no stored response.
pub(super) fn is_in_flight(marker: &Row) -> bool {
    ["IN_FLIGHT", "FAILED_RETRY", "PARKED"].contains(&text(marker, "state"))
}

/// Whether a marker has a stored response.
pub(super) fn has_landed(marker: &Row) -> bool {
    ["COMPLETED", "FAILED_TERMINAL"].contains(&text(marker, "state"))
}

/// The operation of an entry; for an entry by a decision, the operation that the decision replaced.
fn step_of(entry: &Row) -> &str {
    let operation = text(entry, "operation");
    match (operation, opt_text(entry, "decided"), opt_text(entry, "refund_id")) {
        ("topup_decision_approve", Some("book"), None) => "topup",
        ("topup_decision_approve", Some("book"), Some(_)) => "topup_refund_paid",
        ("topup_decision_approve", Some("give_up"), Some(_)) => "topup_refund_returned",
        (operation, _, _) => operation,
    }
}

fn is_open(record: &Row) -> bool {
    ["requested", "pending"].contains(&text(record, "state"))
}

fn wallet(topup: &Row) -> String {
    format!("customer:{}", text(topup, "customer_id"))
}

/// Whether an entry's id is that of a step: a UUIDv7 whose random bits are the digest of `<id>/<step>`, so that every
/// process derives the same id.
fn is_of_step(entry: &str, id: &str, step: &str) -> bool {
    let digest = Sha256::digest(format!("{id}/{step}"));
    let bytes = *Uuid::parse_str(entry).unwrap_or_else(|error| panic!("{entry}: {error}")).as_bytes();
    let random = [bytes[6] & 0x0f, bytes[7], bytes[8] & 0x3f];
    bytes[6] >> 4 == 7 && random == [digest[0] & 0x0f, digest[1], digest[2] & 0x3f] && bytes[9..] == digest[3..10]
}
