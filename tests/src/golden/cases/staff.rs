//! Staff records: a tenant's first owners, invitations, changes, the counter of owners and deciders, denials.

use super::Case;
use super::world::*;
use crate::golden::build_staff::StaffDoes;
use crate::golden::command::{Does, Money};
use serde_json::{Map, Value as Json, json};

const THIRD: &str = "019a0000-0000-7000-8000-000000000053";
const EMAIL: &str = "yuki@example.com";

pub(super) fn member(id: &str, email: &str, roles: &[&str], state: &str) -> Json {
    let roles: Vec<Json> = roles.iter().map(s).collect();
    let attributes = json!({
        "staff_id": s(id), "email": s(email), "roles": { "L": roles }, "state": s(state), "version": n("3"),
        "created_at": s(EARLIER), "updated_at": s(EARLIER),
    });
    item("tenant", "root", &format!("STAFF#{id}"), attributes)
}

fn owner() -> Json {
    member(STAFF, "hanako@example.com", &["owner"], "active")
}

fn counts(owners: &str, deciders: &str) -> Json {
    let attributes = json!({ "owners": n(owners), "deciders": n(deciders), "updated_at": s(EARLIER) });
    item("tenant", "root", "STAFF_COUNTS", attributes)
}

fn third() -> (String, String) {
    (THIRD.to_owned(), EMAIL.to_owned())
}

fn invite(id: &'static str, why: &'static str, role: &str) -> Case {
    let claim =
        by_staff("staff_invite", "/v1/admin/staff", json!({"staff_id": THIRD, "email": EMAIL, "roles": [role]}));
    let does = StaffDoes::Invite { by: STAFF.to_owned(), person: third(), roles: vec![role.to_owned()] };
    Case::new(id, why, Some(claim), Does::Staff(does))
}

fn change(id: &'static str, why: &'static str, member: &str, roles: Option<&[&str]>, state: Option<&str>) -> Case {
    let fields = json!({"roles": roles, "status": state, "reason": "left the team"});
    let claim = by_staff("staff_change", &format!("/v1/admin/staff/{member}"), fields);
    let roles = roles.map(|roles| roles.iter().map(|role| (*role).to_owned()).collect());
    let (by, member, state) = (STAFF.to_owned(), member.to_owned(), state.map(str::to_owned));
    Case::new(id, why, Some(claim), Does::Staff(StaffDoes::Change { by, member, roles, state }))
}

fn without_key(id: &'static str, why: &'static str, does: StaffDoes) -> Case {
    Case::new(id, why, None, Does::Staff(does))
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = begun();
    all.extend(joined());
    all.extend(changed());
    all.extend(counted());
    all.extend(recovered());
    all
}

fn begun() -> Vec<Case> {
    let owners =
        || vec![(STAFF.to_owned(), "hanako@example.com".to_owned()), (OTHER_STAFF.to_owned(), EMAIL.to_owned())];
    let open = |id, why| {
        without_key(id, why, StaffDoes::Open { terms: with(config(), "staff", s("records")), owners: owners() })
    };
    let add =
        |id, why, role: &str| without_key(id, why, StaffDoes::Add { person: third(), roles: vec![role.to_owned()] });
    let enforce = |id, why| without_key(id, why, StaffDoes::Enforce {});
    vec![
        open("staff/founded", "A tenant's configuration, its two owners and the counter."),
        open("staff/founded-again", "An open tenant is not changed.")
            .on([config()])
            .ends("rejected already_exists by config"),
        add("staff/added", "A member who decides on nothing is not counted.", "operator").on([config()]).supersedes(),
        add("staff/added-owner", "The first member of an open tenant begins the counter.", "owner")
            .on([config()])
            .supersedes(),
        add("staff/added-twice", "The person has a record.", "operator")
            .on([config(), member(THIRD, EMAIL, &["viewer"], "active")])
            .ends("rejected already_exists by staff")
            .supersedes(),
        add("staff/added-after-the-switch", "Once the records decide, owners invite.", "owner")
            .on([with(config(), "staff", s("records"))])
            .ends("rejected wrong_state by config"),
        enforce("staff/enforced", "The records decide.").on([config(), counts("2", "2")]),
        enforce("staff/enforced-too-early", "One owner has a record.")
            .on([config(), counts("1", "2")])
            .ends("rejected wrong_state by staff_counts"),
        enforce("staff/enforced-again", "The records decide already.")
            .on([with(config(), "staff", s("records")), counts("2", "2")])
            .ends("rejected already_exists by config"),
        without_key(
            "staff/denied",
            "The first denial of the hour.",
            StaffDoes::Deny { member: STAFF.to_owned(), permission: "grants.issue".to_owned() },
        ),
        without_key(
            "staff/customer-read",
            "Who saw a customer's personal data.",
            StaffDoes::Read { by: BY_STAFF.to_owned(), customer: A.to_owned() },
        ),
    ]
}

