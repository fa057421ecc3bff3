//! The audit trail: trail records of operations that call the PSP, due index entries of published entries, and the
//! chain that seals them. A trail record is the last action of its transaction; other vectors cover the actions before
//! it.

use super::Case;
use super::outside::*;
use super::topup_events::wallets;
use super::world::*;
use crate::golden::build_trail::TrailDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

/// The fencing token of the trail's lease holder.
const FENCE: &str = "4";
const LATER: &str = "2026-11-21T03:00:20.000Z";
const DAY: &str = "2026-11-20";
/// DynamoDB's limit of actions in one transaction, less the lease item, the segment and its day.
const FITTING: u32 = 97;

fn case(id: &'static str, why: &'static str, does: TrailDoes) -> Case {
    Case::new(id, why, None, Does::Trail(does))
}

fn of_flight(id: &'static str, why: &'static str, does: TrailDoes) -> Case {
    let mut case = case(id, why, does);
    case.given.command.answer = Some(answer("201", &format!("{{\"id\":\"{TOPUP}\"}}")));
    case
}

fn id_of(number: u32) -> String {
    format!("019aa000-0000-7000-8000-{number:012}")
}

/// An entry of a payment, with a due index entry.
pub(super) fn entry(number: u32, mark: &str) -> Json {
    let side =
        |account: &str, delta: &str| json!({ "M": { "account": s(account), "asset": s("ECOPAY"), "delta": n(delta) } });
    let attributes = json!({
        "transaction_id": s(id_of(number)), "operation": s("pay"), "principal": s(OF_A), "actor": s(OF_A),
        "idempotency_key": s(format!("k-{number}")), "created_at": s(EARLIER),
        "postings": { "L": [side(OF_A, "-100"), side(OF_MERCHANT, "100")] },
        "due_pk": s(format!("demo#due#{mark}#{}", number % 2)), "due_sk": s(id_of(number)),
    });
    item("customer", A, &format!("TXN#{}", id_of(number)), attributes)
}

/// An entry of a payment or refund that its seal credits to a merchant, with a due index entry.
pub(super) fn crediting_entry(number: u32, merchant: &str, yen: &str, mark: &str) -> Json {
    let back = yen.strip_prefix('-').map_or_else(|| format!("-{yen}"), str::to_owned);
    let side =
        |account: &str, delta: &str| json!({ "M": { "account": s(account), "asset": s("ECOPAY"), "delta": n(delta) } });
    let of_merchant = format!("merchant:{merchant}");
    let postings = json!({ "L": [side(OF_A, &back), side(&of_merchant, yen)] });
    let entry = with(with(entry(number, mark), "credited_by", s("seal")), "postings", postings);
    if mark == "seal_credit" { with(entry, "due_pk", s("demo#due#seal_credit#0")) } else { entry }
}

pub(super) fn sealed(entry: Json) -> Json {
    with(without(without(entry, "due_pk"), "due_sk"), "sealed", s("2026-11-20/1"))
}

/// An act of the staff on that day.
pub(super) fn act() -> Json {
    let attributes = json!({
        "audit_id": s(AUDIT), "actor": s(BY_STAFF), "action": s("customer_patch"), "subject": s(OF_A),
        "details": { "M": {} }, "created_at": s(EARLIER),
    });
    item("tenant", "root", &format!("AUDIT#{AUDIT}"), attributes)
}

fn link(day: &str, number: &str) -> Json {
    json!({ "day": s(day), "number": n(number), "hash": s("5".repeat(64)) })
}

fn sealing(fence: &str, lease_until: &str, segments: &str) -> Json {
    let attributes = json!({
        "fence": n(fence), "lease_until": s(lease_until), "segments": n(segments), "acts_until": s(EARLIER),
    });
    let item = item("tenant", "root", "SEALING", attributes);
    if segments == "0" { item } else { with(item, "last", json!({ "M": link("2026-11-21", "2") })) }
}

fn day(number: &str) -> Json {
    let mut attributes = link(DAY, number);
    attributes["records"] = n("7");
    item("tenant", "root", &format!("SEALED#{DAY}"), attributes)
}

fn seal(id: &'static str, why: &'static str) -> Case {
    case(id, why, TrailDoes::Seal { fence: FENCE.to_owned(), day: DAY.to_owned() })
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = steps();
    all.extend(leases());
    all.extend(segments());
    all
}

