//! Cards, merchants, terminals and tenants: registration and changes, and a terminal's enrolment. They move no value.

use super::Case;
use super::world::*;
use crate::golden::build_scale::ScaleDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

/// `demo.<terminal>.` and base64url of the bytes 0 to 15.
const CODE: &str = "demo.019a0000-0000-7000-8000-0000000000d1.AAECAwQFBgcICQoLDA0ODw";
/// The SHA-256 of [`CODE`].
const HASH: &str = "54b645d8d663e9800efd9a88a04ea7cfa1aaa20f39791dedaa3bc8e050757bef";

fn issue(id: &'static str, why: &'static str, owner: Option<&str>) -> Case {
    let claim = by_staff("card_issue", "/v1/admin/cards", json!({}));
    let does = Does::CardIssue { owner: owner.map(str::to_owned), actor: BY_STAFF.to_owned() };
    Case::new(id, why, Some(claim), does)
}

fn merchant_open(id: &'static str, why: &'static str) -> Case {
    let claim = by_staff("merchant_open", "/v1/admin/merchants", json!({ "name": "Aoba Bakery" }));
    let (name, shards, actor) = ("Aoba Bakery".to_owned(), "2".to_owned(), BY_STAFF.to_owned());
    Case::new(id, why, Some(claim), Does::MerchantOpen { name, shards, actor })
}

fn merchant_patch(id: &'static str, why: &'static str, name: Option<&str>, status: Option<&str>) -> Case {
    let claim = by_staff("merchant_patch", &format!("/v1/admin/merchants/{MERCHANT}"), json!({}));
    let does = Does::MerchantPatch {
        merchant: MERCHANT.to_owned(),
        name: name.map(str::to_owned),
        status: status.map(str::to_owned),
        actor: BY_STAFF.to_owned(),
        reason: Some("closed for good".to_owned()),
    };
    Case::new(id, why, Some(claim), does)
}

fn merchant_shards(id: &'static str, why: &'static str, shards: &str) -> Case {
    let path = format!("/v1/admin/merchants/{MERCHANT}");
    let claim = by_staff("merchant_patch", &path, json!({ "shards": shards }));
    let (merchant, shards, actor) = (MERCHANT.to_owned(), shards.to_owned(), BY_STAFF.to_owned());
    Case::new(id, why, Some(claim), Does::Scale(ScaleDoes::Merchant { merchant, shards, actor }))
}

fn due_shards(id: &'static str, why: &'static str, to: &str) -> Case {
    Case::new(id, why, None, Does::Scale(ScaleDoes::Tenant { due_shards: to.to_owned(), actor: "system".to_owned() }))
}

fn terminal_open(id: &'static str, why: &'static str) -> Case {
    let claim = by_staff("terminal_open", "/v1/admin/terminals", json!({ "merchant_id": MERCHANT }));
    Case::new(id, why, Some(claim), Does::TerminalOpen { merchant: MERCHANT.to_owned(), actor: BY_STAFF.to_owned() })
}

fn terminal_status(id: &'static str, why: &'static str, status: &str) -> Case {
    let claim = by_staff("terminal_patch", &format!("/v1/admin/terminals/{TERMINAL}"), json!({ "status": status }));
    let does = Does::TerminalStatus {
        terminal: TERMINAL.to_owned(),
        status: status.to_owned(),
        actor: BY_STAFF.to_owned(),
        reason: None,
    };
    Case::new(id, why, Some(claim), does)
}

fn enrolment(id: &'static str, why: &'static str) -> Case {
    let claim = by_staff("enrolment_code", &format!("/v1/admin/terminals/{TERMINAL}/enrolment"), json!({}));
    let (terminal, actor) = (TERMINAL.to_owned(), BY_STAFF.to_owned());
    Case::new(id, why, Some(claim), Does::EnrolmentCode { terminal, actor, permit: None })
}

fn permit(staff: &str) -> Json {
    with(with(terminal(), "code_for", s(staff)), "code_until", s("2026-11-22T02:00:00.000Z"))
}

/// A code that needs the permit of an approval.
fn permitted(id: &'static str, why: &'static str) -> Case {
    let mut case = enrolment(id, why);
    let (terminal, actor) = (TERMINAL.to_owned(), BY_STAFF.to_owned());
    case.given.command.does = Does::EnrolmentCode { terminal, actor, permit: Some(STAFF.to_owned()) };
    case
}

