//! How a request ends: adjustments, returned transfers and decisions about top-ups, seen, approved by many at once, rejected,
//! withdrawn, expired and stale.
#![cfg(feature = "stack")]

mod pending;

use futures::future::join_all;
use ledger_core::ids::{Employer, MerchantId};
use ledger_core::personal::FreeText;
use ledger_core::staff::person_names;
use ledger_tests::audit::s;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Who, World, parked, staff};
use pending::{KINDS, Kind, Pending, alone, posts, world};
use serde_json::{Value, json};
use std::collections::BTreeSet;

async fn inbox(world: &World, state: &str) -> Vec<Value> {
    let call = Call::get(&format!("/v1/admin/approvals?state={state}"), &world.operator.who);
    let page = world.api.send(&call).await.good().json();
    page["items"].as_array().expect("items").clone()
}

async fn decided(world: &World, verb: &str, id: &str, who: &Who) -> Answer {
    world.api.settle(&decides(verb, id, who)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inbox_lists_each_request_and_it_is_approved_once() {
    let world = alone("ends-race").await;
    let mut ids = Vec::new();
    for kind in KINDS {
        let pending = Pending::new(&world, kind).await;
        ids.push(pending.id.clone());
        let [listed] = <[Value; 1]>::try_from(inbox(&world, "pending").await).expect("one request");
        let (command, amount) = match kind {
            Kind::Adjustment => ("adjustment", json!("300")),
            Kind::Return => ("settlement_return", json!("1")),
            Kind::Decision => ("topup_decision", Value::Null),
        };
        let shown = ["approval_id", "command", "account", "requested_by", "status"].map(|name| &listed[name]);
        let expected = [&pending.id, command, &pending.account, &world.operator.id, "pending"].map(|of| json!(of));
        assert_eq!((shown, &listed["amount"]), (expected.each_ref(), &amount), "{listed}");
        let postings = listed["postings"].as_array().expect("postings").iter();
        let postings: BTreeSet<_> =
            postings.map(|of| ["account", "delta"].map(|name| of[name].as_str().expect("a text")).join(" ")).collect();
        assert_eq!(postings, pending.postings.iter().cloned().collect(), "{listed}");
        assert!(listed["reason"].is_string() && listed["expires_at"].is_string(), "{listed}");
        assert_eq!(pending.view(&world).await, listed);
        let own = pending.approval(&world.operator.who);
        let _ = world.api.settle(&own).await.problem(403, "four_eyes_required");
        let calls: Vec<Call> = (0..16).map(|_| pending.approval(&world.second.who)).collect();
        let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
        let (good, refused): (Vec<&Answer>, Vec<&Answer>) = answers.iter().partition(|answer| answer.status < 300);
        assert_eq!(good.len(), 1, "{kind:?}: {answers:?}");
        assert!(refused.iter().all(|answer| answer.code().as_deref() == Some("wrong_state")), "{answers:?}");
        for (call, first) in calls.iter().zip(&answers) {
            let again = world.api.settle(call).await;
            assert_eq!((again.stored(), again.replayed()), (first.stored(), true));
        }
        assert!(world.api.settle(&pending.request).await.good().replayed());
        let approved = pending.view(&world).await;
        assert_eq!((&approved["status"], &approved["decided_by"]), (&json!("approved"), &json!(world.second.id)));
        assert_eq!(inbox(&world, "pending").await, Vec::<Value>::new());
    }
    let approved = inbox(&world, "approved").await;
    assert!(ids.iter().all(|id| approved.iter().any(|item| item["approval_id"] == json!(id))), "{approved:?}");
    let _ = world.check_books().await;
}

/// Its entry has the key of the approval.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approved_request_posts_one_entry_and_is_decided_on_once() {
    let world = alone("ends-inbox").await;
    for (kind, operation) in
        [(Kind::Adjustment, "adjustment"), (Kind::Return, "settlement_return"), (Kind::Decision, "topup_decision")]
    {
        let pending = Pending::new(&world, kind).await;
        let done = decided(&world, "approve", &pending.id, &world.second.who).await.good();
        assert_eq!((done.text("/status"), done.text("/approval_id")), ("approved".to_owned(), pending.id.clone()));
        let books = world.check_books().await;
        assert_eq!(books.entries_of(operation), 1, "{kind:?}");
        let late = pending.approval(&world.second.who);
        let _ = world.api.settle(&late).await.problem(400, "wrong_state");
    }
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejected_and_withdrawn_requests_are_never_executed() {
    let world = alone("ends-ended").await;
    let (second, owner) = (&world.second.who, &world.operator.who);
    for kind in KINDS {
        for (verb, by, state) in [("reject", second, "rejected"), ("withdraw", owner, "withdrawn")] {
            let pending = Pending::new(&world, kind).await;
            if verb == "reject" {
                let _ = decided(&world, verb, &pending.id, owner).await.problem(403, "four_eyes_required");
            }
            let call = decides(verb, &pending.id, by);
            let done = world.api.settle(&call).await.good();
            assert_eq!(done.text("/status"), state, "{kind:?}");
            let again = world.api.settle(&call).await;
            assert_eq!((again.stored(), again.replayed()), (done.stored(), true));
            let _ = world.api.settle(&pending.approval(second)).await.problem(400, "wrong_state");
            assert_eq!(pending.view(&world).await["status"], state);
            let (pk, sk) = &pending.record;
            let books = world.books().await;
            assert_eq!(books.row(pk, sk).and_then(|row| row.get("state").cloned()), Some(s(state)), "{kind:?}");
            if let Some(path) = &pending.path {
                let own = world.api.send(&Call::get(path, owner)).await.good().json();
                assert_eq!((&own["status"], own["decided_at"].is_string()), (&json!(state), true), "{own}");
            }
        }
    }
    let (_, treasurer) = staff::member(&world, "treasurer").await;
    let pending = Pending::by(&world, Kind::Adjustment, owner).await;
    let _ = decided(&world, "withdraw", &pending.id, &treasurer).await.problem(403, "permission_missing");
    let _ = world.check_books().await;
    // The contradicted top-ups are what the decisions were about; the withdrawn adjustments are no breaks.
    let report = world.reconciled().await;
    assert_eq!(report["breaks"], json!({"charge_without_credit": 2}), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beneficiary_decides_on_no_request() {
    let world = alone("ends-own").await;
    for kind in KINDS {
        let pending = Pending::new(&world, kind).await;
        let id = new_id();
        let mut invitation = staff::invitation(&id, "approver");
        invitation["beneficiary_of"] = json!([{"account": pending.account, "kind": "own"}]);
        let _ = world.operator("/v1/admin/staff", &invitation).await;
        let who = world.token("admin", &id, None).await;
        let _ = world.api.settle(&posts("/v1/admin/staff/accept", &who, &json!({}))).await.good();
        let _ = world.api.settle(&pending.approval(&who)).await.problem(403, "four_eyes_required");
        assert_eq!(pending.view(&world).await["status"], "pending", "{kind:?}");
    }
    let _ = world.check_books().await;
}

/// The approver is of the merchant's staff under another id, with the same address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn person_of_the_merchants_staff_approves_no_return_of_it() {
    let world = world("ends-employer").await;
    let pending = Pending::new(&world, Kind::Return).await;
    let merchant = MerchantId::parse(pending.account.trim_start_matches("merchant:")).expect("an id");
    let (id, who) = staff::member(&world, "approver").await;
    let email = FreeText::email(&staff::email_of(&id)).expect("an address");
    let keys = world.app.ledger().marker_keys().await.expect("keys");
    let names = person_names(&world.slug(), Employer::Merchant(merchant), &email, &keys);
    let person = names.first().expect("a key");
    let row = [
        ("uuid", s(person.pk())),
        ("type", s(person.sk())),
        ("staff_id", s(new_id())),
        ("accepted_at", s("2026-11-21T03:00:00.000Z")),
    ];
    world.plant(row.map(|(name, value)| (name.to_owned(), value)).into()).await;
    let _ = world.api.settle(&pending.approval(&who)).await.problem(403, "four_eyes_required");
    let _ = decided(&world, "approve", &pending.id, &world.second.who).await.good();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_of_a_disabled_member_is_withdrawn() {
    let world = alone("ends-left").await;
    let (id, who) = staff::member(&world, "owner").await;
    let mut all = Vec::new();
    for kind in KINDS {
        all.push(Pending::by(&world, kind, &who).await);
    }
    let own = Pending::new(&world, Kind::Adjustment).await;
    let (demoted, asked) = staff::member(&world, "treasurer").await;
    let of_demoted = Pending::by(&world, Kind::Adjustment, &asked).await;
    let roles = json!({"roles": ["viewer"]});
    let demote = Call::patch(&format!("/v1/admin/staff/{demoted}"), &world.operator.who, &roles).key(new_key());
    let _ = world.api.settle(&demote).await.good();
    let disable = Call::patch(&format!("/v1/admin/staff/{id}"), &world.operator.who, &json!({"status": "disabled"}));
    let answer = world.api.settle(&disable.key(new_key())).await.good();
    if answer.status == 202 {
        let _ = decided(&world, "approve", &answer.text("/approval_id"), &world.second.who).await.good();
    }
    for pending in &all {
        assert_eq!(pending.view(&world).await["status"], "withdrawn", "{:?}", pending.kind);
    }
    assert_eq!(own.view(&world).await["status"], "pending");
    let _ = world.api.settle(&of_demoted.approval(&world.second.who)).await.problem(400, "wrong_state");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_expires_after_seven_days() {
    let world = alone("ends-expired").await;
    for kind in KINDS {
        let pending = Pending::new(&world, kind).await;
        let (pk, sk) = &pending.record;
        let mut row = world.books().await.row(pk, sk).cloned().expect("a row");
        let _ = row.insert("expires_at".to_owned(), s("2026-01-05T00:00:00.000Z"));
        world.plant(row).await;
        for call in [pending.approval(&world.second.who), decides("withdraw", &pending.id, &world.operator.who)] {
            let _ = world.api.settle(&call).await.problem(400, "approval_expired");
        }
        assert_eq!(pending.view(&world).await["status"], "expired", "{kind:?}");
    }
}

/// A debit that the balance does not cover leaves the request pending.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_that_cannot_be_executed_stays_pending() {
    let world = world("ends-short").await;
    let customer = world.customer().await;
    let pending = Pending::adjustment(&world, &customer, ("debit", "300"), &world.operator.who).await;
    let call = decides("approve", &pending.id, &world.second.who);
    let refused = world.api.settle(&call).await.problem(400, "insufficient_balance");
    assert_eq!(pending.view(&world).await["status"], "pending");
    let credit = Pending::adjustment(&world, &customer, ("credit", "500"), &world.operator.who).await;
    let _ = decided(&world, "approve", &credit.id, &world.second.who).await.good();
    assert_eq!(world.api.settle(&call).await.stored(), refused.stored());
    let _ = decided(&world, "approve", &pending.id, &world.second.who).await.good();
    assert_eq!(world.balance(&customer, "ECOPAY").await, "200");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inbox_pages_requests_in_one_order() {
    let world = world("ends-pages").await;
    let customer = world.customer().await;
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(Pending::adjustment(&world, &customer, ("credit", "1"), &world.operator.who).await.id);
        let grant = json!({"customer_id": customer.id, "asset": "POINT", "amount": "1", "reason": "spring"});
        let stored = world.api.settle(&posts("/v1/admin/grants", &world.operator.who, &grant)).await.good();
        made.push(stored.text("/approval_id"));
    }
    made.sort();
    made.reverse();
    let (mut seen, mut path) = (Vec::new(), "/v1/admin/approvals?state=pending&limit=2".to_owned());
    for _ in 0..4 {
        let page = world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
        let ids = page["items"].as_array().expect("items").iter().map(|item| item["approval_id"].clone());
        seen.extend(ids);
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/admin/approvals?state=pending&limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(json!(seen), json!(made));
}

/// Asserts that the approval finds the request stale, that its answer is stored, and that nothing more can be done with it.
async fn assert_stale(world: &World, id: &str) {
    let call = decides("approve", id, &world.second.who);
    let stale = world.api.settle(&call).await.problem(400, "approval_stale");
    let again = world.api.settle(&call).await;
    assert_eq!((again.stored(), again.replayed()), (stale.stored(), true));
    let path = format!("/v1/admin/approvals/{id}");
    assert_eq!(world.api.send(&Call::get(&path, &world.operator.who)).await.good().text("/status"), "stale");
    for (verb, who) in
        [("approve", &world.second.who), ("reject", &world.second.who), ("withdraw", &world.operator.who)]
    {
        let _ = decided(world, verb, id, who).await.problem(400, "wrong_state");
    }
}

/// The correction of a break is tested with the runs that find it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_whose_object_has_changed_is_stale() {
    let world = alone("ends-stale").await;
    let first = Pending::new(&world, Kind::Return).await;
    let other = world.api.settle(&first.request.clone().key(new_key())).await.good().text("/approval_id");
    let _ = decided(&world, "approve", &first.id, &world.second.who).await.good();
    assert_stale(&world, &other).await;

    let customer = world.customer().await;
    let topup = world.paid_topup(&customer, "10000").await;
    world.hold_deliveries().await;
    let refund = parked::refund(&world, &topup, "4000").await;
    let made = parked::make_refund_at_stripe(&world, &topup, &refund, "3000").await;
    let decision = json!({"way": "book", "refund_id": refund.id, "note": "looked at with Stripe"});
    let path = format!("/v1/admin/topups/{}/decisions", topup.id);
    let decision = posts(&path, &world.operator.who, &decision);
    let decision = world.api.settle(&decision).await.good().text("/approval_id");
    let _ = world.stripe(&format!("/refunds/{}/fail", made["id"].as_str().expect("an id")), &json!({})).await;
    let before = world.books().await;
    assert_stale(&world, &decision).await;
    assert_eq!(before.entries_of("topup_decision"), world.books().await.entries_of("topup_decision"));
    let _ = world.check_books().await;
}

/// The member who would decide loses the role after the request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn demoted_member_decides_on_no_request() {
    let world = alone("ends-demoted").await;
    let (id, who) = staff::member(&world, "approver").await;
    let mut all = Vec::new();
    for kind in KINDS {
        all.push(Pending::new(&world, kind).await);
    }
    let demote = Call::patch(&format!("/v1/admin/staff/{id}"), &world.operator.who, &json!({"roles": ["viewer"]}));
    let _ = world.executes(&demote.key(new_key())).await.good();
    for pending in &all {
        for call in [pending.approval(&who), decides("reject", &pending.id, &who)] {
            let _ = world.api.settle(&call).await.problem(403, "permission_missing");
        }
        assert_eq!(pending.view(&world).await["status"], "pending", "{:?}", pending.kind);
    }
    let _ = world.check_books().await;
}
