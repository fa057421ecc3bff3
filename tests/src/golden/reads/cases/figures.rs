//! Cases of posting days and the totals of days.

use super::{Case, case, paged};
use serde_json::json;

const M1: &str = "merchant:019a0000-0000-7000-8000-000000000041";
const M2: &str = "merchant:019a0000-0000-7000-8000-000000000042";
const F2: &str = "019a0000-0000-7000-8000-0000000000f2";
const S1: &str = "shop:019a0000-0000-7000-8000-000000000041/019a0000-0000-7000-8000-000000000061";
const T1: &str = "terminal:019a0000-0000-7000-8000-000000000051";

pub(super) fn cases() -> Vec<Case> {
    let closed = |from: Option<&str>, to: Option<&str>| json!({ "tenant": "demo", "from": from, "to": to });
    let totals = |of: &str, from: Option<&str>, to: &str| json!({ "tenant": "demo", "of": of, "from": from, "to": to });
    let next = |group: &str, after: Option<&str>| json!({ "tenant": "demo", "group": group, "merchant": null, "after": after });
    let shops = |merchant: &str, after: Option<&str>| json!({ "tenant": "demo", "group": "shop", "merchant": merchant, "after": after });
    let all = [
        case("closed_days/all", "every closed day", closed(None, None), &["day 19", "day 20"]),
        case("closed_days/from", "a day and later ones", closed(Some("2026-11-20"), None), &["day 20"]),
        case("closed_days/to", "a day included", closed(Some("2026-11-18"), Some("2026-11-19")), &["day 19"]),
        case(
            "day_totals/tenant",
            "both days included",
            totals("tenant", Some("2026-11-19"), "2026-11-20"),
            &["tenant 19", "tenant 20"],
        ),
        case("day_totals/merchant", "of one merchant", totals(M1, Some("2026-11-20"), "2026-11-21"), &["M1 20"]),
        paged(
            json!({ "newest_first": true, "limit": 1 }),
            case("day_totals/last", "the last up to a day", totals("tenant", None, "2026-11-20"), &["tenant 20"]),
        ),
        case("next_with_totals/first", "the first merchant", next("merchant", None), &["M1 19"]),
        case("next_with_totals/after", "the next one, past all days", next("merchant", Some(M1)), &["M2 20"]),
        case("next_with_totals/last", "none after the last", next("merchant", Some(M2)), &[]),
        case("next_with_totals/shop", "the first shop", next("shop", None), &["M1 S1 20"]),
        case("next_with_totals/shop-after", "shops of every merchant", next("shop", Some(S1)), &["M2 S2 20"]),
        case("next_with_totals/shop-of", "shops of one merchant", shops(&M2[9..], None), &["M2 S2 20"]),
        case("next_with_totals/shop-of-after", "none of another", shops(&M1[9..], Some(S1)), &[]),
        case("next_with_totals/terminal", "terminals by themselves", next("terminal", None), &["T1 20"]),
        case("next_with_totals/last-terminal", "none after the last", next("terminal", Some(T1)), &[]),
        case("files_to_make/due", "files that are not over", json!({ "tenant": "demo" }), &["file 2"]),
        case(
            "files/newest",
            "the jobs of files, newest first",
            json!({ "tenant": "demo", "after": null }),
            &["file 2", "file 1"],
        ),
        case("files/after", "older than one", json!({ "tenant": "demo", "after": F2 }), &["file 1"]),
        case(
            "active_accounts/day",
            "the lists of all batches of a day",
            json!({ "tenant": "demo", "date": "2026-11-20" }),
            &["active 20-1", "active 20-2"],
        ),
    ];
    all.into_iter().map(|case| Case { world: "figures", ..case }).collect()
}
