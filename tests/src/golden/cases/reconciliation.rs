//! A reconciliation run: one worker at a time, breaks stored under the run, and one adjustment for each break.

use super::Case;
use super::world::*;
use crate::golden::build_reconcile::{BreakJson, ReconcileDoes};
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

const RUN: &str = "019a9700-0000-7000-8000-0000000000a1";
const FINDING: &str = "019a9700-0000-7000-8000-0000000000b1";
const LATER: &str = "2026-11-21T03:01:00.000Z";
const REPORT: &str = "demo/reconciliation-019a9700-0000-7000-8000-0000000000a1.jsonl";

fn of_run(id: &'static str, why: &'static str, does: ReconcileDoes) -> Case {
    Case::new(id, why, None, Does::Reconcile(does))
}

fn take(id: &'static str, why: &'static str) -> Case {
    of_run(id, why, ReconcileDoes::Take { run: RUN.to_owned() })
}

fn progress(id: &'static str, why: &'static str) -> Case {
    let does = ReconcileDoes::Progress { run: RUN.to_owned(), items: "1000".to_owned(), units: "125".to_owned() };
    of_run(id, why, does)
}

fn finish(id: &'static str, why: &'static str, state: &str, breaks: &[(&str, &str)], file: Option<&str>) -> Case {
    let breaks = breaks.iter().map(|(kind, count)| ((*kind).to_owned(), (*count).to_owned())).collect();
    let file = file.map(str::to_owned);
    of_run(id, why, ReconcileDoes::Finish { run: RUN.to_owned(), state: state.to_owned(), breaks, file })
}

fn answer(id: &'static str, why: &'static str) -> Case {
    let path = format!("/v1/admin/reconciliation/runs/{RUN}/findings/{FINDING}/adjustment");
    let claim = by_staff("adjustment_request", &path, json!({ "note": "counted twice" }));
    let does = ReconcileDoes::Answer {
        staff: STAFF.to_owned(),
        run: RUN.to_owned(),
        finding: FINDING.to_owned(),
        note: "counted twice".to_owned(),
    };
    Case::new(id, why, Some(claim), Does::Reconcile(does))
}

/// A run with a lease holder; a requested run has none.
fn run(state: &str, fence: &str, lease_until: &str) -> Json {
    let attributes = json!({
        "run_id": s(RUN), "state": s(state), "fence": n(fence), "lease_until": s(lease_until), "created_at": s(EARLIER),
        "due_pk": s("demo#due#reconciliation#0"), "due_sk": s(format!("{EARLIER}#{RUN}")),
    });
    item("tenant", "root", &format!("RECONCILIATION#{RUN}"), attributes)
}

fn running() -> Json {
    with(run("running", "1", LATER), "began_at", s(EARLIER))
}

/// A run that has found breaks, not announced yet.
fn unannounced() -> Json {
    with(with(running(), "state", s("breaks")), "stored", n("2"))
}

fn over() -> Json {
    without(without(unannounced(), "due_pk"), "due_sk")
}

fn stored_break() -> Json {
    let attributes = json!({
        "finding_id": s(FINDING), "kind": s("balance_differs"), "subject": s(OF_A), "asset": s("ECOPAY"),
        "expected": s("1000"), "found": s("1001"), "evidence": { "L": [] }, "proposed": n("-1"),
    });
    item("tenant", "root", &format!("BREAK#{RUN}#{FINDING}"), attributes)
}

fn breaks() -> Vec<BreakJson> {
    let of = |kind: &str, subject: &str| BreakJson {
        kind: kind.to_owned(),
        subject: subject.to_owned(),
        asset: None,
        expected: "an entry".to_owned(),
        found: "none".to_owned(),
        evidence: vec![format!("transaction:{TXN}")],
        follows: None,
        proposed: None,
        seen_corrections: None,
        seen_corrected_at: None,
    };
    let balance = BreakJson {
        asset: Some("ECOPAY".to_owned()),
        expected: "1000".to_owned(),
        found: "1001".to_owned(),
        evidence: Vec::new(),
        proposed: Some("-1".to_owned()),
        ..of("balance_differs", OF_A)
    };
    let transaction = format!("transaction:{TXN}");
    let missing = of("entry_missing", &transaction);
    let follows = BreakJson { follows: Some(transaction), ..of("payment_differs", &format!("payment:{PAYMENT}")) };
    vec![balance, missing, follows]
}

