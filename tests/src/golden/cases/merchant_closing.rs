//! Terminals and merchants that are closed, and what is refused of them then.

use super::Case;
use super::world::*;
use crate::golden::build_merchants::ClosingDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

const LONG_AGO: &str = "2026-11-21T02:55:00.000Z";
const A_MOMENT_AGO: &str = "2026-11-21T02:55:00.001Z";
const SHOP: &str = "019a0000-0000-7000-8000-0000000000c1";

fn config_7() -> Json {
    with(config(), "records", n("7"))
}

fn closed(record: Json) -> Json {
    with(record, "closed_at", s(EARLIER))
}

fn closing(since: &str) -> Json {
    with(with(merchant(), "status", s("suspended")), "closing_at", s(since))
}

fn settling(open: bool) -> Json {
    let settling = item("merchant", MERCHANT, "SETTLING", json!({ "updated_at": s(EARLIER) }));
    if open { with(settling, "open", s(SHOP)) } else { settling }
}

fn terminal_close(id: &'static str, why: &'static str) -> Case {
    let path = format!("/v1/admin/terminals/{TERMINAL}/close");
    let claim = by_staff("terminal_close", &path, json!({ "reason": "given up" }));
    let does = ClosingDoes::Terminal { terminal: TERMINAL.to_owned(), actor: BY_STAFF.to_owned() };
    Case::new(id, why, Some(claim), Does::Closing(does)).on([config_7()])
}

fn merchant_close(id: &'static str, why: &'static str, open: &[&str]) -> Case {
    let path = format!("/v1/admin/merchants/{MERCHANT}/close");
    let claim = by_staff("merchant_close", &path, json!({ "reason": "given up" }));
    let open = open.iter().map(|name| (*name).to_owned()).collect();
    let does = ClosingDoes::Merchant { merchant: MERCHANT.to_owned(), open, actor: BY_STAFF.to_owned() };
    Case::new(id, why, Some(claim), Does::Closing(does)).on([config_7()])
}

fn shop() -> Json {
    let attributes = json!({
        "shop_id": s(SHOP), "merchant_id": s(MERCHANT), "name": s("Station"), "state": s("open"), "assigned": n("2"),
        "created_at": s(EARLIER), "updated_at": s(EARLIER),
    });
    item("merchant", MERCHANT, &format!("SHOP#{SHOP}"), attributes)
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = of_terminals();
    all.extend(of_merchants());
    all.extend(refused());
    all
}

fn of_terminals() -> Vec<Case> {
    vec![
        terminal_close("terminal_close/till", "A till without cash room.").on([terminal()]),
        terminal_close("terminal_close/till-of-a-shop", "The shop counts it no more.")
            .on([with(with(terminal(), "shop_id", s(SHOP)), "cash_room", n("0")), shop()]),
        terminal_close("terminal_close/with-room", "Its cash room must be withdrawn.")
            .on([with(terminal(), "cash_room", n("1"))])
            .ends("still open cash_room"),
        terminal_close("terminal_close/again", "Closed is final.").on([closed(terminal())]).ends("refused wrong_state"),
        terminal_close("terminal_close/enrolled-meanwhile", "It was enrolled since it was read.")
            .seen([terminal()])
            .on([with(terminal(), "epoch", n("2"))])
            .ends("rejected stale_plan by profile"),
        terminal_close("terminal_close/room-meanwhile", "It was allotted room since it was read.")
            .seen([terminal()])
            .on([with(terminal(), "cash_room", n("1"))])
            .ends("rejected stale_plan by profile"),
    ]
}

fn of_merchants() -> Vec<Case> {
    vec![
        merchant_close("merchant_close/begun", "It is suspended, and refunds nothing.", &[]).on([merchant()]),
        merchant_close("merchant_close/begun-twice", "Another request began it since it was read.", &[])
            .seen([merchant()])
            .on([closing(LONG_AGO)])
            .ends("rejected stale_plan by profile"),
        merchant_close("merchant_close/never-settled", "Five minutes later.", &[]).on([closing(LONG_AGO)]),
        merchant_close("merchant_close/settled", "Its last settlement has ended.", &[])
            .on([closing(LONG_AGO), settling(false)]),
        merchant_close("merchant_close/owed", "What was read of other items.", &["balance:ECOPAY"])
            .on([closing(LONG_AGO)])
            .ends("still open balance:ECOPAY"),
        merchant_close("merchant_close/too-early", "A millisecond before.", &[])
            .on([closing(A_MOMENT_AGO)])
            .ends("still open payments"),
        merchant_close("merchant_close/settling", "A settlement is open.", &[])
            .on([closing(LONG_AGO), settling(true)])
            .ends("still open settlement"),
        merchant_close("merchant_close/settling-meanwhile", "A settlement was opened since it was read.", &[])
            .seen([settling(false)])
            .on([closing(LONG_AGO), settling(true)])
            .ends("rejected stale_plan by settlement"),
        merchant_close("merchant_close/given-up-meanwhile", "It was made active since it was read.", &[])
            .seen([closing(LONG_AGO)])
            .on([merchant()])
            .ends("rejected stale_plan by profile"),
        merchant_close("merchant_close/again", "Closed is final.", &[])
            .on([closed(closing(LONG_AGO))])
            .ends("refused wrong_state"),
    ]
}

/// What a closed terminal or merchant does not do, in tenants whose records have that.
fn refused() -> Vec<Case> {
    let actor = || BY_STAFF.to_owned();
    let at = format!("/v1/admin/terminals/{TERMINAL}");
    let unfreeze = || {
        let (terminal, status) = (TERMINAL.to_owned(), "active".to_owned());
        Does::TerminalStatus { terminal, status, actor: actor(), reason: None }
    };
    let unfreezing = || by_staff("terminal_patch", &at, json!({ "status": "active" }));
    let code = || Does::EnrolmentCode { terminal: TERMINAL.to_owned(), actor: actor(), permit: None };
    let coding = || by_staff("enrolment_code", &format!("{at}/enrolment"), json!({}));
    vec![
        Case::new("terminal_close/unfrozen-before", "A terminal that is not closed.", Some(unfreezing()), unfreeze())
            .on([config_7(), with(terminal(), "state", s("frozen"))]),
        Case::new("terminal_close/unfrozen", "It stays frozen.", Some(unfreezing()), unfreeze())
            .on([config_7(), closed(terminal())])
            .ends("rejected wrong_state by profile"),
        Case::new("terminal_close/code-before", "A terminal that is not closed.", Some(coding()), code())
            .on([config_7(), terminal()]),
        Case::new("terminal_close/code", "No device becomes it again.", Some(coding()), code())
            .on([config_7(), closed(terminal())])
            .ends("rejected wrong_state by profile"),
    ]
}
