//! The lanes of the audit trail: their segments, the bindings of their heads, and how their number is raised.

use super::Case;
use super::trail::{act, crediting_entry, entry, sealed};
use super::world::*;
use crate::golden::build_lanes::LanesDoes;
use crate::golden::command::Does;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

/// DynamoDB's limit of actions in one transaction, less the lane's head and the segment.
const FITTING: u32 = 98;
/// The hour before.
const AN_HOUR_AGO: &str = "2026-11-21T02:00:00.000Z";
const TOPUP: &str = "019a0000-0000-7000-8000-000000000081";
/// Another merchant.
const OTHER_MERCHANT: &str = "019a0000-0000-7000-8000-000000000041";
/// The hash and the records of a segment of three entries.
const CREDITED_HASH: &str = "poT8bOqrvYuEWHUY9otAPmnuf6LF8W+76BelcRLoMl4=";
const CREDITED_RECORDS: &str = concat!(
    "AQGaAAAAAHAAgAAAAAAAAAoBmqAAAABwAIAAAAAAAAABiqmM6unh4oN+rQI5C/okWi3X+5qK9RPbF95DO9HGk3MBAZoAAAAAcACA",
    "AAAAAAAACgGaoAAAAHAAgAAAAAAAAAJyncIUMarZzdhI9MuEePTzP9CR6i3gVmnwBa+Q0BGBzQEBmgAAAABwAIAAAAAAAAAKAZqg",
    "AAAAcACAAAAAAAAAAxIpLvzp1pYaLUDhO74VTBMNgA8vm6DtonWTIEU/Necg",
);
/// A customer whose records are in lane 1 of two.
const IN_LANE_1: &str = B;

fn case(id: &'static str, why: &'static str, does: LanesDoes) -> Case {
    Case::new(id, why, None, Does::Lanes(does))
}

fn seal(id: &'static str, why: &'static str) -> Case {
    case(id, why, LanesDoes::Seal { lane: "0".to_owned(), acts_until: None })
}

fn hash(byte: u8) -> Json {
    json!({ "B": STANDARD.encode([byte; 32]) })
}

/// The head of all lanes, whose last binding covers this many segments.
pub(super) fn trail(lanes: &str, number: &str, segments: &str) -> Json {
    let attributes = json!({
        "v": n("1"), "lanes": n(lanes), "number": n(number), "hash": hash(9), "bound_at": s(AN_HOUR_AGO),
        "segments": n(segments), "records": n("40"), "day_records": n("30"),
    });
    item("tenant", "root", "SEAL#head", attributes)
}

pub(super) fn lane(lane: u32, lanes: &str, number: &str) -> Json {
    let attributes = json!({
        "v": n("1"), "lanes": n(lanes), "number": n(number), "hash": hash(if number == "0" { 9 } else { 5 }),
        "records": n(if number == "0" { "0" } else { "70" }), "sealed_at": s(AN_HOUR_AGO), "acts_until": s(EARLIER),
    });
    item("tenant", "root", &format!("SEAL#head#{lane:02}"), attributes)
}

/// A trail with one lane, which has seven segments, of which the last binding covers four.
fn one_lane() -> [Json; 2] {
    [trail("1", "3", "4"), lane(0, "1", "7")]
}

fn due(number: u32) -> Json {
    entry(number, "seal")
}

/// The end of the chain of days.
fn days() -> Json {
    let last = json!({ "day": s("2026-11-21"), "number": n("2"), "hash": s("5".repeat(64)) });
    let attributes = json!({
        "fence": n("4"), "lease_until": s(AN_HOUR_AGO), "segments": n("7"), "acts_until": s(EARLIER),
        "last": { "M": last },
    });
    item("tenant", "root", "SEALING", attributes)
}

fn step() -> Json {
    let attributes = json!({
        "what": s("claimed"), "operation": s("topup"), "principal": s(OF_A), "actor": s(OF_A), "created_at": s(EARLIER),
        "due_pk": s("demo#due#seal#0"), "due_sk": s(format!("{EARLIER}#{TOPUP}")),
    });
    item("topup", TOPUP, &format!("TRAIL#{TOPUP}#{EARLIER}#create_intent#0001.00"), attributes)
}

