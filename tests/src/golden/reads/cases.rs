//! The cases of the vectors of reads: the expected items are written by hand.

mod figures;
mod finding;
mod merchants;
mod table;
mod trail;

use super::judge;
use super::question::{Page, Question};
use super::vector::ReadVector;
use serde_json::{Value as Json, json};

/// The world of most cases.
const TOWN: &str = "town";
/// A table of one item: its scan does not depend on the store's order.
const ONE_CUSTOMER: &str = "one-customer";

const A: &str = "demo#customer#019a0000-0000-7000-8000-00000000000a";
const MERCHANT: &str = "019a0000-0000-7000-8000-0000000000e1";
const PARTITION_M: &str = "demo#merchant#019a0000-0000-7000-8000-0000000000e1";
const TERMINAL: &str = "019a0000-0000-7000-8000-000000000071";
const TOPUP: &str = "019a0000-0000-7000-8000-000000000081";
const PAYMENT_1: &str = "019a0000-0000-7000-8000-000000000091";
/// The index by owner that holds keys alone.
const KEYS: &str = "by_owner_keys";
const ENTRIES: [&str; 5] = [
    "01a1f941-c700-7000-8000-000000000001",
    "01a1f978-b580-7000-8000-000000000002",
    "01a1fbd4-f500-7000-8000-000000000003",
    "01a1fe68-2300-7000-8000-000000000004",
    "01a1fe9f-1180-7000-8000-000000000005",
];
const SETTLEMENTS: [&str; 3] = [
    "019a0000-0000-7000-8000-000000000061",
    "019a0000-0000-7000-8000-000000000062",
    "019a0000-0000-7000-8000-000000000063",
];
const ACT_2: &str = "01a1fbd4-f500-7000-8000-000000000032";
const RUN_1: &str = "019a0000-0000-7000-8000-000000000041";
const RUN_2: &str = "019a0000-0000-7000-8000-000000000042";
const BREAK_1: &str = "019a0000-0000-7000-8000-000000000045";
/// A well-formed id that no item has.
const ABSENT: &str = "019a0000-0000-7000-8000-0000000000ff";
const NOW: &str = "2026-11-21T03:00:00.000Z";

/// A case.
pub struct Case {
    /// The id of its vector.
    pub id: &'static str,
    /// The version of its vector.
    version: &'static str,
    why: &'static str,
    world: &'static str,
    question: Question,
    page: Option<Page>,
    items: Vec<Option<&'static str>>,
}

impl Case {
    /// The name of its vector's file: `<version>/<question>/<case>`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.version, self.id)
    }

    /// The case's vector; panics if the engine does not return the case's items.
    #[must_use]
    pub fn vector(&self) -> ReadVector {
        let page = self.page.clone().unwrap_or_default();
        let answered = judge::answered(self.world, &self.question, &page);
        let items: Vec<Option<String>> = self.items.iter().map(|label| label.map(str::to_owned)).collect();
        assert_eq!(answered.items, items, "{}", self.id);
        ReadVector {
            id: self.id.to_owned(),
            why: self.why.to_owned(),
            world: self.world.to_owned(),
            question: self.question.clone(),
            page: self.page.clone(),
            requests: answered.requests,
            items,
        }
    }
}

