//! Cases of lists and searches of customers, merchants and terminals.

use super::{Case, MERCHANT, case, paged};
use serde_json::{Value as Json, json};

const CUSTOMER_2: &str = "019a0000-0000-7000-8000-00000000000b";
const ACT_2: &str = "01a1fbd4-f500-7000-8000-000000000042";
const ACT_3: &str = "01a1fbd4-f500-7000-8000-000000000043";
const AT: &str = "2026-11-21T03:00:00.000Z";

pub(super) fn cases() -> Vec<Case> {
    let customers = |times: Json| json!({ "tenant": "demo", "shard": 0, "times": times });
    let hash = "ab".repeat(32);
    let all = vec![
        case(
            "customers/newest",
            "of one shard; two of one instant by their ids",
            customers(json!({})),
            &["customer 3", "customer 2", "customer 1", "customer 0"],
        ),
        case(
            "customers/after",
            "after one of two of one instant",
            customers(json!({ "after": [AT, CUSTOMER_2] })),
            &["customer 1", "customer 0"],
        ),
        case(
            "customers/within",
            "from an instant, and before another one",
            customers(json!({ "from": "2026-11-21T00:00:00.000Z", "until": "2026-11-21T04:00:00.000Z" })),
            &["customer 2", "customer 1"],
        ),
        case(
            "customers/within-after",
            "a later page of a part",
            customers(json!({ "from": "2026-11-20T00:00:00.000Z", "after": [AT, CUSTOMER_2] })),
            &["customer 1", "customer 0"],
        ),
        case(
            "customers/none",
            "a part that ends before it begins",
            customers(json!({ "from": "2026-11-22T00:00:00.000Z", "until": "2026-11-21T00:00:00.000Z" })),
            &[],
        ),
        case(
            "terminals/newest",
            "of one shard",
            json!({ "tenant": "demo", "shard": 0, "times": {} }),
            &["terminal 2", "terminal 1"],
        ),
        case(
            "terminals_of/newest",
            "of one merchant",
            json!({ "tenant": "demo", "merchant": MERCHANT, "times": {} }),
            &["terminal 1 of merchant"],
        ),
        case(
            "customers_with/phone",
            "two customers with one number",
            json!({ "tenant": "demo", "lookup": "phone", "key": "k2", "hash": hash }),
            &["customer 1 phone", "customer 2 phone"],
        ),
        case(
            "customers_named/prefix",
            "in the order of names; a name with the sign before ids is one of them",
            json!({ "tenant": "demo", "lookup": "name", "shard": 0, "prefix": "山田" }),
            &["customer 2 name", "customer 1 name"],
        ),
        paged(
            json!({ "after": format!("山田#1#{CUSTOMER_2}"), "limit": 1 }),
            case(
                "customers_named/after",
                "a later page of a prefix",
                json!({ "tenant": "demo", "lookup": "name", "shard": 0, "prefix": "山田" }),
                &["customer 1 name"],
            ),
        ),
        case(
            "merchants_named/prefix",
            "merchants by their names",
            json!({ "tenant": "demo", "prefix": "aoba" }),
            &["merchant name"],
        ),
        case(
            "found_records/segment",
            "the keys of the records that lists and searches find, and of no lookup item",
            json!({ "tenant": "demo", "number": 0, "of": 1 }),
            &["customer 0", "customer 1", "customer 2", "customer 3", "merchant", "terminal 1", "terminal 2"],
        ),
    ];
    let all = all.into_iter().map(|case| Case { world: "finding", ..case });
    all.chain(of_files()).collect()
}

/// What a customer's file reads.
fn of_files() -> impl Iterator<Item = Case> {
    let of = |from: Option<&str>| json!({ "tenant": "demo", "customer": CUSTOMER_2, "from": from });
    let newest = |more: Json, case: Case| {
        let mut page = json!({ "newest_first": true });
        page.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        paged(page, case)
    };
    let cases = vec![
        newest(
            json!({}),
            case(
                "acts_of/newest",
                "about one customer; two of one instant by their ids",
                of(None),
                &["act 3", "act 2", "act 1"],
            ),
        ),
        newest(
            json!({ "after": ACT_3, "limit": 1 }),
            case("acts_of/after", "after one of two of one instant", of(None), &["act 2"]),
        ),
        case("acts_of/from", "of an instant and later", of(Some(&super::born(ACT_2))), &["act 2", "act 3"]),
        newest(json!({ "limit": 2 }), case("topups/newest", "of one customer", of(None), &["top-up 2", "top-up 1"])),
        case(
            "found_records/of-files",
            "acts and top-ups are found too",
            json!({ "tenant": "demo", "number": 0, "of": 1 }),
            &["act 1", "act 2", "act 3", "act of another customer", "top-up 1", "top-up 2"],
        ),
    ];
    cases.into_iter().map(|case| Case { world: "file", ..case })
}
