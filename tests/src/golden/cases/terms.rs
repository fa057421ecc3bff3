//! Versions of a tenant's terms: stored, written into the configuration once their time has come, cancelled; and what is
//! planned under one. Version 2 has points of 5 % and a CO2 estimate of 0.02 kg.

use super::migrating::{GOD_RECORD, migrating};
use super::staff::member;
use super::world::*;
use super::{
    Case, admin, cards, clawback, grants, holds, holds_ended, pay, refund, settlements_admin, topup, topup_events,
    topup_refund, topup_refund_events, transfer,
};
use crate::golden::build_approvals::ApprovalDoes;
use crate::golden::build_terms::TermsDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

const APPROVAL: &str = "019a0000-0000-7000-8000-000000000061";
const FROM: &str = "2026-12-01T00:00:00.000Z";
/// Ten minutes after the time of every case: the earliest time of a version.
const EARLIEST: &str = "2026-11-21T03:10:00.000Z";
/// Ten minutes before the time of every case: what began then no longer keeps another version from being stored.
const BEGUN: &str = "2026-11-21T02:50:00.000Z";

/// The case under the first version, that under version 2, and what the latter shows.
const UNDER_2: [(&str, &str, &str); 19] = [
    ("transfer/sent", "transfer/terms-2-sent", "The entry names the version."),
    ("grant/points", "grant/terms-2-points", "The entry names the version."),
    ("adjustment_approve/credit", "adjustment_approve/terms-2-credit", "The version of the time of the approval."),
    ("authorize/held", "authorize/terms-2-held", "The entry names the version."),
    ("capture/part", "capture/terms-2-part", "The version of the time of the capture: its points are of that."),
    ("void/voided", "void/terms-2-voided", "The version of the time of the void."),
    ("hold_expire/expired", "hold_expire/terms-2-expired", "The version of the time at which the worker releases it."),
    ("refund/full", "refund/terms-2-full", "What was earned is taken back, whatever the version."),
    ("card_topup/loaded", "card_topup/terms-2-loaded", "The entry names the version."),
    ("card_pay/paid", "card_pay/terms-2-paid", "The entry names the version."),
    ("card_refund/partial", "card_refund/terms-2-partial", "The entry names the version."),
    ("topup/claimed", "topup/terms-2-claimed", "The top-up keeps the version that its points are of."),
    ("topup_events/paid", "topup_events/terms-2-paid", "The version that the top-up keeps."),
    ("topup_refund/partial", "topup_refund/terms-2-partial", "The refund keeps the version of its own request."),
    ("topup_refund_events/paid", "topup_refund_events/terms-2-paid", "The version that the refund keeps."),
    ("topup_refund_events/failed", "topup_refund_events/terms-2-failed", "The version that the refund keeps."),
    ("clawback/partly-covered", "clawback/terms-2-partly-covered", "The version of the time of the event."),
    ("settlement_open/first", "settlement_open/terms-2-first", "The settlement keeps the version of its rates."),
    ("pay/records-5-money", "pay/terms-2-records-5", "In the compact form it is `tv`."),
];

/// The terms of the programme in a configuration, as a version stores them.
fn programme(config: &Json) -> Json {
    let mut terms = config.clone();
    for switch in ["uuid", "type", "key_phase", "due_shards", "staff", "approvals", "records", "cash"] {
        let _ = terms.as_object_mut().unwrap().remove(switch);
    }
    // What single accounts have is no part of a version.
    if let Some(limits) = terms.pointer_mut("/limits/M").and_then(Json::as_object_mut) {
        limits.retain(|name, _| name != "accounts" && name != "version");
    }
    terms
}

fn changed(config: Json) -> Json {
    with(with(config, "points_rate", n("0.05")), "co2_rate", n("0.02"))
}

/// A configuration with a version that follows its own terms.
fn followed(config: Json, (version, from): (&str, &str), next: &Json) -> Json {
    let next = json!({ "M": { "version": n(version), "from": s(from), "terms": { "M": programme(next) } } });
    with(with(config, "next_terms", next), "last_terms_version", n(version))
}

