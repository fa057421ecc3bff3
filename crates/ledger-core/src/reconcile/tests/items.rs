//! Single items: each gives a fact or a break, or is of a kind that is listed as holding no value.

use super::*;
use crate::keys::ITEM_FORMS;
use proptest::prelude::*;

fn item(partition: &str, sk: &str, more: &[(&str, Value)]) -> Item {
    let mut item = Item::from([
        ("uuid".to_owned(), Value::S(format!("demo#{partition}"))),
        ("type".to_owned(), Value::s(sk)),
        ("updated_at".to_owned(), Value::s("2026-01-01T00:00:00Z")),
    ]);
    item.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    item
}

fn observed(item: &Item) -> Vec<Observation> {
    of_item(item, Timestamp::parse("2026-01-01T01:00:00Z").unwrap(), Limits::default())
}

fn breaks(item: &Item) -> Vec<Finding> {
    let breaks = observed(item).into_iter().filter_map(|observation| match observation {
        Observation::Break(finding) => Some(finding),
        Observation::Fact(_) | Observation::Newer(_) => None,
    });
    breaks.collect()
}

fn broken(item: &Item) -> Vec<&'static str> {
    breaks(item).iter().map(|finding| finding.kind.name()).collect()
}

fn customer(sk: &str, more: &[(&str, Value)]) -> Item {
    item(&format!("customer#{ID}"), sk, more)
}

#[test]
fn marker_is_stuck_or_unreadable_by_its_state() {
    let key = "card_op_idem#topup#tanaka@example.com";
    let flight = |state: &str, due: &str| {
        let due = Value::S(format!("{due}#{ID}"));
        customer(key, &[("state", Value::s(state)), ("operation", Value::s("topup")), ("_due_sk", due)])
    };
    let mut foreign = flight("COMPLETED", "2026-01-01T00:10:00Z");
    foreign.insert("operation".to_owned(), Value::s("pay"));
    assert_eq!(broken(&foreign), ["unreadable_item"], "another operation than its key has");
    assert!(broken(&flight("IN_FLIGHT", "2026-01-01T00:55:00Z")).is_empty());
    for state in ["IN_FLIGHT", "FAILED_RETRY"] {
        assert_eq!(broken(&flight(state, "2026-01-01T00:10:00Z")), ["claim_stuck"]);
    }
    for state in ["PARKED", "COMPLETED", "FAILED_TERMINAL", "REVERSED"] {
        assert!(broken(&flight(state, "2026-01-01T00:10:00Z")).is_empty(), "{state}");
    }
    assert_eq!(broken(&flight("SOMETHING", "2026-01-01T00:10:00Z")), ["unreadable_item"]);
    // A client may write anything into the key, even an address.
    for state in ["IN_FLIGHT", "SOMETHING"] {
        let finding = breaks(&flight(state, "2026-01-01T00:10:00Z")).remove(0);
        let report = format!("{} {} {} {:?}", finding.subject, finding.expected, finding.found, finding.evidence);
        assert!(!report.contains("tanaka"), "{report}");
    }
}

#[test]
fn card_in_an_unknown_state_is_a_break_and_its_balance_counts() {
    let card = |state: &str| {
        let more = [("state", Value::s(state)), ("balance", Value::int(5))];
        let item = item(&format!("card#{ID}"), "card", &more);
        (broken(&item), observed(&item).len())
    };
    assert_eq!(card("active"), (vec![], 1));
    assert_eq!(card("melted"), (vec!["unreadable_item"], 2));
}

#[test]
fn approval_names_its_entry_only_if_it_was_approved() {
    let of = |state: &str, entry: Option<&str>| {
        let mut more = vec![("approval_id", Value::s(ID)), ("state", Value::s(state))];
        more.extend(entry.map(|entry| ("transaction_id", Value::s(entry))));
        let item = item("approvals#2026-11", &format!("APPROVAL#{ID}"), &more);
        (broken(&item), observed(&item).len())
    };
    assert_eq!(of("approved", Some(OTHER)), (vec![], 1));
    // A command that moves no value has no entry.
    for state in ["pending", "approved", "rejected", "withdrawn", "stale"] {
        assert_eq!(of(state, None), (vec![], 0), "{state}");
    }
    for (state, entry) in
        [("pending", Some(OTHER)), ("rejected", Some(OTHER)), ("stale", Some(OTHER)), ("posted", None)]
    {
        assert_eq!(of(state, entry).0, ["unreadable_item"], "{state}");
    }
}

