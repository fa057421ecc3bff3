//! Leases on a tenant's requests in a window of ten seconds. They move no value.

use super::Case;
use super::world::*;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

/// The sort key of the window that contains the cases' time.
const SK: &str = "RATE#1795230000";

fn lease(id: &'static str, why: &'static str, requests_per_second: &str) -> Case {
    Case::new(id, why, None, Does::RateLease { requests_per_second: requests_per_second.to_owned() })
}

/// The window's item with this many requests leased.
fn leased(requests: &str) -> Json {
    item("tenant", "root", SK, json!({ "leased": n(requests), "ttl": n("1795233610") }))
}

pub(super) fn cases() -> Vec<Case> {
    let mut latest = lease("rate/next", "A fiftieth of the budget more, until the window's end.", "200");
    "2026-11-21T03:00:09.999Z".clone_into(&mut latest.given.now);
    vec![
        lease("rate/first", "The window's first chunk makes its item.", "200"),
        latest.on([leased("400")]),
        lease("rate/last", "The last chunk that the budget holds.", "200").on([leased("1960")]),
        lease("rate/used-up", "One request too many has been leased for another chunk.", "200")
            .on([leased("1961")])
            .ends("rejected limit_exceeded by rate"),
        lease("rate/lowered", "The rate was lowered below what has been leased.", "1")
            .on([leased("400")])
            .ends("rejected limit_exceeded by rate"),
        lease("rate/slowest", "One at a time.", "1").on([leased("9")]),
        lease("rate/rest", "What is left is less than a chunk: it stays.", "11")
            .on([leased("108")])
            .ends("rejected limit_exceeded by rate"),
    ]
}