/// A configuration in which version 2 has been scheduled for a time.
fn scheduled(config: Json, from: &str) -> Json {
    let next = changed(config.clone());
    followed(config, ("2", from), &next)
}

/// A stored version, as its record has it.
fn record(version: &str, terms: &Json) -> Json {
    let attributes = json!({
        "version": n(version), "terms": { "M": programme(terms) }, "created_at": s(EARLIER), "from": s(FROM),
        "requested_by": s(OTHER_STAFF),
    });
    item("tenant", "root", &format!("JOB#terms#{version:0>10}"), attributes)
}

fn change_of(id: &'static str, why: &'static str, changes: &[(&str, Option<&str>)], from: &str) -> Case {
    let changes: BTreeMap<String, Option<String>> =
        changes.iter().map(|(field, to)| ((*field).to_owned(), to.map(str::to_owned))).collect();
    let claim = by_staff("terms_change", "/v1/admin/terms/changes", json!({ "from": from }));
    let (from, staff, reason) = (from.to_owned(), STAFF.to_owned(), Some("winter campaign".to_owned()));
    Case::new(id, why, Some(claim), Does::Terms(TermsDoes::Change { changes, from, staff, reason }))
}

fn change(id: &'static str, why: &'static str) -> Case {
    change_of(id, why, &[("points_rate", Some("0.05")), ("hold_hours", Some("48"))], FROM)
}

fn cancel(id: &'static str, why: &'static str) -> Case {
    let claim = by_staff("terms_cancel", "/v1/admin/terms/cancellation", json!({ "version": "2" }));
    let (version, staff) = ("2".to_owned(), STAFF.to_owned());
    Case::new(id, why, Some(claim), Does::Terms(TermsDoes::Cancel { version, staff, reason: None }))
}

/// Limits of the tenant, some of them with limits of single accounts.
fn limited(config: Json) -> Json {
    let of_customers = json!({ "M": { "ECOPAY": { "M": { "pay_day": n("2000") } } } });
    let limits = json!({ "M": { "accounts": { "BOOL": true }, "version": n("3"), "customer": of_customers } });
    with(config, "limits", limits)
}

fn with_all(config: Json) -> Json {
    let topup = json!({ "M": { "points_rate": n("0.01"), "abandoned_after_s": n("86400") } });
    with(with(limited(config), "card_pin_above", n("3000")), "topup", topup)
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = changes();
    all.extend(cancellations());
    all.extend(approvals());
    all.extend(payments());
    all.extend(under_2());
    all.extend(previews());
    all
}