fn enrol(id: &'static str, why: &'static str) -> Case {
    Case::new(id, why, None, Does::Enrol { code: CODE.to_owned(), public_key: "a public key as PEM".to_owned() })
}

fn enrol_on_record(id: &'static str, why: &'static str, request_id: Option<&str>) -> Case {
    let (code, public_key) = (CODE.to_owned(), "a public key as PEM".to_owned());
    Case::new(id, why, None, Does::EnrolOnRecord { code, public_key, request_id: request_id.map(str::to_owned) })
}

fn slot() -> Json {
    code_slot("terminal", TERMINAL, "ENROLMENT", HASH, "2026-11-21T03:00:00.001Z")
}

fn phase(id: &'static str, why: &'static str) -> Case {
    let (from, to) = ("mandatory".to_owned(), "optional".to_owned());
    Case::new(id, why, None, Does::KeyPhase { from, to, actor: BY_STAFF.to_owned() })
}

fn terms() -> Json {
    without(without(config(), "uuid"), "type")
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = registered();
    all.extend(enrolments());
    all.extend(tenants());
    all
}

fn registered() -> Vec<Case> {
    vec![
        issue("card_issue/to-nobody", "A card that is nobody's.", None),
        issue("card_issue/to-a-customer", "A customer's card.", Some(A)).on([profile(A, "2")]),
        issue("card_issue/owner-missing", "There is no such customer.", Some(A))
            .ends("rejected account_missing by profile"),
        issue("card_issue/exists", "Nothing that stands is written over.", None)
            .on([item("card", RESOURCE, "card", json!({ "balance": n("5000"), "state": s("active") }))])
            .ends("rejected already_exists by card"),
        merchant_open("merchant_open/opened", "A merchant on two shards, which is listed.").supersedes(),
        merchant_open("merchant_open/exists", "Nothing that stands is written over.")
            .on([item("merchant", RESOURCE, "PROFILE", json!({ "name": s("Another") }))])
            .ends("rejected already_exists by profile")
            .supersedes(),
        merchant_patch("merchant_patch/suspend", "It takes no payments.", None, Some("suspended")).on([merchant()]),
        merchant_patch("merchant_patch/rename", "Another name.", Some("Aoba Café"), None).on([merchant()]),
        merchant_patch("merchant_patch/missing", "There is no such merchant.", None, Some("suspended"))
            .ends("rejected account_missing by profile"),
        merchant_shards("merchant_patch/shards-raised", "More shards for its payments.", "8").on([merchant()]),
        merchant_shards("merchant_patch/shards-as-they-are", "The number that it has changes nothing.", "2")
            .on([merchant()]),
        merchant_shards(
            "merchant_patch/shards-lowered",
            "Records on the upper shards would not be found any more.",
            "1",
        )
        .on([merchant()])
        .ends("rejected wrong_state by profile"),
        merchant_shards("merchant_patch/shards-of-nobody", "There is no such merchant.", "8")
            .ends("rejected account_missing by profile"),
        terminal_open("terminal_open/opened", "A merchant's terminal, not enrolled yet.").on([merchant()]),
        terminal_open("terminal_open/merchant-missing", "There is no such merchant.")
            .ends("rejected account_missing by profile"),
        terminal_status("terminal_patch/freeze", "It may not operate.", "frozen").on([terminal()]),
        terminal_status("terminal_patch/unfreeze", "It may again.", "active").on([with(
            terminal(),
            "state",
            s("frozen"),
        )]),
        terminal_status("terminal_patch/missing", "There is no such terminal.", "frozen")
            .ends("rejected account_missing by profile"),
    ]
}