/// The segment that `lanes/every-kind` writes.
fn restored_segment() -> Json {
    let attributes = json!({
        "v": n("1"), "lanes": n("1"), "after": hash(5), "sealed_at": s(NOW),
        "hash": { "B": "DNSM7h3aqQxlLAqOMkd2MSGyltnKkcxl6Kd4AN1sBcE=" },
        "records": { "B": concat!(
            "AQGaAAAAAHAAgAAAAAAAAAoBmqAAAABwAIAAAAAAAAABCZM6+FQ3xvcVXceHfg98efqyAKDNiaABje18+pR1dtQEAZqgAAAAcACA",
            "AAAAAAAAYQ1E5keMXJ7bgchfK3MrdifrrZAbHb6eKS4KQ90vo3gRBQMBmgAAAABwAIAAAAAAAACBAaH25YeAFWNyZWF0ZV9pbnRlbnQjMDAwMS4wMIJ+4qoMzCNSKK+n5BqjqoGWLA372Ey1wlDVRjqon0Xq",
        ) },
    });
    item("tenant", "root", "SEAL#lane#00#0000000008", attributes)
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = openings();
    all.extend(segments());
    all.extend(crediting());
    all.extend(bindings());
    all
}

fn openings() -> Vec<Case> {
    let open = |id, why| case(id, why, LanesDoes::Open {});
    vec![
        open("lanes/open-first", "A trail that nothing was sealed of."),
        open("lanes/open-after-days", "The first binding names the end of the chain of days.").on([days()]),
        open("lanes/open-lost", "Another worker has opened them.")
            .on([days()])
            .on(one_lane())
            .ends("rejected stale_plan by sealing"),
    ]
}

fn segments() -> Vec<Case> {
    vec![
        seal("lanes/first", "The first segment of a lane follows the binding that opened it.").on([
            trail("1", "1", "0"),
            lane(0, "1", "0"),
            due(1),
        ]),
        case(
            "lanes/every-kind",
            "An entry, a step and an act, by whose segment every act until then is sealed.",
            LanesDoes::Seal { lane: "0".to_owned(), acts_until: Some("2026-11-21T02:45:00.000Z".to_owned()) },
        )
        .on(one_lane())
        .on([due(1), step(), act()]),
        seal("lanes/published", "An entry whose event was taken is due no longer, for either work.")
            .on(one_lane())
            .on([entry(1, "publish"), due(2)]),
        case(
            "lanes/unpublished",
            "Entries whose events were not taken are sealed, and are then due to be published late.",
            LanesDoes::SealUnpublished { lane: "0".to_owned() },
        )
        .on(one_lane())
        .on([entry(1, "publish"), entry(2, "publish")]),
        case(
            "lanes/second-lane",
            "A lane has the records of its accounts alone.",
            LanesDoes::Seal { lane: "1".to_owned(), acts_until: None },
        )
        .on([trail("2", "3", "4"), lane(0, "2", "7"), lane(1, "2", "3"), act()])
        .on([with(due(2), "uuid", s(format!("demo#customer#{IN_LANE_1}")))]),
        seal("lanes/head-moved", "Another worker has written a segment.")
            .seen([lane(0, "1", "7")])
            .on([trail("1", "3", "4"), lane(0, "1", "8"), due(1)])
            .ends("rejected stale_plan by sealing"),
        seal("lanes/number-raised", "Another worker has raised the number of lanes.")
            .seen([trail("1", "3", "4"), lane(0, "1", "7")])
            .on([trail("2", "4", "7"), lane(0, "2", "7"), due(1)])
            .ends("rejected stale_plan by sealing"),
        seal("lanes/head-set-back", "A segment that the head does not know.")
            .on(one_lane())
            .on([due(1), item("tenant", "root", "SEAL#lane#00#0000000008", json!({ "v": n("1") }))])
            .ends("rejected stale_plan by seal"),
        seal("lanes/sealed-before", "One is in a segment of the chain of days: none is sealed.")
            .seen([due(2)])
            .on(one_lane())
            .on([due(1), sealed(due(2)), due(3)])
            .ends("rejected already_exists by sealed"),
        seal("lanes/gone", "A record that there is not any more.")
            .seen([due(1)])
            .on(one_lane())
            .on([due(2)])
            .ends("rejected account_missing by sealed"),
        seal("lanes/nothing", "Nothing is due: nothing is written.").on(one_lane()).on([sealed(due(1))]),
        seal("lanes/full", "As many as fit into 100 actions; what is beyond stays due.")
            .seen([lane(0, "1", "7")])
            .on([trail("1", "3", "4"), lane(0, "1", "8")])
            .on((1..=FITTING + 2).map(due))
            .ends("rejected stale_plan by sealing"),
        case(
            "lanes/finish-restored",
            "A restore has left a segment and one of its stamps, and neither the head nor the other stamps.",
            LanesDoes::FinishRestored {},
        )
        .on(one_lane())
        .on([restored_segment(), due(1), step(), with(act(), "sealed", s("L0/8"))]),
        case(
            "lanes/restored-unpublished",
            "A restore has brought back an entry from before its publication: it stays due to be published.",
            LanesDoes::FinishRestored {},
        )
        .on(one_lane())
        .on([restored_segment(), entry(1, "publish"), step(), with(act(), "sealed", s("L0/8"))]),
        case(
            "lanes/restored-otherwise",
            "A record of that segment is not as it was sealed: nothing is finished.",
            LanesDoes::FinishRestored {},
        )
        .on(one_lane())
        .on([restored_segment(), due(1), step(), with(act(), "reason", s("another"))]),
        case(
            "lanes/skip-acts",
            "No run lists the acts before this time again.",
            LanesDoes::SkipActs { until: "2026-11-21T02:45:00.000Z".to_owned() },
        )
        .on(one_lane()),
    ]
}