fn changes() -> Vec<Case> {
    let begun = |from| with(scheduled(with_all(config()), from), "limits", limited(config())["limits"].clone());
    vec![
        change("terms/first", "The first change stores version 1 too, and changes nothing that holds at present.")
            .on([config()])
            .precedence(),
        change_of("terms/earliest", "As early as it can be.", &[("points_rate", Some("0.05"))], EARLIEST)
            .on([config()]),
        change_of(
            "terms/too-near",
            "A millisecond before that.",
            &[("points_rate", Some("0.05"))],
            "2026-11-21T03:09:59.999Z",
        )
        .on([config()])
        .ends("refused stale_plan"),
        change_of(
            "terms/of-everything",
            "Limits keep what accounts have of their own; a cleared field is left out.",
            &[
                ("card.pin_above", None),
                ("assets.ECOPAY.cap", None),
                ("limits.customer.ECOPAY.pay_day", Some("1000")),
                ("limits.card.ECOPAY.pay_operation", Some("500")),
                ("settlement.fee_rate", Some("0.03")),
                ("topup.points_rate", Some("0")),
            ],
            FROM,
        )
        .on([with_all(config())]),
        change("terms/next", "The version whose time has come is written into the configuration's own attributes.")
            .on([begun(BEGUN)]),
        change("terms/next-after-a-cancellation", "A number is given once.").on([with(
            config(),
            "last_terms_version",
            n("2"),
        )]),
        change("terms/while-scheduled", "One version is scheduled at most.")
            .on([scheduled(config(), FROM)])
            .ends("refused wrong_state"),
        change("terms/just-begun", "A request may still be planned under the version before.")
            .on([scheduled(config(), "2026-11-21T02:50:00.001Z")])
            .ends("refused wrong_state"),
        change("terms/while-migrating", "The legacy model has no versions.")
            .on([migrating(GOD_RECORD, 3)])
            .ends("refused wrong_state"),
        change("terms/scheduled-meanwhile", "Another version was stored: read again.")
            .seen([config()])
            .on([scheduled(config(), FROM)])
            .ends("rejected stale_plan by config"),
        Case::new(
            "terms/account-limits",
            "A version has limits where the configuration has none: what accounts have of their own begins.",
            None,
            Does::AccountLimits {
                account: OF_A.to_owned(),
                asset: "ECOPAY".to_owned(),
                changes: vec!["pay_day=5000".to_owned()],
                actor: BY_STAFF.to_owned(),
            },
        )
        .on([followed(config(), ("2", BEGUN), &limited(config())), wallet(A, "ECOPAY", "5000")]),
        change("terms/limits-changed-meanwhile", "The limits were changed: read again.")
            .seen([limited(config())])
            .on([with(config(), "limits", json!({ "M": { "version": n("4") } }))])
            .ends("rejected stale_plan by config"),
    ]
}

fn cancellations() -> Vec<Case> {
    let stored = || record("2", &changed(config()));
    vec![
        cancel("terms/cancelled", "Its record stays, and its number is not given again.")
            .on([scheduled(config(), FROM), stored()])
            .precedence(),
        cancel("terms/cancelled-at-the-last-instant", "Ten minutes before its time.")
            .on([scheduled(config(), EARLIEST), stored()]),
        cancel("terms/cancelled-too-late", "A process may have read it for what it plans at that time.")
            .on([scheduled(config(), "2026-11-21T03:09:59.999Z"), stored()])
            .ends("refused stale_plan"),
        cancel("terms/cancelled-in-force", "It holds already.")
            .on([scheduled(config(), NOW), stored()])
            .ends("refused wrong_state"),
        cancel("terms/cancelled-never-scheduled", "There is no such version.")
            .on([config()])
            .ends("refused wrong_state"),
        cancel("terms/cancelled-meanwhile", "Another person was first.")
            .seen([scheduled(config(), FROM)])
            .on([with(config(), "last_terms_version", n("2")), stored()])
            .ends("rejected stale_plan by config"),
    ]
}

