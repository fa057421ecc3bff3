//! Audits a tenant's rows: what must hold at any moment, after any retries, reorderings, duplicates and crashes.
//! Written from DESIGN, without the ledger's own code.

use super::books::{Books, Row, opt_text, text};
use super::holdbook::is_held_or_was;
use super::standbook::{Held, Standing, is_foreign};
use super::topupbook::has_landed;
use aws_sdk_dynamodb::types::AttributeValue;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// Sums by account, or another name, and asset.
pub(super) type Sums = BTreeMap<(String, String), Decimal>;

/// The sums of postings to accounts, available and held.
#[derive(Default)]
pub(super) struct Posted {
    pub(super) available: Sums,
    pub(super) held: Sums,
    /// The part of `available` that settlements posted to merchants.
    pub(super) settled: Sums,
}

/// Entries written by Stripe events: the operation of the entry, and the operation whose response may have written the
/// entry before the event.
const BY_EVENTS: [(&str, Option<&str>); 6] = [
    ("topup", Some("topup")),
    ("topup_refund_paid", Some("topup_refund")),
    ("topup_refund_returned", Some("topup_refund")),
    ("clawback", None),
    ("clawback_returned", None),
    ("settlement_returned", None),
];

impl Books {
    /// Checks all rows.
    ///
    /// # Panics
    /// With the first rule that does not hold.
    pub fn check(&self) {
        let posted = self.postings();
        self.check_balances(&posted);
        self.check_merchants(&posted);
        self.check_settlements();
        self.check_payments();
        self.check_holds();
        self.check_topups();
        self.check_references();
        self.check_keys();
        self.check_markers();
        self.check_co2();
        self.check_leaving();
    }

    /// The sum posted to an account, available and held, as the journal has it.
    #[must_use]
    pub fn posted(&self, account: &str, asset: &str) -> Decimal {
        let (key, posted) = ((account.to_owned(), asset.to_owned()), self.postings());
        [posted.available, posted.held].iter().filter_map(|sums| sums.get(&key)).sum()
    }

    /// The sums of postings by account and asset. Asserts that each entry sums to zero.
    pub(super) fn postings(&self) -> Posted {
        let mut all = Posted::default();
        for (pk, sk, entry) in self.under("TXN#") {
            let mut own = BTreeMap::<String, Decimal>::new();
            let postings = entry.get("postings").and_then(|value| value.as_l().ok());
            let postings = postings.unwrap_or_else(|| panic!("{pk} {sk} has no postings"));
            assert!(postings.len() >= 2, "{pk} {sk} has one side only");
            for posting in postings {
                let posting = posting.as_m().expect("a posting is a map");
                let (account, asset, delta) =
                    (text(posting, "account"), text(posting, "asset"), number(posting, "delta"));
                assert!(!delta.is_zero(), "{pk} {sk} posts nothing to {account}");
                *own.entry(asset.to_owned()).or_default() += delta;
                let sums = match opt_text(posting, "bucket") {
                    None => &mut all.available,
                    Some("held") if account.starts_with("customer:") || account.starts_with("merchant:") => {
                        &mut all.held
                    }
                    Some(other) => panic!("{pk} {sk} posts to {other} of {account}"),
                };
                *sums.entry((account.to_owned(), asset.to_owned())).or_default() += delta;
                let by_settlement = text(entry, "operation").starts_with("settlement_");
                if by_settlement && opt_text(posting, "bucket").is_none() && account.starts_with("merchant:") {
                    *all.settled.entry((account.to_owned(), asset.to_owned())).or_default() += delta;
                }
            }
            assert!(own.values().all(Decimal::is_zero), "{pk} {sk} does not sum to zero: {own:?}");
        }
        all
    }