/// The sums of a merchant in lane 0, after this segment.
fn credited(merchant: &str, period: &str, segment: &str) -> Json {
    let attributes = json!({
        "period": n(period), "segment": n(segment), "period_records": n("2"), "taken_ecopay": n("500"),
        "refunded_ecopay": n("40"), "updated_at": s(EARLIER),
    });
    item("merchant", merchant, "CREDITED#00", attributes)
}

/// A tenant that limits what payments to a merchant have on a day.
fn limiting_volumes() -> Json {
    let of_merchants = json!({ "M": { "ECOPAY": { "M": { "pay_day": n("500") } } } });
    with(
        config(),
        "limits",
        json!({ "M": {
        "accounts": { "BOOL": false }, "version": n("1"), "merchant": of_merchants,
    } }),
    )
}

/// An entry in segment 8 of lane 0.
fn credited_entry(entry: Json) -> Json {
    let entry = with(with(without(without(entry, "due_pk"), "due_sk"), "sealed", s("L0/8")), "lane_period", s("L0/3"));
    with(entry, "credited_at", s(NOW))
}

/// The segment that `lanes/records-4-credited` writes, and the head and the sums after it.
fn segment_of_credited() -> [Json; 2] {
    let segment = json!({
        "v": n("1"), "lanes": n("1"), "after": hash(5), "sealed_at": s(NOW), "hash": { "B": CREDITED_HASH },
        "records": { "B": CREDITED_RECORDS },
    });
    let head = with(lane(0, "1", "8"), "hash", json!({ "B": CREDITED_HASH }));
    [item("tenant", "root", "SEAL#lane#00#0000000008", segment), with(head, "sealed_at", s(NOW))]
}

