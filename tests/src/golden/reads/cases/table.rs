//! Reads of the whole table, of all tenants.

use super::{A, Case, KEYS, MERCHANT, PARTITION_M, case, of_one_customer};
use serde_json::{Value as Json, json};

pub(super) fn cases() -> Vec<Case> {
    const LISTED: &[&str] = &[
        "M profile",
        "M2 profile",
        "payment 1",
        "payment 1 refund",
        "payment 2",
        "payment 3",
        "payment 4",
        "payment 5",
    ];
    let god_records = |after: Json| json!({ "tenant": "demo", "after": after });
    vec![
        case(
            "table_segment/small-tenant",
            "every item of a tenant, and none of a tenant whose name continues its name",
            json!({ "tenant": "demo2", "number": 0, "of": 1 }),
            &["demo2 config", "demo2 customer", "demo2 entry", "demo2 hold"],
        ),
        case(
            "customers_with_god_record/all",
            "God Records of customers of one tenant",
            god_records(Json::Null),
            &["A God Record", "B God Record"],
        ),
        of_one_customer(case(
            "table_segment/next-page",
            "nothing is left after the only item",
            json!({ "tenant": "demo", "number": 0, "of": 1, "after": { "uuid": { "S": A }, "type": { "S": "customer" } } }),
            &[],
        )),
        of_one_customer(case(
            "customers_with_god_record/next-page",
            "nothing is left after the only God Record",
            god_records(json!([A, "customer"])),
            &[],
        )),
        case("listed_items/all", "what an index by owner lists, of every tenant, in the table", json!({}), LISTED),
        of_one_customer(case(
            "listed_items/next-page",
            "nothing is left after the only item",
            json!({ "after": { "uuid": { "S": A }, "type": { "S": "customer" } } }),
            &[],
        )),
        case("listed_entries/all", "the same in the index", json!({ "index": KEYS }), LISTED),
        of_one_customer(case(
            "listed_entries/next-page",
            "the page after a merchant",
            json!({ "index": KEYS, "after": {
                "uuid": { "S": PARTITION_M }, "type": { "S": "PROFILE" },
                "owner_pk": { "S": "demo#merchants#0" }, "owner_sk": { "S": MERCHANT },
            } }),
            &[],
        )),
    ]
}