    /// Checks that the balance and `held` of each balance item are the sums of its postings, that no posting goes to a
    /// customer or card without one, that `exposure` is both sums with the charges of unpaid top-ups, and that what is
    /// held is held for refunds or merchants.
    fn check_balances(&self, posted: &Posted) {
        let (reserved, mut on_hold) = (self.reserved(), self.held_for_refunds());
        for (account, held) in self.held_for_merchants() {
            *on_hold.entry(account).or_default() += held;
        }
        let mut seen = BTreeSet::new();
        for Standing { account, numbers } in self.standing() {
            let of = |sums: &Sums| sums.get(&account).copied().unwrap_or_default();
            let Held { balance, held, reserved: headroom, exposure } = numbers;
            assert!(!balance.is_sign_negative() || balance.is_zero(), "{account:?} is negative: {balance}");
            assert!(!held.is_sign_negative() || held.is_zero(), "{account:?} holds {held}");
            assert_eq!(balance, of(&posted.available), "{account:?}: the balance and its postings differ");
            assert_eq!(held, of(&posted.held), "{account:?}: what is held and its postings differ");
            assert_eq!(held, of(&on_hold), "{account:?}: what is held and what refunds and merchants hold differ");
            assert_eq!(headroom, of(&reserved), "{account:?}: what top-ups reserve");
            if account.0.starts_with("customer:") {
                assert_eq!(exposure, balance + held + of(&reserved), "{account:?}: exposure");
            }
            seen.insert(account);
        }
        let with_items = |(name, _): &&(String, String)| name.starts_with("customer:") || name.starts_with("card:");
        let named = [&posted.available, &posted.held, &reserved, &on_hold].into_iter().flat_map(Sums::keys);
        for account in named.filter(with_items) {
            assert!(seen.contains(account), "{account:?} is posted to and has no balance item");
        }
    }

    /// Checks that the refundable amount of a payment is what was captured less what was returned, between zero and the
    /// captured amount, and that its state agrees.
    fn check_payments(&self) {
        for (pk, _, payment) in self.under("PAYMENT") {
            let mut back = BTreeMap::<String, Decimal>::new();
            let mut reversed = false;
            for (_, _, record) in self.within(pk, "REFUND#") {
                reversed |= text(record, "kind") == "payment_reversal";
                for (asset, delta) in merchant_delta(record) {
                    *back.entry(asset).or_default() += delta;
                }
            }
            if is_held_or_was(payment) {
                let owes = payment.keys().any(|name| name.starts_with("refundable_"));
                assert!(back.is_empty() && !reversed && !owes, "{pk}: refunded what was never captured");
                continue;
            }
            let (mut all, mut none) = (true, true);
            for (asset, captured) in merchant_delta(payment) {
                let left = refundable(payment, &asset);
                assert_eq!(left, captured + back.remove(&asset).unwrap_or_default(), "{pk}: refundable {asset}");
                assert!(left >= Decimal::ZERO && left <= captured, "{pk}: {left} {asset} of {captured}");
                all &= left == captured;
                none &= left.is_zero();
            }
            assert!(back.is_empty(), "{pk}: refunded what was never paid: {back:?}");
            let state = match (reversed, all, none) {
                (true, _, _) => "reversed",
                (false, true, _) => "captured",
                (false, false, true) => "refunded",
                (false, false, false) => "partially_refunded",
            };
            assert_eq!(text(payment, "state"), state, "{pk}");
        }
    }

    /// Checks that every reference points to an existing entry.
    fn check_references(&self) {
        for (pk, sk, row) in self.under("TXNREF#").filter(|(_, _, row)| !is_foreign(row)) {
            let home = text(row, "home").replace(':', "#");
            let entry = sk.replace("TXNREF#", "TXN#");
            let entry = self.row(&format!("{}#{home}", self.tenant), &entry);
            let entry = entry.unwrap_or_else(|| panic!("{pk} {sk} refers to nothing"));
            for name in ["transaction_id", "operation", "idempotency_key"] {
                assert_eq!(text(row, name), text(entry, name), "{pk} {sk}");
            }
        }
    }