/// The first balance has never been corrected, the second has.
fn counted_breaks() -> Vec<BreakJson> {
    let balance = breaks().remove(0);
    let never = BreakJson { seen_corrections: Some("0".to_owned()), ..balance.clone() };
    let before = BreakJson {
        subject: OF_B.to_owned(),
        seen_corrections: Some("2".to_owned()),
        seen_corrected_at: Some(EARLIER.to_owned()),
        ..balance
    };
    vec![never, before]
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = begun();
    all.extend(at_work());
    all.extend(answers());
    all
}

fn begun() -> Vec<Case> {
    let claim = by_staff("reconciliation_request", "/v1/admin/reconciliation/runs", json!({}));
    let request = Does::Reconcile(ReconcileDoes::Request { staff: STAFF.to_owned() });
    let late = |case: Case| {
        let mut case = case;
        "2026-11-20T18:00:00.000Z".clone_into(&mut case.given.now);
        case
    };
    vec![
        Case::new("reconciliation/request", "An operator asks for a run; a worker finds it due.", Some(claim), request),
        late(of_run("reconciliation/night", "The night's run has one id, whoever begins it.", ReconcileDoes::Night {})),
        take("reconciliation/take-first", "Nobody has been at it.").on([run("requested", "0", EARLIER)]),
        take("reconciliation/take-over", "Whoever was at it has been silent for the lease: it is begun again.")
            .on([with(run("running", "1", NOW), "began_at", s(EARLIER))]),
        take("reconciliation/take-held", "Somebody is at it: there is nothing to do.").on([running()]),
        take("reconciliation/take-over-ended", "It is over: there is nothing to do.").on([over()]),
        take("reconciliation/take-renewed", "Whoever was at it was only slow, and renewed its lease in between.")
            .seen([run("running", "1", NOW)])
            .on([running()])
            .ends("rejected stale_plan by reconciliation"),
        take("reconciliation/take-overtaken", "Another took it first.")
            .seen([run("requested", "0", EARLIER)])
            .on([running()])
            .ends("rejected stale_plan by reconciliation"),
    ]
}

fn at_work() -> Vec<Case> {
    let store = |id, why| {
        let does = ReconcileDoes::Store { run: RUN.to_owned(), first: "50".to_owned(), breaks: breaks() };
        of_run(id, why, does)
    };
    let lost = "rejected stale_plan by reconciliation";
    let by_another = || run("running", "2", LATER);
    vec![
        progress("reconciliation/progress", "How far it is, and that its worker is alive.").on([running()]),
        progress("reconciliation/progress-lost", "Another has it by now.")
            .seen([running()])
            .on([by_another()])
            .ends(lost),
        store("reconciliation/store", "Breaks under ids that follow from the run and their number.").on([running()]),
        of_run(
            "reconciliation/store-counted",
            "A break keeps the version of the balance's corrections that was read with the balance.",
            ReconcileDoes::Store { run: RUN.to_owned(), first: "0".to_owned(), breaks: counted_breaks() },
        )
        .on([running()]),
        store("reconciliation/store-lost", "Another has it by now: nothing of it is stored.")
            .seen([running()])
            .on([by_another()])
            .ends(lost),
        finish("reconciliation/finish-clean", "Nothing is wrong. It is due no more.", "clean", &[], None)
            .on([running()]),
        finish(
            "reconciliation/finish-breaks",
            "Breaks are counted by kind, and the report is named.",
            "breaks",
            &[("balance_differs", "1"), ("entry_missing", "2")],
            Some(REPORT),
        )
        .on([running()])
        .supersedes(),
        of_run(
            "reconciliation/told",
            "Somebody has been told of the breaks: it is due no more.",
            ReconcileDoes::Told { run: RUN.to_owned() },
        )
        .on([unannounced()]),
        finish(
            "reconciliation/finish-lost",
            "Another has it by now, and will say what it comes to.",
            "clean",
            &[],
            None,
        )
        .seen([running()])
        .on([by_another()])
        .ends(lost),
    ]
}

fn answers() -> Vec<Case> {
    vec![
        answer("reconciliation/answer", "The proposal is asked for; nothing moves until another approves it.")
            .on([over(), stored_break()]),
        answer("reconciliation/answer-counted", "The request keeps the version that the run read.")
            .on([over(), with(with(stored_break(), "seen_corrections", n("1")), "seen_corrected_at", s(EARLIER))]),
        answer("reconciliation/answer-again", "It has been asked for.")
            .on([over(), with(stored_break(), "adjustment_id", s(PAYMENT))])
            .ends("rejected already_exists by reconciliation"),
    ]
}