#[test]
fn item_of_an_unknown_kind_is_newer_and_shows_no_text_of_others() {
    for (partition, sk) in [
        (format!("payment#{ID}"), "CHARGEBACK#tanaka"),
        (format!("card#{ID}"), "BALANCE#ECOPAY"),
        ("tenant#root".to_owned(), "ASSETS"),
        ("wallet#tanaka".to_owned(), "PAYMENT"),
        ("payment".to_owned(), "LIMIT"),
    ] {
        let found = observed(&item(&partition, sk, &[]));
        let [Observation::Newer(newer)] = &found[..] else { panic!("{partition} {sk}: {found:?}") };
        assert_eq!((newer.name, newer.tenant.as_str()), (UNKNOWN_KIND, "demo"));
    }
    assert!(observed(&Item::from([("uuid".to_owned(), Value::s("DEMO#payment#1"))])).is_empty(), "of no tenant");
}

/// Partitions of every kind, and of no known kind.
const PARTITIONS: [&str; 26] = [
    "customer",
    "card",
    "merchant",
    "terminal",
    "staff",
    "payment",
    "topup",
    "stripe_event",
    "rate",
    "audit",
    "approvals",
    "bindings",
    "lane",
    "totals",
    "totals_of",
    "active",
    "fold",
    "batch",
    "reconciliation",
    "job",
    "bank_transfers",
    "bank_file",
    "own",
    "tenant",
    "wallet",
    "",
];

/// Sort keys of every kind of item, and of no known kind.
const SORT_KEYS: [&str; 60] = [
    "CASH_ROOM",
    "CASH_BONUS#1",
    "COLLECTION#",
    "REFUND_ROOM",
    "TXN#",
    "TXNREF#",
    "card_op_idem#pay#k",
    "BALANCE#ECOPAY",
    "BALANCE#GOLD",
    "PROFILE",
    "CODE",
    "ENROLMENT",
    "customer",
    "METRICS",
    "history#1#pay",
    "card",
    "SETTLEMENT#",
    "RETURNED#",
    "SETTLING",
    "SETTLED#1",
    "CREDITED#05",
    "PERIOD#L05#00000005",
    "PERIOD_BACK#L05#00000005",
    "PAYMENT",
    "HOLD",
    "REFUND#",
    "TOPUP",
    "CLAWBACK#dp_1",
    "TRAIL#1",
    "event",
    "kept",
    "CONFIG",
    "AUDIT#1",
    "NOTICE#1",
    "APPROVAL#1",
    "LANES",
    "HEAD",
    "SEGMENT#0000000001",
    "BINDING#2026-11-21#0000000001",
    "DAY#2026-11-20",
    "TOTALS#2026-11-20",
    "SUBJECT#1",
    "ACTIVE#1",
    "FOLD",
    "BATCH",
    "MIGRATION#1",
    "RECONCILIATION",
    "BREAK#1",
    "TERMS#1",
    "BUDGET#1",
    "CALENDAR",
    "JOB",
    "LINE#1",
    "CUSTOMERS",
    "TRANSFER#1",
    "FILE",
    "PART#0001",
    "RATE",
    "LOAN#1",
    "",
];

#[test]
fn every_kind_has_a_partition_and_a_sort_key() {
    let mut kinds: Vec<ItemKind> =
        PARTITIONS.iter().flat_map(|partition| SORT_KEYS.iter().filter_map(|sk| ItemKind::of(partition, sk))).collect();
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds, ItemKind::ALL);
    let without: Vec<ItemKind> = ItemKind::ALL.into_iter().filter(|kind| kind.facts() == FactCount::None).collect();
    let listed = [
        ItemKind::Profile,
        ItemKind::LegacyHistory,
        ItemKind::MerchantWork,
        ItemKind::KeptEvent,
        ItemKind::Trail,
        ItemKind::TenantWork,
    ];
    assert_eq!(without, listed, "a kind that holds value gives facts");
}

