//! A customer requests a top-up: headroom under the cap of 50,000 is reserved, and nothing is credited. The cap counts
//! available, held and reserved together.

use super::Case;
use super::outside::*;
use super::world::*;
use crate::golden::command::{Does, PspJson};
use serde_json::Value as Json;

fn charging(id: &'static str, why: &'static str, charge: &str) -> Case {
    let does = Does::TopupClaim { customer: A.to_owned(), charge: yen(charge), psp: psp() };
    Case::new(id, why, Some(topup_by_a()), does)
}

fn case(id: &'static str, why: &'static str) -> Case {
    charging(id, why, "5000")
}

fn connected(mut case: Case) -> Case {
    let psp = PspJson { ledger: "test".to_owned(), livemode: true, account: Some("acct_1".to_owned()) };
    case.given.command.does = Does::TopupClaim { customer: A.to_owned(), charge: yen("5000"), psp };
    case
}

/// The terms of a tenant whose top-ups earn no points.
fn pointless() -> Json {
    let mut config = offering();
    config["topup"]["M"]["points_rate"] = n("0");
    config
}

/// The terms of a tenant without a cap on money.
fn uncapped() -> Json {
    let mut config = offering();
    config["assets"]["M"]["ECOPAY"]["M"].as_object_mut().unwrap().remove("cap").unwrap();
    config
}

pub(super) fn cases() -> Vec<Case> {
    let reserved = [(OF_A, RESERVED, "5000")];
    vec![
        case("topup/claimed", "Headroom is reserved, and the provider's request is minted; nothing is credited.")
            .on([offering(), account("ECOPAY", "1000", "0", "0")])
            .moves(&reserved)
            .precedence(),
        connected(case("topup/claimed-connected", "Real money, charged on a connected account."))
            .on([offering(), account("ECOPAY", "1000", "0", "0")])
            .moves(&reserved),
        case("topup/at-the-cap", "What is there, held and reserved just leaves room for it.")
            .on([offering(), account("ECOPAY", "40000", "3000", "2000")])
            .moves(&reserved),
        case("topup/one-over-the-cap", "One yen of what is reserved is too much.")
            .on([offering(), account("ECOPAY", "40000", "3000", "2001")])
            .ends("rejected cap_exceeded by payee"),
        case("topup/held-counts", "And so is one that is held.")
            .on([offering(), account("ECOPAY", "40000", "5001", "0")])
            .ends("rejected cap_exceeded by payee"),
        charging("topup/of-the-whole-cap", "A charge of just the cap needs an empty account.", "50000")
            .on([offering(), account("ECOPAY", "0", "0", "0")])
            .moves(&[(OF_A, RESERVED, "50000")]),
        charging("topup/above-the-cap-alone", "Refused before anything is written.", "50001")
            .on([offering(), account("ECOPAY", "0", "0", "0")])
            .ends("refused cap_exceeded"),
        case("topup/uncapped", "Without a cap any account that exists is reserved on.")
            .on([uncapped(), account("ECOPAY", "900000", "0", "0")])
            .moves(&reserved),
        case("topup/first-reservation", "An account opened before anything could be reserved.")
            .on([offering(), wallet(A, "ECOPAY", "1000")])
            .moves(&reserved),
        case("topup/frozen", "A freeze stops what leaves, not what comes.")
            .on([offering(), frozen(account("ECOPAY", "1000", "0", "0"))])
            .moves(&reserved),
        case("topup/no-wallet", "There is no such account.").on([offering()]).ends("rejected account_missing by payee"),
        case("topup/not-offered", "The tenant has no terms of top-ups.")
            .on([config(), account("ECOPAY", "1000", "0", "0")])
            .ends("invalid amount: top-ups are not offered here"),
        charging("topup/fraction-of-a-yen", "The yen has no decimals.", "0.5")
            .on([offering()])
            .ends("invalid amount: too_many_decimals"),
        charging("topup/negative", "An amount is greater than zero.", "-0.5")
            .on([offering()])
            .ends("invalid amount: not_positive"),
        case("topup/without-points", "At a rate of zero none are promised.")
            .on([pointless(), account("ECOPAY", "0", "0", "0")])
            .moves(&reserved),
        charging("topup/too-small-for-a-point", "Points are rounded down.", "99")
            .on([offering(), account("ECOPAY", "0", "0", "0")])
            .moves(&[(OF_A, RESERVED, "99")]),
        case("topup/in-flight", "The same request while the first is at the provider: no answer yet.")
            .on([offering(), account("ECOPAY", "1000", "0", "5000"), topup_in_flight(), requested()])
            .ends("in_flight"),
        case("topup/in-flight-parked", "Parked is without an answer too.")
            .on([offering(), account("ECOPAY", "1000", "0", "5000"), parked(topup_in_flight()), requested()])
            .ends("in_flight"),
        case("topup/in-flight-for-a-year", "A marker without an answer never lapses.")
            .on([offering(), account("ECOPAY", "1000", "0", "5000")])
            .on([with(topup_in_flight(), "processed_at", s("2025-11-21T02:59:00.000Z"))])
            .ends("in_flight"),
        case("topup/in-flight-of-another-request", "The key is bound to the request that is in flight.")
            .on([offering(), account("ECOPAY", "1000", "0", "5000")])
            .on([with(topup_in_flight(), "fp", s("0".repeat(64)))])
            .ends("reused"),
        case("topup/replayed", "The same request once it has been answered.")
            .on([offering(), account("ECOPAY", "1000", "0", "5000"), answered(&topup_by_a(), topup_in_flight())])
            .ends("replay"),
        case("topup/answered-a-day-ago", "After 24 hours the answer is no longer replayed.")
            .on([offering(), account("ECOPAY", "1000", "0", "5000")])
            .on([with(answered(&topup_by_a(), topup_in_flight()), "processed_at", s(EARLIER))])
            .ends("expired"),
        case("topup/answered-two-days-ago", "A marker whose ttl has passed by more than the skew is taken over.")
            .on([offering(), account("ECOPAY", "1000", "0", "0")])
            .on([with(answered(&topup_by_a(), topup_in_flight()), "ttl", n("1795229699"))])
            .moves(&reserved),
    ]
}