fn steps() -> Vec<Case> {
    let marker = || marker_of(&topup_by_a());
    let mine = || taken_over(topup_in_flight());
    let claimed = Case::new(
        "trail/claimed",
        "A key is claimed, and the request leaves after this.",
        Some(topup_by_a()),
        Does::Trail(TrailDoes::Claimed { customer: A.to_owned(), charge: yen("5000"), psp: psp() }),
    );
    let (kind, event) = ("payment_intent.canceled".to_owned(), EVENT.to_owned());
    vec![
        claimed.on([offering(), account("ECOPAY", "1000", "0", "0")]).moves(&[(OF_A, RESERVED, "5000")]),
        case(
            "trail/taken-over",
            "Another holder: it sends the request too.",
            TrailDoes::TakenOver { marker: marker() },
        )
        .on([topup_in_flight()]),
        case(
            "trail/sent-again",
            "Nothing was heard of the first sending: the second is on record before it leaves.",
            TrailDoes::SentAgain { marker: marker(), attempt: "2".to_owned(), unknown: "timeout".to_owned() },
        )
        .on([mine()]),
        case(
            "trail/refused",
            "All that was heard since the record before stands beside what follows from it.",
            TrailDoes::Refused {
                marker: marker(),
                burnt: true,
                unknown: "timeout".to_owned(),
                code: "card_declined".to_owned(),
            },
        )
        .on([mine()]),
        of_flight(
            "trail/landed",
            "The provider's answer, and what became of the claim and of the top-up by it.",
            TrailDoes::Landed { marker: marker(), fact: intent("requires_payment_method"), topup: TOPUP.to_owned() },
        )
        .on(wallets(requested()))
        .on([mine()]),
        case(
            "trail/told",
            "An event, and what became of the top-up by it.",
            TrailDoes::Told { event, kind, fact: intent("canceled"), topup: TOPUP.to_owned() },
        )
        .on(wallets(pending()))
        .moves(&[(OF_A, RESERVED, "-5000")]),
        case(
            "trail/canceling",
            "Nobody has paid: the provider is asked to cancel.",
            TrailDoes::Canceling { topup: TOPUP.to_owned() },
        )
        .on([pending()]),
        case("trail/published", "Their events have been taken: they are due to be sealed.", TrailDoes::Published {})
            .on([entry(1, "publish"), entry(2, "publish"), entry(3, "seal")]),
        case(
            "trail/records-4-published",
            "An entry that its seal credits to a merchant has a work of sealing of its own.",
            TrailDoes::Published {},
        )
        .on([entry(1, "publish"), crediting_entry(2, MERCHANT, "100", "publish_credit")]),
        case("trail/unmarked", "A late publication has put a mark back on what is sealed.", TrailDoes::Unmark {})
            .on([with(entry(1, "seal"), "sealed", s("2026-11-20/1")), entry(2, "seal")]),
    ]
}

fn leases() -> Vec<Case> {
    let take = |id, why| case(id, why, TrailDoes::Take {});
    let release = |id, why| {
        case(id, why, TrailDoes::Release { fence: FENCE.to_owned(), acts_until: "2026-11-21T02:50:00.000Z".to_owned() })
    };
    vec![
        take("sealing/take-first", "Nobody has sealed this trail before."),
        take("sealing/take-over", "A holder who has been silent for the lease: the next token.")
            .on([sealing(FENCE, NOW, "7")]),
        take("sealing/take-held", "Somebody else has it: there is nothing to do.").on([sealing(FENCE, LATER, "7")]),
        take("sealing/take-renewed", "The holder was only slow, and has written a segment in between.")
            .seen([sealing(FENCE, NOW, "7")])
            .on([sealing(FENCE, LATER, "8")])
            .ends("rejected stale_plan by sealing"),
        release("sealing/release", "Anybody may take it at once.").on([sealing(FENCE, LATER, "7")]),
        release("sealing/release-late", "Another has it by now: it stays taken.")
            .seen([sealing(FENCE, LATER, "7")])
            .on([sealing("5", LATER, "7")])
            .ends("rejected stale_plan by sealing"),
    ]
}

fn segments() -> Vec<Case> {
    let held = || sealing(FENCE, LATER, "7");
    let due = |number| entry(number, "seal");
    vec![
        seal("sealing/first", "The first segment of all follows nothing.").on([sealing(FENCE, LATER, "0"), due(1)]),
        seal("sealing/another-day", "The first of a day follows the last of all.").on([held(), due(1), due(2), act()]),
        seal("sealing/late", "What comes late is one more segment of its own day.").on([held(), day("2"), due(1)]),
        case(
            "sealing/unpublished",
            "Entries whose events were not taken are sealed, and are then due to be published late.",
            TrailDoes::SealUnpublished { fence: FENCE.to_owned(), day: DAY.to_owned() },
        )
        .on([held(), entry(1, "publish")]),
        seal("sealing/sealed-before", "One of them is in a segment already: none is sealed.")
            .seen([due(2)])
            .on([held(), day("2"), due(1), sealed(due(2)), due(3)])
            .ends("rejected already_exists by sealed"),
        seal("sealing/lost-token", "A late holder writes nothing, whatever else has happened meanwhile.")
            .seen([held(), due(1)])
            .on([sealing("5", LATER, "8"), sealed(due(1)), due(2)])
            .ends("rejected stale_plan by sealing"),
        seal("sealing/gone", "A record that there is not any more.")
            .seen([due(1)])
            .on([held(), due(2)])
            .ends("rejected account_missing by sealed"),
        seal("sealing/day-behind", "The day is further than it was read.")
            .seen([day("1")])
            .on([held(), day("2"), due(1)])
            .ends("rejected stale_plan by seal"),
        seal("sealing/nothing", "Nothing is due: nothing is written.").on([held(), sealed(due(1))]),
        seal("sealing/full", "As many as fit into 100 actions; what is beyond stays due.")
            .seen([held()])
            .on([sealing("5", LATER, "7")])
            .on((1..=FITTING + 2).map(due))
            .ends("rejected stale_plan by sealing"),
    ]
}