fn joined() -> Vec<Case> {
    let accept = |id, why| {
        let claim = by_staff("staff_accept", "/v1/admin/staff/accept", json!({}));
        Case::new(id, why, Some(claim), Does::Staff(StaffDoes::Accept { member: STAFF.to_owned() }))
    };
    let first = |id, why| {
        let path = format!("/v1/admin/merchants/{MERCHANT}/staff");
        let claim = by_staff("merchant_owner", &path, json!({"staff_id": THIRD, "email": EMAIL}));
        let does = StaffDoes::FirstOwner { by: STAFF.to_owned(), merchant: MERCHANT.to_owned(), person: third() };
        Case::new(id, why, Some(claim), Does::Staff(does))
    };
    vec![
        invite("staff/invited", "A person who may act once they accept.", "auditor").on([owner()]),
        invite("staff/invited-by-another", "Only an owner gives a role that decides.", "approver")
            .on([member(STAFF, "hanako@example.com", &["operator"], "active")])
            .ends("denied staff.manage"),
        invite("staff/invited-twice", "The address belongs to a record.", "auditor")
            .on([owner(), member(THIRD, EMAIL, &["viewer"], "disabled")])
            .ends("rejected already_exists by staff"),
        invite("staff/invited-by-one-who-left", "The owner was disabled since the record was read.", "auditor")
            .seen([owner()])
            .on([with(with(owner(), "state", s("disabled")), "version", n("4"))])
            .ends("rejected stale_plan by staff"),
        accept("staff/accepted", "An invited member decides on nothing and is not counted.")
            .on([member(STAFF, EMAIL, &["auditor"], "invited"), counts("2", "2")]),
        accept("staff/accepted-owner", "An owner is counted from the acceptance.")
            .on([member(STAFF, EMAIL, &["owner"], "invited"), counts("2", "2")]),
        accept("staff/accepted-twice", "The member is active.").on([owner()]).ends("refused wrong_state"),
        first("staff/merchant-owner", "The first owner of a merchant.").on([owner(), merchant()]),
        first("staff/merchant-owner-of-none", "No such merchant.")
            .on([owner()])
            .ends("rejected account_missing by profile"),
        first("staff/merchant-owner-again", "The merchant has an owner.")
            .on([owner(), merchant()])
            .on([item("merchant", MERCHANT, "STAFF_COUNTS", json!({ "owners": n("1"), "deciders": n("0") }))])
            .ends("rejected already_exists by staff_counts"),
    ]
}

fn changed() -> Vec<Case> {
    let other = |roles: &[&str]| member(OTHER_STAFF, EMAIL, roles, "active");
    vec![
        change("staff/roles-changed", "The counter does not change.", OTHER_STAFF, Some(&["auditor"]), None)
            .on([owner(), other(&["viewer"])]),
        change("staff/decider-made", "A decider is counted.", OTHER_STAFF, Some(&["approver"]), None).on([
            owner(),
            other(&["viewer"]),
            counts("2", "2"),
        ]),
        change("staff/owner-disabled", "Two owners remain.", OTHER_STAFF, None, Some("disabled")).on([
            owner(),
            other(&["owner"]),
            counts("3", "3"),
        ]),
        change("staff/second-owner-disabled", "One owner would remain.", OTHER_STAFF, None, Some("disabled"))
            .on([owner(), other(&["owner"]), counts("2", "3")])
            .ends("rejected wrong_state by staff_counts"),
        change("staff/own-role", "Members give themselves no role.", STAFF, Some(&["owner", "auditor"]), None)
            .on([owner()])
            .ends("refused four_eyes"),
        change("staff/changed-meanwhile", "The record is not as it was read.", OTHER_STAFF, Some(&["auditor"]), None)
            .seen([other(&["viewer"])])
            .on([owner(), with(other(&["support"]), "version", n("4"))])
            .ends("rejected stale_plan by staff"),
    ]
}

fn recovery(state: &str, ready_at: &str) -> Json {
    let person = |id: &str, email: &str| json!({ "M": { "staff_id": s(id), "email": s(email) } });
    let owners = [person(THIRD, EMAIL), person(OTHER_STAFF, "aoi@example.com")];
    let attributes = json!({
        "owners": { "L": owners }, "state": s(state), "created_at": s(EARLIER), "ready_at": s(ready_at),
    });
    item("tenant", "root", "OWNER_RECOVERY", attributes)
}