/// Version 4 of the records: the seal credits merchants.
fn crediting() -> Vec<Case> {
    let due = |number, merchant, yen| crediting_entry(number, merchant, yen, "publish_credit");
    let three = || [due(1, MERCHANT, "300"), due(2, MERCHANT, "-100"), due(3, OTHER_MERCHANT, "50")];
    let last = |id, why| case(id, why, LanesDoes::FinishLast {});
    let [segment, head] = segment_of_credited();
    let head_before = || [trail("1", "3", "4"), segment_of_credited()[0].clone(), lane(0, "1", "7")];
    let torn = || [trail("1", "3", "4"), segment.clone(), head.clone()];
    vec![
        seal("lanes/records-4-first", "A merchant's first payment in the lane, beside an entry without a merchant.")
            .on(one_lane())
            .on([due(1, MERCHANT, "300"), entry(2, "publish")]),
        seal("lanes/records-4-credited", "Two merchants: the sums are those of the entries that are sealed.")
            .on(one_lane())
            .on(three())
            .on([credited(MERCHANT, "3", "7")]),
        seal("lanes/volumes", "What was paid is counted by day; what was paid back stays, and past days are removed.")
            .on(one_lane())
            .on(three())
            .on([
                limiting_volumes(),
                with(
                    with(credited(MERCHANT, "3", "7"), "volume_20261101_ecopay", n("7")),
                    "volume_20261120_ecopay",
                    n("9"),
                ),
            ]),
        case(
            "lanes/volumes-finished",
            "A restore has lost a merchant's sums: its volume is counted with them.",
            LanesDoes::FinishLast {},
        )
        .on(torn())
        .on(three().map(credited_entry))
        .on([limiting_volumes(), credited(MERCHANT, "3", "7"), credited(OTHER_MERCHANT, "3", "8")]),
        seal("lanes/records-4-put-off", "One that could not be sealed before.").on(one_lane()).on([crediting_entry(
            1,
            MERCHANT,
            "300",
            "seal_credit",
        )]),
        case(
            "lanes/records-4-unpublished",
            "Its event was not taken: it is credited, and due to be published late.",
            LanesDoes::SealUnpublished { lane: "0".to_owned() },
        )
        .on(one_lane())
        .on([due(1, MERCHANT, "300")]),
        seal("lanes/records-4-period-closed", "A settlement has closed the period meanwhile.")
            .seen([credited(MERCHANT, "3", "7")])
            .on(one_lane())
            .on([due(1, MERCHANT, "300"), credited(MERCHANT, "4", "7")])
            .ends("rejected wrong_state by crediting"),
        seal(
            "lanes/records-4-credited-beyond",
            "A restore has brought back the head, and sums of the segment after it.",
        )
        .on(one_lane())
        .on([due(1, MERCHANT, "300"), credited(MERCHANT, "3", "8")])
        .ends("rejected stale_plan by crediting"),
        seal("lanes/records-4-credited-before", "Another worker has sealed and credited one: none is credited.")
            .seen([due(1, MERCHANT, "300"), credited(MERCHANT, "3", "7")])
            .on(one_lane())
            .on([credited_entry(due(1, MERCHANT, "300")), due(2, MERCHANT, "-100"), credited(MERCHANT, "3", "7")])
            .ends("rejected already_exists by sealed"),
        last("lanes/records-4-whole", "The whole segment is there: nothing is written.")
            .on(torn())
            .on(three().map(credited_entry))
            .on([credited(MERCHANT, "3", "8"), credited(OTHER_MERCHANT, "3", "8")]),
        last(
            "lanes/records-4-finish-stamps",
            "A restore has lost two stamps: they are written, and nothing is credited.",
        )
        .on(torn())
        .on([due(1, MERCHANT, "300"), due(2, MERCHANT, "-100"), credited_entry(due(3, OTHER_MERCHANT, "50"))])
        .on([credited(MERCHANT, "3", "8"), credited(OTHER_MERCHANT, "3", "8")]),
        last("lanes/records-4-finish-sums", "A restore has lost the sums of one merchant: they are added.")
            .on(torn())
            .on(three().map(credited_entry))
            .on([credited(MERCHANT, "3", "7"), credited(OTHER_MERCHANT, "3", "8")]),
        last(
            "lanes/records-4-finish-changed",
            "Sums are missing and an entry is not as it was sealed: nothing is written.",
        )
        .on(torn())
        .on([credited_entry(due(1, MERCHANT, "301")), credited_entry(due(2, MERCHANT, "-100"))])
        .on([credited_entry(due(3, OTHER_MERCHANT, "50"))])
        .on([credited(MERCHANT, "3", "7"), credited(OTHER_MERCHANT, "3", "8")]),
        case(
            "lanes/records-4-finish-restored",
            "A restore has brought back the segment alone: the head moves, and all is stamped and credited.",
            LanesDoes::FinishRestored {},
        )
        .on(head_before())
        .on(three())
        .on([credited(MERCHANT, "3", "7")]),
    ]
}

fn bindings() -> Vec<Case> {
    let bind = |id, why| case(id, why, LanesDoes::Bind {});
    let raise = |id, why| case(id, why, LanesDoes::Raise {});
    vec![
        bind("lanes/bind", "The heads of two lanes, one of which has no segment, and the end of the chain of days.")
            .on([trail("2", "3", "4"), lane(0, "2", "7"), lane(1, "2", "0"), days()]),
        bind("lanes/bind-lost", "Another worker has written this binding.")
            .seen([trail("1", "3", "4")])
            .on([trail("1", "4", "7"), lane(0, "1", "7")])
            .ends("rejected stale_plan by sealing"),
        bind("lanes/bind-unchanged", "Nothing was sealed since the last one.")
            .on([trail("1", "3", "7"), lane(0, "1", "7")]),
        raise("lanes/raise", "One lane becomes two.").on(one_lane()),
        raise("lanes/raise-moved", "A segment was written meanwhile.")
            .seen([lane(0, "1", "7")])
            .on([trail("1", "3", "4"), lane(0, "1", "8")])
            .ends("rejected stale_plan by sealing"),
    ]
}