#[test]
fn every_declared_item_is_of_a_kind() {
    for form in &crate::keys::ITEM_FORMS {
        let partition = form.partition.split('#').next().unwrap();
        assert!(ItemKind::of(partition, form.sort_key).is_some(), "{form:?}");
    }
}

/// The entry of a debit is in a partition of the tenant's own account.
#[test]
fn entry_of_an_own_account_has_that_account_as_its_home() {
    let posting = |account: &str, delta: i64| {
        let of = [("account", Value::s(account)), ("asset", Value::s("ECOPAY")), ("delta", Value::int(delta))];
        Value::M(of.map(|(name, value)| (name.to_owned(), value)).into())
    };
    let entry = |partition: &str| {
        let more = [
            ("transaction_id", Value::s(ID)),
            ("operation", Value::s("bank_file_debit")),
            ("bank_file_id", Value::s("2026-12-10-01")),
            ("principal", Value::S(format!("staff:{OTHER}"))),
            ("actor", Value::S(format!("staff:{OTHER}"))),
            ("idempotency_key", Value::s("k")),
            ("created_at", Value::s("2026-01-01T00:00:00Z")),
            ("postings", Value::L(vec![posting("bank_clearing", -1500), posting("bank", 1500)])),
        ];
        item(partition, &format!("TXN#{ID}"), &more)
    };
    assert!(broken(&entry("own#bank")).is_empty(), "{:?}", breaks(&entry("own#bank")));
    let bank = Account::parse("bank").unwrap();
    let is_home = |observation: &Observation| match observation {
        Observation::Fact(Fact { content: GroupFact::Entry(_, EntryFact::Entry { home, .. }), .. }) => *home == bank,
        Observation::Fact(_) | Observation::Break(_) | Observation::Newer(_) => false,
    };
    assert!(observed(&entry("own#bank")).iter().any(is_home));
    assert_eq!(broken(&entry("own#vault")), ["unreadable_item"]);
}

/// Attributes of records, with values that are right for some records and wrong for others.
fn attributes() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    const NAMES: [&str; 47] = [
        "payment_id",
        "refund_id",
        "transaction_id",
        "topup_id",
        "settlement_id",
        "transfers",
        "merchant_id",
        "customer_id",
        "payer",
        "account",
        "home",
        "state",
        "kind",
        "operation",
        "principal",
        "idempotency_key",
        "entry_id",
        "entry_home",
        "created_at",
        "_credited_at",
        "period",
        "_period",
        "period_records",
        "segment",
        "_sealed",
        "credited_by",
        "parts",
        "balance",
        "held",
        "exposure",
        "postings",
        "merchant_delta",
        "captured_ecopay",
        "refundable_ecopay",
        "held_ecopay",
        "fence_phase",
        "approval_id",
        "cash",
        "cash_room",
        "cash_room_at",
        "ceiling",
        "unallotted",
        "covered",
        "room",
        "outstanding",
        "refund_room",
        "updated_at",
    ];
    let value = prop_oneof![
        Just(Value::s(ID)),
        Just(Value::s(wallet())),
        Just(Value::s("captured")),
        Just(Value::s("refund")),
        Just(Value::s("pay")),
        Just(Value::s("approved")),
        Just(Value::s("COMPLETED")),
        Just(Value::s("2026-01-01T00:00:00Z")),
        Just(Value::s("L5/5")),
        Just(Value::s("seal")),
        Just(Value::s("foreign")),
        Just(Value::int(5)),
        Just(Value::L(Vec::new())),
        Just(Value::M(Item::new())),
    ];
    prop::collection::vec((prop::sample::select(&NAMES[..]), value), 0..30)
}

#[test]
fn item_of_a_later_form_is_newer_and_no_break() {
    let of = |form: Value| item(&format!("payment#{ID}"), "HOLD", &[("f", form)]);
    let [Observation::Newer(newer)] = &observed(&of(Value::int(2)))[..] else { panic!("not newer") };
    assert_eq!(newer.name, "hold of a payment");
    let [Observation::Newer(newer)] = &observed(&item(&format!("payment#{ID}"), "LOT#1", &[]))[..] else {
        panic!("not newer")
    };
    assert_eq!(newer.name, UNKNOWN_KIND);
    let [Observation::Break(finding)] = &observed(&of(Value::int(0)))[..] else { panic!("no break") };
    assert_eq!(finding.kind, BreakKind::UnreadableItem);
}