/// The recovery of a tenant whose owners are lost.
fn recovered() -> Vec<Case> {
    let request = |id, why| {
        let owners = vec![third(), (OTHER_STAFF.to_owned(), "aoi@example.com".to_owned())];
        without_key(id, why, StaffDoes::RequestRecovery { owners }).on([config()])
    };
    let finish = |id, why| without_key(id, why, StaffDoes::FinishRecovery {}).on([counts("2", "2")]);
    let cancel = |id, why, by: Json| {
        let claim = by_staff("owner_recovery_cancel", "/v1/admin/owner-recovery/cancel", json!({}));
        Case::new(id, why, Some(claim), Does::Staff(StaffDoes::CancelRecovery { by: STAFF.to_owned() })).on([by])
    };
    let ready = || recovery("pending", NOW);
    vec![
        request("staff/recovery-requested", "Two persons, who are owners in 72 hours."),
        request("staff/recovery-requested-again", "The last one was cancelled.").on([recovery("cancelled", EARLIER)]),
        request("staff/recovery-pending", "One at a time.").on([ready()]).ends("rejected already_exists by recovery"),
        finish("staff/recovery-finished", "At the instant of its time.").on([ready()]),
        finish("staff/recovery-too-early", "A millisecond before.")
            .on([recovery("pending", "2026-11-21T03:00:00.001Z")])
            .ends("rejected wrong_state by recovery"),
        finish("staff/recovery-cancelled-meanwhile", "An owner cancelled it since it was read.")
            .seen([ready()])
            .on([recovery("cancelled", NOW)])
            .ends("rejected wrong_state by recovery"),
        cancel("staff/recovery-cancelled", "An owner who is not lost.", owner()).on([ready()]),
        cancel("staff/recovery-cancelled-by-another", "Only owners cancel.", treasurer())
            .on([ready()])
            .ends("denied staff.manage"),
    ]
}

/// Terms that limit what a treasurer grants.
fn limiting(rules: &[(&str, &str)]) -> Json {
    let rules: Map<String, Json> = rules.iter().map(|(rule, most)| ((*rule).to_owned(), n(most))).collect();
    let limits = json!({
        "accounts": { "BOOL": false }, "version": n("1"), "treasurer": { "M": { "POINT": { "M": rules } } },
    });
    with(config(), "limits", json!({ "M": limits }))
}

fn treasurer() -> Json {
    member(STAFF, "hanako@example.com", &["treasurer"], "active")
}

fn grant(id: &'static str, why: &'static str, amount: Money) -> Case {
    let claim = by_staff("grant", "/v1/admin/grants", json!({ "customer_id": A, "amount": amount.amount }));
    let (by, customer, reason) = (STAFF.to_owned(), A.to_owned(), "spring campaign".to_owned());
    Case::new(id, why, Some(claim), Does::Staff(StaffDoes::Grant { by, customer, amount, reason }))
        .on([wallet(A, "POINT", "5")])
}

fn counted() -> Vec<Case> {
    let granted = [(OF_A, "POINT", "100"), ("points_issued", "POINT", "-100")];
    let of_points = || money("POINT", "100");
    let by_day = || limiting(&[("grant_day", "300"), ("grant_month", "2000")]);
    let used = |points: &str| with(treasurer(), "use_grant_20261121_POINT", n(points));
    vec![
        grant("staff/grant-first-of-the-day", "The record begins to count the day and the month.", of_points())
            .on([by_day(), treasurer()])
            .moves(&granted)
            .precedence(),
        grant("staff/grant-to-the-limit", "Exactly the rest of the day.", of_points())
            .on([by_day(), used("200")])
            .moves(&granted),
        grant("staff/grant-above-the-day", "One point more.", of_points())
            .on([by_day(), used("201")])
            .ends("rejected limit_exceeded by staff"),
        grant("staff/grant-within-one", "A limit of one grant is compared and not counted.", of_points())
            .on([limiting(&[("grant_operation", "100")]), treasurer()])
            .moves(&granted),
        grant("staff/grant-above-one", "One point more.", of_points())
            .on([limiting(&[("grant_operation", "99")]), treasurer()])
            .ends("refused limit_exceeded"),
        grant(
            "staff/grant-of-another-asset",
            "A limit of points does not count others.",
            money("REGIONAL#aoba", "100"),
        )
        .on([by_day(), treasurer(), wallet(A, "REGIONAL#aoba", "5")])
        .moves(&[(OF_A, "REGIONAL#aoba", "100"), ("points_issued", "REGIONAL#aoba", "-100")]),
        grant("staff/grant-by-two-roles", "A role without a limit decides.", of_points())
            .on([by_day(), member(STAFF, "hanako@example.com", &["owner", "treasurer"], "active")])
            .moves(&granted),
        grant("staff/grant-by-one-who-was-demoted", "The record permits it no longer.", of_points())
            .on([by_day(), member(STAFF, "hanako@example.com", &["viewer"], "active")])
            .ends("denied grants.issue"),
        grant("staff/grant-changed-meanwhile", "The record is not as it was read.", of_points())
            .seen([treasurer()])
            .on([by_day(), with(used("0"), "version", n("4"))])
            .ends("rejected stale_plan by staff"),
    ]
}