    /// Checks that a key moved money at most once: no two entries under one key, and each entry has the marker of its
    /// key or of the event that brought it.
    fn check_keys(&self) {
        let events: BTreeMap<&str, &Row> =
            self.events().filter_map(|(_, _, marker)| Some((opt_text(marker, "entry_id")?, marker))).collect();
        let mut seen = BTreeSet::new();
        for (pk, sk, entry) in self.under("TXN#") {
            let name = |name| text(entry, name).to_owned();
            let key = (name("principal"), name("operation"), name("idempotency_key"));
            let id = text(entry, "transaction_id");
            let under = |operation: &str| {
                let marker_pk = format!("{}#{}", self.tenant, key.0.replace(':', "#"));
                let marker_sk = format!("card_op_idem#{operation}#{}", key.2);
                let marker = self.row(&marker_pk, &marker_sk);
                marker.unwrap_or_else(|| panic!("{pk} {sk} has no marker {marker_pk} {marker_sk}"))
            };
            match (BY_EVENTS.iter().find(|(operation, _)| *operation == key.1), events.get(id)) {
                (Some(_), Some(event)) => {
                    assert_eq!(text(event, "processed_at"), text(entry, "created_at"), "{pk} {sk}")
                }
                (Some((_, Some(operation))), None) => {
                    // The response to our own request wrote the entry at the same moment.
                    let marker = under(operation);
                    assert!(has_landed(marker), "{pk} {sk}: neither an event nor an answer wrote it");
                    assert_eq!(text(marker, "processed_at"), text(entry, "created_at"), "{pk} {sk}");
                }
                (Some((_, None)), None) => panic!("{pk} {sk} has no event"),
                (None, _) => assert_eq!(opt_text(under(&key.1), "entry_id"), Some(id), "{pk} {sk}"),
            }
            assert!(seen.insert(key.clone()), "{key:?} moved money twice");
        }
        for (pk, sk, marker) in self.under("card_op_idem#").chain(self.events()) {
            if let (Some(home), Some(id)) = (opt_text(marker, "entry_home"), opt_text(marker, "entry_id")) {
                let home = format!("{}#{}", self.tenant, home.replace(':', "#"));
                assert!(self.row(&home, &format!("TXN#{id}")).is_some(), "{pk} {sk} has no entry");
            }
        }
    }

    /// Checks that a customer's CO2 estimate is the sum over the entries and the opening value.
    fn check_co2(&self) {
        for (pk, _, metrics) in self.under("METRICS").filter(|(pk, _, _)| !self.has_god_record(pk)) {
            let own = self.within(pk, "TXN#");
            let sum: Decimal = own.map(|(_, _, entry)| opt_number(entry, "co2")).sum();
            assert_eq!(number(metrics, "co2_total"), sum, "{pk}: CO2");
        }
    }
}

pub(super) fn copied((key, sum): (&(String, String), &Decimal)) -> ((String, String), Decimal) {
    (key.clone(), *sum)
}

pub(super) fn kind_and_id(pk: &str) -> (&str, &str) {
    let mut parts = pk.splitn(3, '#').skip(1);
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

/// What a record owes its merchant, by asset; empty for a payment that was never captured.
pub(super) fn merchant_delta(row: &Row) -> BTreeMap<String, Decimal> {
    let deltas = row.get("merchant_delta").map(|value| value.as_m().expect("merchant_delta is a map"));
    deltas.into_iter().flatten().map(|(asset, delta)| (asset.clone(), decimal(delta))).collect()
}

/// The refundable amount of an asset: compares attribute names such as `refundable_regional_aoba` by letters only.
fn refundable(row: &Row, asset: &str) -> Decimal {
    let letters = |text: &str| text.to_lowercase().replace(['#', '_', '-'], "");
    let mut found = row.iter().filter_map(|(name, value)| Some((name.strip_prefix("refundable_")?, value)));
    let found = found.find(|(suffix, _)| letters(suffix) == letters(asset));
    decimal(found.unwrap_or_else(|| panic!("no refundable {asset} in {row:?}")).1)
}

pub(super) fn number(row: &Row, name: &str) -> Decimal {
    decimal(row.get(name).unwrap_or_else(|| panic!("no number `{name}` in {row:?}")))
}

pub(super) fn opt_number(row: &Row, name: &str) -> Decimal {
    row.get(name).map(decimal).unwrap_or_default()
}

fn decimal(value: &AttributeValue) -> Decimal {
    let text = value.as_n().unwrap_or_else(|other| panic!("no number: {other:?}"));
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}