fn enrolments() -> Vec<Case> {
    vec![
        enrolment("enrolment_code/issued", "The table holds the code's hash only.").on([terminal()]),
        enrolment("enrolment_code/missing", "There is no such terminal.").ends("rejected account_missing by profile"),
        permitted("enrolment_code/permitted", "The permit of the approval is used up.").on([permit(STAFF)]),
        permitted("enrolment_code/permitted-to-another", "The permit is another person's.")
            .on([permit(OTHER_STAFF)])
            .ends("rejected stale_plan by profile"),
        permitted("enrolment_code/permit-used", "One permit, one code.")
            .on([terminal()])
            .ends("rejected stale_plan by profile"),
        permitted("enrolment_code/permit-expired", "At the instant of its end.")
            .on([with(permit(STAFF), "code_until", s(NOW))])
            .ends("rejected stale_plan by profile"),
        enrol("enrol/enrolled", "The code is consumed and a new epoch begins.").on([terminal(), slot()]),
        enrol("enrol/first", "The first epoch.").on([with(terminal(), "epoch", n("0")), slot()]),
        enrol_on_record(
            "enrol_on_record/again",
            "The trail names the epoch and the request.",
            Some("JKJaXmPLvHcESHA="),
        )
        .on([terminal(), slot()]),
        enrol_on_record("enrol_on_record/first", "The first epoch; the request has no id.", None)
            .on([with(terminal(), "epoch", n("0")), slot()]),
        enrol_on_record("enrol_on_record/used", "A code works once, and is on the trail once.", None)
            .on([terminal(), with(slot(), "state", s("used"))])
            .ends("rejected wrong_state by code"),
        enrol("enrol/used", "A code works once.")
            .on([terminal(), with(slot(), "state", s("used"))])
            .ends("rejected wrong_state by code"),
        enrol("enrol/expired", "A code works until the instant it expires at, not then.")
            .on([terminal(), with(slot(), "expires_at", s(NOW))])
            .ends("rejected wrong_state by code"),
        enrol("enrol/replaced", "A later code has taken the slot.")
            .on([terminal(), with(slot(), "token_hash", s("another"))])
            .ends("rejected account_missing by code"),
        enrol("enrol/never-issued", "A code that nobody issued.")
            .on([terminal()])
            .ends("rejected account_missing by code"),
        enrol("enrol/enrolled-meanwhile", "Another enrolment came in between.")
            .seen([terminal()])
            .on([with(terminal(), "epoch", n("2")), slot()])
            .ends("rejected stale_plan by profile"),
    ]
}

fn tenants() -> Vec<Case> {
    let open = |id, why| Case::new(id, why, None, Does::TenantOpen { terms: terms() });
    let limited = Does::TenantOpen { terms: with(terms(), "requests_per_second", n("50")) };
    vec![
        Case::new("tenant/opened-with-a-rate", "One with a limit of its own on its requests.", None, limited),
        open("tenant/opened", "A tenant's first configuration."),
        open("tenant/exists", "One that stands is not touched.")
            .on([with(config(), "points_rate", n("0.05"))])
            .ends("rejected already_exists by config"),
        phase("tenant/key-phase", "From the phase that was read to the other.").on([config()]),
        phase("tenant/key-phase-changed-meanwhile", "Another was first: read again.")
            .on([with(config(), "key_phase", s("optional"))])
            .ends("rejected stale_plan by config"),
        phase("tenant/key-phase-missing", "There is no such tenant.").ends("rejected account_missing by config"),
        due_shards("tenant/due-shards-raised", "More shards for due work, and an audit record.", "16").on([config()]),
        due_shards("tenant/due-shards-lowered", "Work on the upper shards would not be found any more.", "2")
            .on([config()])
            .ends("rejected wrong_state by config"),
        due_shards("tenant/due-shards-as-they-are", "Another raised them as high in between.", "4")
            .on([config()])
            .ends("rejected wrong_state by config"),
        due_shards("tenant/due-shards-missing", "There is no such tenant.", "16")
            .ends("rejected account_missing by config"),
    ]
}

/// Merchants and terminals under version 7 of the records.
pub(super) fn listed() -> Vec<Case> {
    let terms = || with(config(), "records", n("7"));
    vec![
        merchant_open("merchant_open/records-7-opened", "The name is looked up.").on([terms()]),
        merchant_patch("merchant_patch/records-7-renamed", "The name moves.", Some("Midori"), None)
            .on([terms(), merchant()]),
        merchant_patch("merchant_patch/records-7-suspended", "The name stays.", None, Some("suspended"))
            .on([terms(), merchant()]),
        terminal_open("terminal_open/records-7-opened", "It is listed, also among those of its merchant.")
            .on([terms(), merchant()]),
    ]
}