fn approvals() -> Vec<Case> {
    let required = || with(with(config(), "staff", s("records")), "approvals", s("required"));
    let owner = |id, email| member(id, email, &["owner"], "active");
    let command = || {
        let change =
            |field: &str, from: &str, to: &str| json!({ "M": { "field": s(field), "from": s(from), "to": s(to) } });
        json!({
            "kind": s("terms_change"), "from": s(FROM), "seen": n("1"),
            "changes": { "L": [
                json!({ "M": { "field": s("grant_limits.POINT"), "to": s("500") } }), change("points_rate", "0.01", "0.05"),
            ] },
        })
    };
    let stored = |command: Json| {
        let attributes = json!({
            "approval_id": s(APPROVAL), "command": { "M": command }, "requested_by": s(OTHER_STAFF),
            "state": s("pending"), "expires_at": s("2026-11-27T03:00:00.000Z"), "created_at": s(EARLIER),
            "reason": s("winter campaign"),
        });
        item("tenant", "root", &format!("APPROVAL#{APPROVAL}"), attributes)
    };
    let approve = |id, why, command: Json| {
        let claim = by_staff("approval_approve", &format!("/v1/admin/approvals/{APPROVAL}/approve"), json!({}));
        let does = ApprovalDoes::Approve { by: STAFF.to_owned(), approval: APPROVAL.to_owned() };
        Case::new(id, why, Some(claim), Does::Approval(does)).on([
            stored(command),
            owner(STAFF, "hanako@example.com"),
            owner(OTHER_STAFF, "yuki@example.com"),
        ])
    };
    let claim = by_staff("terms_change", "/v1/admin/terms/changes", json!({ "from": FROM }));
    let does =
        ApprovalDoes::Request { by: STAFF.to_owned(), command: command(), reason: Some("winter campaign".to_owned()) };
    let cancellation = || json!({ "kind": s("terms_cancel"), "version": n("2") });
    vec![
        Case::new(
            "approval_request/terms",
            "The values that were seen are a part of the command.",
            Some(claim),
            Does::Approval(does),
        )
        .on([required(), owner(STAFF, "hanako@example.com")]),
        approve("approval_approve/terms", "The record names both people.", command()).on([required()]),
        approve("approval_approve/terms-stale", "Another version was stored since.", command())
            .on([scheduled(required(), FROM)]),
        approve("approval_approve/terms-differ", "A field has another value than was seen.", command()).on([with(
            required(),
            "points_rate",
            n("0.02"),
        )]),
        approve("approval_approve/terms-too-near", "Its time is too near, and only comes nearer.", {
            with(command(), "from", s("2026-11-21T03:09:59.999Z"))
        })
        .on([required()]),
        approve(
            "approval_approve/terms-scheduled-meanwhile",
            "Another version is stored while it is approved.",
            command(),
        )
        .seen([required()])
        .on([scheduled(required(), FROM)])
        .ends("rejected stale_plan by config"),
        approve("approval_approve/terms-cancel", "The scheduled version is cancelled.", cancellation())
            .on([scheduled(required(), FROM), record("2", &changed(config()))]),
        approve("approval_approve/terms-cancel-stale", "It is not scheduled any more.", cancellation()).on([with(
            required(),
            "last_terms_version",
            n("2"),
        )]),
    ]
}

/// The same payment before, at and after the time of a version.
fn payments() -> Vec<Case> {
    let money = |id, why, config: Json, points: &'static str, issued: &'static str| {
        let of = pay::cases().into_iter().find(|case| case.id == "pay/money").unwrap();
        let mut given = of.given.clone();
        given.state.retain(|item| item["type"] != s("CONFIG"));
        given.state.push(config);
        let mut effects = of.effects.clone();
        for (account, asset, change) in &mut effects {
            if *asset == "POINT" {
                *change = if account == OF_A { points } else { issued };
            }
        }
        Case { id, why, given, effects, ..of }
    };
    let folded = || with(with(changed(config()), "terms_version", n("2")), "last_terms_version", n("2"));
    vec![
        money(
            "pay/terms-before",
            "A millisecond before the time.",
            scheduled(config(), "2026-11-21T03:00:00.001Z"),
            "17",
            "-17",
        ),
        money("pay/terms-from", "From the time on, the estimate too.", scheduled(config(), NOW), "87", "-87"),
        money("pay/terms-folded", "The version in the configuration's own attributes.", folded(), "87", "-87"),
        money(
            "pay/terms-folded-before-the-next",
            "Version 3 is scheduled.",
            followed(folded(), ("3", FROM), &config()),
            "87",
            "-87",
        ),
    ]
}

/// Cases of the first version whose configuration has version 2 in its own attributes, with the same terms.
fn under_2() -> Vec<Case> {
    let payments = [pay::cases(), holds::cases(), holds_ended::cases(), refund::cases(), cards::cases()];
    let topups =
        [topup::cases(), topup_events::cases(), topup_refund::cases(), topup_refund_events::cases(), clawback::cases()];
    let others =
        [transfer::cases(), grants::cases(), admin::cases(), settlements_admin::cases(), super::entries::cases()];
    let all: Vec<Case> = payments.into_iter().chain(topups).chain(others).flatten().collect();
    let of = |(of, id, why): (&str, &'static str, &'static str)| {
        let case = all.iter().find(|case| case.id == of).unwrap_or_else(|| panic!("no case {of}"));
        let mut given = case.given.clone();
        for item in &mut given.state {
            let sk = item["type"]["S"].as_str().unwrap();
            if sk == "CONFIG" || sk == "TOPUP" || sk.starts_with("REFUND#") {
                item["terms_version"] = n("2");
            }
        }
        Case { id, why, given, version: "v1", effects: case.effects.clone(), ..*case }
    };
    UNDER_2.into_iter().map(of).collect()
}