fn case(id: &'static str, why: &'static str, arguments: Json, items: &[&'static str]) -> Case {
    let (name, _) = id.split_once('/').unwrap();
    let question = serde_json::from_value(json!({ name: arguments })).unwrap_or_else(|error| panic!("{id}: {error}"));
    Case {
        id,
        version: "v1",
        why,
        world: TOWN,
        question,
        page: None,
        items: items.iter().map(|label| Some(*label)).collect(),
    }
}

fn paged(page: Json, case: Case) -> Case {
    Case { page: Some(serde_json::from_value(page).unwrap()), ..case }
}

/// The instant in an id.
fn born(id: &str) -> String {
    let id = ledger_core::ids::parse_uuid(id).unwrap();
    ledger_core::ids::born_at(id).unwrap().to_string()
}

fn of_one_customer(case: Case) -> Case {
    Case { world: ONE_CUSTOMER, ..case }
}

/// Every case.
#[must_use]
pub fn all() -> Vec<Case> {
    [
        keyed(),
        due(),
        accounts(),
        merchants::cases(),
        merchants::of_periods(),
        merchants::of_bonuses(),
        merchants::of_cards(),
        merchants::wind_downs(),
        merchants::settlement_runs(),
        tenants(),
        finding::cases(),
        trail::cases(),
        figures::cases(),
        table::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn keyed() -> Vec<Case> {
    let absent = |sk: &str| json!([A, sk]);
    let mut none = case("item/absent", "a key without an item", json!({ "key": absent("BALANCE#JCREDIT") }), &[]);
    none.items = vec![None];
    let keys = json!([[A, "BALANCE#POINT"], absent("BALANCE#JCREDIT"), [A, "BALANCE#ECOPAY"]]);
    let mut snapshot =
        case("snapshot/three-keys", "items as of one instant, in the order of the keys", json!({ "keys": keys }), &[]);
    snapshot.items = vec![Some("A points"), None, Some("A money")];
    let twice = json!([[A, "PROFILE"], ["demo#tenant#root", "CONFIG"], [A, "PROFILE"], absent("BALANCE#JCREDIT")]);
    vec![
        case("item/present", "one item, read consistently", json!({ "key": [A, "PROFILE"] }), &["A profile"]),
        none,
        case("items/one-twice", "each key is asked for once", json!({ "keys": twice }), &["A profile", "config"]),
        case("items/none", "no key, no request", json!({ "keys": [] }), &[]),
        snapshot,
        case("snapshot/none", "no key, no request", json!({ "keys": [] }), &[]),
    ]
}

fn due() -> Vec<Case> {
    let tenant = || json!({ "tenant": "demo" });
    let shard = |shard: u32| json!({ "tenant": "demo", "shard": shard });
    let until = |now: &str| json!({ "tenant": "demo", "shard": 0, "now": now });
    let merchant = json!({ "tenant": "demo", "merchant": MERCHANT, "shard": 0 });
    vec![
        case("entries_to_publish/shard", "of one shard of one tenant", shard(0), &["A entry 1", "A entry 2"]),
        paged(
            json!({ "after": ENTRIES[0], "limit": 1 }),
            case("entries_to_publish/after", "after an entry, one at most", shard(0), &["A entry 2"]),
        ),
        paged(
            json!({ "start": {
                "due_pk": { "S": "demo#due#publish#0" }, "due_sk": { "S": ENTRIES[0] },
                "type": { "S": format!("TXN#{}", ENTRIES[0]) }, "uuid": { "S": A },
            } }),
            case("entries_to_publish/continued", "where a page of the index ended", shard(0), &["A entry 2"]),
        ),
        Case {
            world: "late",
            ..case("entries_to_publish_late/shard", "sealed entries alone", shard(0), &["late entry"])
        },
        Case {
            world: "crediting",
            ..case("entries_to_publish_and_credit/shard", "those that credit merchants alone", shard(0), &["to credit"])
        },
        Case {
            world: "crediting",
            ..case(
                "entries_to_seal_and_credit/tenant",
                "those that could not be sealed",
                json!({ "tenant": "demo" }),
                &["put off"],
            )
        },
        Case {
            world: "crediting",
            ..case(
                "lane_credits/merchant",
                "each lane of one merchant",
                json!({ "tenant": "demo", "merchant": MERCHANT }),
                &["lane 0", "lane 11"],
            )
        },
        case("entries_to_publish/empty", "a shard without work", shard(7), &[]),
        case(
            "records_to_credit/shard",
            "payments and refunds of one merchant",
            merchant.clone(),
            &["payment 1 refund", "payment 1"],
        ),
        case("records_to_settle/shard", "what was credited and is in no settlement", merchant, &["payment 2"]),
        case("grant_jobs_to_continue/shard", "unfinished jobs", shard(0), &["job"]),
        case("claims_due/at-the-instant", "a lease that ends now is over", until(NOW), &["A top-up marker"]),
        case("claims_due/before", "no lease is over", until("2026-11-21T02:59:59.999Z"), &[]),
        case(
            "claims_waiting/shard",
            "whenever their leases end",
            shard(0),
            &["A top-up marker", "A later top-up marker"],
        ),
        case("provider_checks_due/at-the-instant", "due now, and not later", until(NOW), &["top-up"]),
        case("needs_review/shard", "parked operations and kept events", shard(0), &["A parked marker", "kept event"]),
        case(
            "holds_due/at-the-instant",
            "holds that expire now or before; there is no lower bound",
            until(NOW),
            &["payment 3 hold", "payment 4 hold"],
        ),
        paged(
            json!({ "after": "2026-11-21T02:59:59.999Z#019a0000-0000-7000-8000-000000000093", "limit": 50 }),
            case("holds_due/next-page", "the page after a hold", until(NOW), &["payment 4 hold"]),
        ),
        case("settlements_due/at-the-instant", "due now, and not later", until(NOW), &["M settlement 2"]),
        case("records_to_seal/shard", "entries and steps", shard(0), &["A entry 3", "top-up step"]),
        Case {
            world: "previews",
            ..case("terms_previews_to_run/requested", "previews that are unfinished", tenant(), &["preview 2"])
        },
        Case { world: "notices", ..case("notices_to_announce/due", "what is not announced", tenant(), &["notice"]) },
        case("reconciliations_to_run/requested", "runs that are unfinished", tenant(), &["run 2"]),
    ]
}

fn accounts() -> Vec<Case> {
    let account = json!({ "account": A });
    let after = |after: Option<&str>| json!({ "account": A, "after": after });
    let day = |day: &str| json!({ "tenant": "demo", "terminal": TERMINAL, "day": day });
    vec![
        case("balances/customer", "every asset", account.clone(), &["A money", "A points", "A regional"]),
        paged(
            json!({ "limit": 2 }),
            case("history_entries/newest", "the newest two", after(None), &["A entry 3", "A entry 2"]),
        ),
        paged(
            json!({ "limit": 2 }),
            case("history_entries/after", "older than an entry", after(Some(ENTRIES[1])), &["A entry 1"]),
        ),
        case("history_entries/after-the-last", "nothing is older", after(Some(ENTRIES[0])), &[]),
        case("history_references/all", "no entry is a reference", after(None), &["A reference 5", "A reference 4"]),
        case(
            "history_entries_from/second",
            "those of an instant and later, newest first",
            json!({ "account": A, "from": born(ENTRIES[1]), "after": null }),
            &["A entry 3", "A entry 2"],
        ),
        case(
            "history_entries_from/after",
            "older than an entry and not earlier than an instant",
            json!({ "account": A, "from": born(ENTRIES[1]), "after": ENTRIES[2] }),
            &["A entry 2"],
        ),
        case(
            "history_references_from/last",
            "references of an instant and later",
            json!({ "account": A, "from": born(ENTRIES[4]), "after": null }),
            &["A reference 5"],
        ),
        case("account_entries/all", "oldest first", account.clone(), &["A entry 1", "A entry 2", "A entry 3"]),
        paged(
            json!({ "start": { "type": { "S": format!("TXN#{}", ENTRIES[1]) }, "uuid": { "S": A } } }),
            case("account_entries/continued", "where a page of the table ended", account.clone(), &["A entry 3"]),
        ),
        case(
            "account_entries_from/second",
            "from an id on, itself included",
            json!({ "account": A, "id": ENTRIES[1] }),
            &["A entry 2", "A entry 3"],
        ),
        paged(
            json!({ "after": format!("TXN#{}", ENTRIES[1]), "limit": 100 }),
            case(
                "account_entries_from/next-page",
                "after an entry of it",
                json!({ "account": A, "id": ENTRIES[0] }),
                &["A entry 3"],
            ),
        ),
        case(
            "account_entries_between/first-two",
            "both bounds included",
            json!({ "account": A, "from": ENTRIES[0], "to": ENTRIES[1] }),
            &["A entry 1", "A entry 2"],
        ),
        case(
            "account_entries_between/inverted",
            "no id is between them: nothing is asked",
            json!({ "account": A, "from": ENTRIES[1], "to": ENTRIES[0] }),
            &[],
        ),
        case(
            "account_references_between/one",
            "no entry is a reference",
            json!({ "account": A, "from": ENTRIES[0], "to": ENTRIES[3] }),
            &["A reference 4"],
        ),
        case("legacy_history/all", "the legacy format", account.clone(), &["A legacy 1", "A legacy 2", "A legacy 3"]),
        paged(
            json!({ "newest_first": true, "after": "history#1700000001000#refund", "limit": 2 }),
            case("legacy_history/newest-after", "older than one", account.clone(), &["A legacy 2", "A legacy 1"]),
        ),
        paged(
            json!({ "newest_first": true, "after": "customer" }),
            case(
                "legacy_history/after-before-all",
                "a border before the prefix: nothing is asked",
                account.clone(),
                &[],
            ),
        ),
        case(
            "legacy_history_between/one-instant",
            "of one millisecond",
            json!({ "account": A, "low": "history#1700000000000#", "high": "history#1700000000001" }),
            &["A legacy 1", "A legacy 2"],
        ),
        case(
            "terminal_references_of/day",
            "a day in Japan, from its first instant on",
            day("2026-11-21"),
            &["terminal reference 2", "terminal reference 3", "terminal reference 4"],
        ),
        case("terminal_references_of/empty-day", "a day without entries", day("2026-11-19"), &[]),
        case(
            "topup_markers/customer",
            "markers of top-ups alone",
            account,
            &["A top-up marker", "A later top-up marker", "A parked marker"],
        ),
    ]
}

fn tenants() -> Vec<Case> {
    let after = |after: Option<&str>| json!({ "tenant": "demo", "after": after });
    let breaks = |run: &str, after: Option<&str>| json!({ "tenant": "demo", "run": run, "after": after });
    vec![
        Case {
            world: "terms",
            ..case(
                "terms/all",
                "versions by their numbers, the latest first",
                json!({ "tenant": "demo" }),
                &["version 10", "version 2", "version 1"],
            )
        },
        case("audit_records/newest", "acts, newest first", after(None), &["act 3", "act 2", "act 1"]),
        case("audit_records/after", "older than an act", after(Some(ACT_2)), &["act 1"]),
        case(
            "acts_from/instant",
            "whose id was born then or later",
            json!({ "tenant": "demo", "from": "2026-11-21T02:00:00.000Z" }),
            &["act 2", "act 3"],
        ),
        Case {
            world: "previews",
            ..case("terms_previews/newest", "previews, newest first", after(None), &["preview 2", "preview 1"])
        },
        Case {
            world: "previews",
            ..case(
                "terms_previews/after",
                "older than a preview",
                after(Some("01a21705-1ee3-7000-8000-000000000002")),
                &["preview 1"],
            )
        },
        Case {
            world: "previews",
            ..case(
                "refused_payments/between",
                "of a shard, from a time on and before another",
                json!({
                    "tenant": "demo", "shard": 0,
                    "from": "2026-11-20T15:00:00.000Z", "until": "2026-11-21T03:00:00.000Z",
                }),
                &["refusal 2", "refusal 1"],
            )
        },
        case("reconciliations/newest", "runs, newest first", after(None), &["run 2", "run 1"]),
        case("reconciliations/after", "older than a run", after(Some(RUN_2)), &["run 1"]),
        case("breaks_of/run", "of one run", breaks(RUN_1, None), &["break 1 of run 1", "break 2 of run 1"]),
        case("breaks_of/after", "after a break", breaks(RUN_1, Some(BREAK_1)), &["break 2 of run 1"]),
        case("breaks_of/absent", "a run without breaks", breaks(ABSENT, None), &[]),
        case(
            "migration_passes/all",
            "one of each kind",
            json!({ "tenant": "demo" }),
            &["pass backfill", "pass verify"],
        ),
    ]
}