#[test]
fn item_of_a_later_form_is_named_in_each_kind() {
    let named = |form: &str| {
        let mut text = form.to_owned();
        while let Some((before, (name, after))) = text.split_once('<').and_then(|(b, r)| Some((b, r.split_once('>')?)))
        {
            let part = match name {
                "day" | "date" => "2026-11-21",
                "asset" => "ECOPAY",
                "number" | "shard" | "version" | "batch" | "window" => "1",
                _ => ID,
            };
            text = format!("{before}{part}{after}");
        }
        text
    };
    for form in &ITEM_FORMS {
        let found = observed(&item(&named(form.partition), &named(form.sort_key), &[("f", Value::int(2))]));
        let [Observation::Newer(newer)] = &found[..] else { panic!("{form:?}: {found:?}") };
        assert_eq!(newer.name, form.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// No item is dropped: it gives a fact or a break, or is newer, unless its kind is listed.
    #[test]
    fn every_item_gives_a_fact_or_a_break(
        partition in prop::sample::select(&PARTITIONS[..]),
        sk in prop::sample::select(&SORT_KEYS[..]),
        has_id in any::<bool>(),
        attributes in attributes(),
    ) {
        let sk = if sk.ends_with('#') { format!("{sk}{ID}") } else { sk.to_owned() };
        let id = match partition {
            "tenant" => "root",
            "stripe_event" => "evt_1",
            _ => ID,
        };
        let partition_key = if has_id { format!("{partition}#{id}") } else { partition.to_owned() };
        let item = item(&partition_key, &sk, &attributes);
        let observed = observed(&item);
        let has = |name: &str| item.contains_key(name);
        match ItemKind::of(partition, &sk) {
            None => {
                prop_assert!(matches!(&observed[..], [Observation::Newer(_)]), "{:?}: {:?}", item, observed);
            }
            Some(kind) => match kind.facts() {
                FactCount::None => prop_assert!(observed.is_empty(), "{:?}", observed),
                FactCount::Some => prop_assert!(!observed.is_empty(), "{:?}", item),
                FactCount::SomeIfItNames => {
                    let names = match kind {
                        ItemKind::Marker | ItemKind::EventMarker => has("entry_id"),
                        ItemKind::Approval => has("transaction_id"),
                        ItemKind::Reference => !(has("legacy") && has("legacy_sk") && !has("home")),
                        ItemKind::Returned => has("settlement_id"),
                        // The periods are in its list.
                        ItemKind::SettledBatch => false,
                        // What was allotted is under a terminal's id.
                        ItemKind::CashRooms => false,
                        ItemKind::RefundRoom => has("updated_at"),
                        // It is a break only while bonuses are due for too long.
                        ItemKind::Settling => false,
                        ItemKind::Terminal => has("cash_room"),
                        ItemKind::GodRecord => has_id && has("fence_phase") && has("balance"),
                        // It holds only points and J-Credits of the half-way legacy model, and these attributes are
                        // none of them.
                        ItemKind::Metrics => false,
                        ItemKind::Entry
                        | ItemKind::Balance
                        | ItemKind::Card
                        | ItemKind::Payment
                        | ItemKind::PaymentRefund
                        | ItemKind::Hold
                        | ItemKind::Topup
                        | ItemKind::TopupRefund
                        | ItemKind::Clawback
                        | ItemKind::Settlement
                        | ItemKind::LaneCredit
                        | ItemKind::Period
                        | ItemKind::CashCollection
                        | ItemKind::CashBonus
                        | ItemKind::BankTransfer
                        | ItemKind::BankFile
                        | ItemKind::BankFilePart
                        | ItemKind::Profile
                        | ItemKind::LegacyHistory
                        | ItemKind::MerchantWork
                        | ItemKind::KeptEvent
                        | ItemKind::Trail
                        | ItemKind::TenantWork => panic!("{kind:?} names nothing"),
                    };
                    prop_assert!(!names || !observed.is_empty(), "{:?}", item);
                }
            },
        }
    }
}
