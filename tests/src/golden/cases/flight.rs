//! An operation in flight: its lease, takeover and attempts. Each step is one conditional write; a holder with an
//! outdated fencing token writes nothing.

use super::Case;
use super::outside::*;
use super::world::*;
use crate::golden::command::{Does, FlightStep};

fn case(id: &'static str, why: &'static str, step: FlightStep) -> Case {
    Case::new(id, why, None, Does::Flight { marker: marker_of(&topup_by_a()), step })
}

fn of_refund(id: &'static str, why: &'static str, step: FlightStep) -> Case {
    Case::new(id, why, None, Does::Flight { marker: marker_of(&refund_by_staff()), step })
}

fn fail(burnt: bool) -> FlightStep {
    FlightStep::FailRetryably { burnt }
}

fn park(why: &str) -> FlightStep {
    FlightStep::Park { why: why.to_owned() }
}

pub(super) fn cases() -> Vec<Case> {
    let mine = || taken_over(topup_in_flight());
    let lease = |until: &str| with(mine(), "lease_until", s(until));
    let mut all = vec![
        case(
            "flight/heartbeat",
            "Its holder is alive: the lease is longer, and so is the mark.",
            FlightStep::Heartbeat {},
        )
        .on([mine()]),
        case("flight/heartbeat-after-its-lease", "Late, but nobody has taken over.", FlightStep::Heartbeat {})
            .on([topup_in_flight()]),
        case("flight/heartbeat-past-the-ceiling", "No holder goes on for more than 180 s.", FlightStep::Heartbeat {})
            .on([with(mine(), "taken_at", s("2026-11-21T02:57:00.000Z"))])
            .ends("past its ceiling"),
        case("flight/heartbeat-before-the-ceiling", "A millisecond before it does.", FlightStep::Heartbeat {})
            .on([with(mine(), "taken_at", s("2026-11-21T02:57:00.001Z"))]),
        case("flight/heartbeat-of-a-late-holder", "Somebody has taken over: it stops.", FlightStep::Heartbeat {})
            .seen([topup_in_flight()])
            .on([mine()])
            .ends("rejected stale_plan by flight"),
        case("flight/heartbeat-after-the-answer", "An event has landed it: it stops.", FlightStep::Heartbeat {})
            .seen([topup_in_flight()])
            .on([answered(&topup_by_a(), topup_in_flight())])
            .ends("rejected stale_plan by flight"),
        case(
            "flight/take-over",
            "The lease is over: the next token, the same request, the same key.",
            FlightStep::TakeOver {},
        )
        .on([topup_in_flight()]),
        case("flight/take-over-at-the-end-of-the-lease", "At its last instant it is free.", FlightStep::TakeOver {})
            .on([lease(NOW)]),
        case("flight/take-over-within-the-lease", "A millisecond before it is not.", FlightStep::TakeOver {})
            .on([lease("2026-11-21T03:00:00.001Z")])
            .ends("not free"),
        case("flight/take-over-of-a-refused-one", "Its pause is over: it is tried again.", FlightStep::TakeOver {})
            .on([failed_retry(topup_in_flight(), "1")]),
        case("flight/take-over-within-the-pause", "Its pause is not over.", FlightStep::TakeOver {})
            .on([failed_retry(lease("2026-11-21T03:00:00.001Z"), "1")])
            .ends("not free"),
        case("flight/take-over-of-a-parked-one", "Only a person may.", FlightStep::TakeOver {})
            .on([parked(topup_in_flight())])
            .ends("not free"),
        case("flight/take-over-twice", "Of two, one has the token.", FlightStep::TakeOver {})
            .seen([topup_in_flight()])
            .on([mine()])
            .ends("rejected stale_plan by flight"),
        case(
            "flight/take-over-of-a-living-one",
            "Its holder has renewed the lease: it stays.",
            FlightStep::TakeOver {},
        )
        .seen([topup_in_flight()])
        .on([with(topup_in_flight(), "lease_until", s("2026-11-21T03:00:10.000Z"))])
        .ends("rejected stale_plan by flight"),
        case("flight/let-go", "Anybody may go on at once; a worker will after a pause.", FlightStep::LetGo {})
            .on([mine()]),
        case("flight/let-go-of-a-late-holder", "What is another's is not let go of.", FlightStep::LetGo {})
            .seen([topup_in_flight()])
            .on([mine()])
            .ends("rejected stale_plan by flight"),
    ];
    all.extend(refusals());
    all
}

fn refusals() -> Vec<Case> {
    let mine = || taken_over(topup_in_flight());
    let after = |attempts: &str| with(mine(), "attempts", n(attempts));
    vec![
        case("flight/refused", "It may go away: the same key is sent again after a pause.", fail(false)).on([mine()]),
        case("flight/refused-and-kept", "The provider keeps the refusal under the key: the next epoch.", fail(true))
            .on([mine()]),
        case("flight/refused-the-third-time", "The pause doubles.", fail(true)).on([after("2")]),
        case("flight/refused-the-fourth-time", "Once more.", fail(false)).on([after("3")]),
        case("flight/refused-the-fifth-time", "A person must look.", fail(true)).on([after("4")]),
        case("flight/refused-to-a-late-holder", "What a late holder hears counts for nothing.", fail(true))
            .seen([topup_in_flight()])
            .on([mine()])
            .ends("rejected stale_plan by flight"),
        case("flight/refused-twice", "One refusal counts once.", fail(true))
            .seen([mine()])
            .on([failed_retry(mine(), "1")])
            .ends("rejected stale_plan by flight"),
        case("flight/parked-not-found", "Too old to be sent again, and not found.", park("not_found")).on([mine()]),
        of_refund("flight/parked-contradiction", "The object contradicts our record.", park("contradiction"))
            .on([taken_over(refund_in_flight())]),
        case("flight/parked-by-a-late-holder", "What is another's is not parked.", park("not_found"))
            .seen([topup_in_flight()])
            .on([mine()])
            .ends("rejected stale_plan by flight"),
    ]
}
