//! A job that winds a tenant down: its start and stop, the close of an account with its line, and the progress.

use super::Case;
use super::world::*;
use crate::golden::build_merchants::ClosingDoes;
use crate::golden::build_wind_downs::WindDownDoes;
use crate::golden::command::Does;
use serde_json::{Value as Json, json};

const JOB: &str = "019a0000-0000-7000-8000-0000000000f1";
const PLACE_A: &str = "2026-11-20T03:00:00.000Z#019a0000-0000-7000-8000-00000000000a";
const PLACE_B: &str = "2026-11-20T03:00:00.000Z#019a0000-0000-7000-8000-00000000000b";

fn config_7() -> Json {
    with(config(), "records", n("7"))
}

fn job(shard: &str) -> Json {
    let attributes = json!({
        "wind_down_id": s(JOB), "staff_id": s(STAFF), "reason": s("the programme ends"), "shard": n(shard),
        "closed": n("4"), "open": n("1"), "created_at": s(EARLIER), "updated_at": s(EARLIER),
        "due_pk": s("demo#due#wind_down#0"), "due_sk": s(JOB),
    });
    item("tenant", "root", &format!("JOB#wind_down#{JOB}"), attributes)
}

fn line(state: &str, account: &str) -> Json {
    let attributes = json!({
        "account": s(account), "state": s(state), "rest": { "M": {} }, "open": { "L": [] }, "created_at": s(EARLIER),
    });
    item("tenant", "root", &format!("JOB#wind_down_line#{JOB}#{state}#{account}"), attributes)
}

fn unowned(balance: &str) -> Json {
    without(with(card(balance), "updated_at", s(EARLIER)), "owner")
}

fn does(step: WindDownDoes) -> Does {
    Does::Closing(ClosingDoes::WindDown(step))
}

fn start(id: &'static str, why: &'static str) -> Case {
    let claim = by_staff("wind_down", "/v1/admin/wind-downs", json!({ "reason": "the programme ends" }));
    Case::new(id, why, Some(claim), does(WindDownDoes::Start { actor: BY_STAFF.to_owned() }))
}

fn stop(id: &'static str, why: &'static str) -> Case {
    let path = format!("/v1/admin/wind-downs/{JOB}/stop");
    let claim = by_staff("wind_down_stop", &path, json!({ "reason": "the programme ends" }));
    let step = WindDownDoes::Stop { job: JOB.to_owned(), actor: BY_OTHER.to_owned() };
    Case::new(id, why, Some(claim), does(step))
}

fn close(id: &'static str, why: &'static str, account: &str) -> Case {
    let path = format!("/v1/admin/wind-downs/{JOB}");
    let claim =
        keyed(by_staff("wind_down", &path, json!({ "account": account })), &format!("wind_down:{JOB}:{account}"));
    let step = WindDownDoes::Close { job: JOB.to_owned(), account: account.to_owned() };
    Case::new(id, why, Some(claim), does(step)).on([config_7(), job("4")])
}

fn advance(id: &'static str, why: &'static str, places: &[&str], limit: usize) -> Case {
    let step = WindDownDoes::Advance {
        job: JOB.to_owned(),
        places: places.iter().map(|place| (*place).to_owned()).collect(),
        limit,
        closed: places.len(),
        open: Vec::new(),
    };
    Case::new(id, why, None, does(step)).on([config_7()])
}

fn advance_with_open(id: &'static str, why: &'static str) -> Case {
    let step = WindDownDoes::Advance {
        job: JOB.to_owned(),
        places: vec![PLACE_B.to_owned(), PLACE_A.to_owned()],
        limit: 2,
        closed: 1,
        open: vec![(OF_A.to_owned(), vec!["held:ECOPAY".to_owned(), "cards".to_owned()])],
    };
    Case::new(id, why, None, does(step)).on([config_7()])
}

pub(super) fn cases() -> Vec<Case> {
    [started(), stopped(), closed(), advanced()].into_iter().flatten().collect()
}

fn started() -> Vec<Case> {
    vec![
        start("wind_down_start/stored", "The job is due at once.").on([config_7()]).precedence(),
        start("wind_down_start/before-records-7", "There are no lists to walk.")
            .on([config()])
            .ends("refused wrong_state"),
    ]
}

fn stopped() -> Vec<Case> {
    vec![
        stop("wind_down_stop/stopped", "It is not due any more.").on([config_7(), job("4")]).precedence(),
        stop("wind_down_stop/stopped-before", "Once is enough.")
            .on([config_7(), with(job("4"), "stopped_at", s(EARLIER))])
            .ends("refused wrong_state"),
        stop("wind_down_stop/finished", "There is nothing to stop.")
            .on([config_7(), with(job("20"), "finished_at", s(EARLIER))])
            .ends("refused wrong_state"),
    ]
}

fn closed() -> Vec<Case> {
    vec![
        close("wind_down_close/card", "The line is in the close's transaction.", OF_CARD)
            .on([unowned("500")])
            .moves(&[(OF_CARD, "ECOPAY", "-500"), ("unclaimed", "ECOPAY", "500")])
            .precedence(),
        close("wind_down_close/customer", "Points go to `breakage`.", OF_A)
            .on([profile(A, "2"), wallet(A, "ECOPAY", "300"), wallet(A, "POINT", "7")])
            .moves(&[
                (OF_A, "ECOPAY", "-300"),
                ("unclaimed", "ECOPAY", "300"),
                (OF_A, "POINT", "-7"),
                ("breakage", "POINT", "7"),
            ])
            .precedence(),
        close("wind_down_close/customer-without-balance", "It has a line too, without an entry.", OF_A)
            .on([profile(A, "1"), wallet(A, "ECOPAY", "0")]),
        close("wind_down_close/listed-as-open", "Another worker found it open and recorded that.", OF_CARD)
            .on([unowned("500"), line("open", OF_CARD)])
            .ends("rejected stale_plan by wind_down_line"),
        close("wind_down_close/held", "A hold is open.", OF_A)
            .on([profile(A, "1"), with(wallet(A, "ECOPAY", "300"), "held", n("100"))])
            .ends("still open held:ECOPAY"),
    ]
}

fn advanced() -> Vec<Case> {
    vec![
        advance(
            "wind_down_advance/part-of-shard",
            "The next slice begins after the last place.",
            &[PLACE_B, PLACE_A],
            2,
        )
        .on([job("4")]),
        advance("wind_down_advance/end-of-shard", "Fewer than the limit are the last of a shard.", &[PLACE_A], 2)
            .on([with(job("4"), "after", s(PLACE_B))]),
        advance("wind_down_advance/last-shard", "The job is finished.", &[], 2).on([job("19")]),
        advance_with_open("wind_down_advance/open", "An account that stays open has a line.").on([job("4")]),
        advance_with_open("wind_down_advance/closed-meanwhile", "Another worker closed it: the slice is read again.")
            .on([job("4"), line("closed", OF_A)])
            .ends("rejected stale_plan by wind_down_line"),
    ]
}