const PREVIEW: &str = "019a9700-0000-7000-8000-0000000000c1";

/// A preview that a worker with this token has, or had.
fn stored_preview(fence: &str, lease_until: &str) -> Json {
    let attributes = json!({
        "preview_id": s(PREVIEW), "state": s(if fence == "0" { "requested" } else { "running" }), "requested_by": s(STAFF),
        "created_at": s("2026-11-21T02:58:00.000Z"), "from": s("2026-11-14T15:00:00.000Z"), "terms_version": n("1"),
        "fence": n(fence), "lease_until": s(lease_until),
    });
    item("tenant", "root", &format!("JOB#preview#{PREVIEW}"), attributes)
}

/// The steps of a preview: requested, taken by one worker at a time, ended with its result or without.
fn previews() -> Vec<Case> {
    let requested = |id: &'static str, why: &'static str, changes: &[(&str, Option<&str>)], days: u32| {
        let changes: BTreeMap<String, Option<String>> =
            changes.iter().map(|(field, to)| ((*field).to_owned(), to.map(str::to_owned))).collect();
        let claim = by_staff("terms_preview", "/v1/admin/terms/previews", json!({ "days": days.to_string() }));
        let does = TermsDoes::Preview { changes, days, staff: STAFF.to_owned() };
        Case::new(id, why, Some(claim), Does::Terms(does)).on([config()])
    };
    let step = |id: &'static str, why: &'static str, does: TermsDoes| Case::new(id, why, None, Does::Terms(does));
    let preview = || PREVIEW.to_owned();
    let take = |id, why| step(id, why, TermsDoes::PreviewTake { preview: preview() });
    let side = |points: &str| {
        json!({ "M": {
            "accepted": n("2"), "refused": { "M": { "limit_exceeded": n("1") } }, "paid_ecopay": n("1500"),
            "points": n(points), "fee": n("15"), "tax": n("1"),
        } })
    };
    let result = json!({
        "made": side("15"), "planned": side("30"), "differing": n("1"),
        "differences": { "L": [{ "M": {
            "id": s("019a0000-0000-7000-8000-0000000000d1"), "made_points": n("15"), "planned_points": n("30"),
        } }] },
    });
    let finish = |ended| TermsDoes::PreviewFinish { preview: preview(), ended, payments: 3 };
    let begun = || stored_preview("1", "2026-11-21T03:01:00.000Z");
    vec![
        requested(
            "preview/request",
            "A change of two fields, of a week.",
            &[("points_rate", Some("0.02")), ("card.pin_above", Some("0"))],
            7,
        ),
        requested("preview/request-as-is", "The terms as they are, of the present day.", &[], 1),
        requested("preview/request-no-day", "At least a day.", &[], 0).ends("invalid days: must be 1 to 31"),
        requested("preview/request-too-long", "31 days at most.", &[], 32).ends("invalid days: must be 1 to 31"),
        take("preview/taken", "By the first worker.").on([stored_preview("0", "2026-11-21T02:58:00.000Z")]),
        take("preview/taken-from-a-dead-worker", "Its lease is over.")
            .on([stored_preview("3", "2026-11-21T02:59:59.999Z")]),
        take("preview/not-taken", "Another worker has it.").on([begun()]),
        step("preview/progress", "Renews the lease.", TermsDoes::PreviewProgress { preview: preview(), payments: 500 })
            .on([begun()]),
        step("preview/finished", "With its result.", finish(Ok(result))).on([begun()]),
        step(
            "preview/finished-without",
            "More payments than it may have.",
            finish(Err("too_many_payments".to_owned())),
        )
        .on([begun()]),
    ]
}
