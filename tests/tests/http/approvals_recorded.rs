//! Requests that have records of their own in the inbox: adjustments, files that are sent again, returned transfers and
//! decisions on top-ups. Both endpoints of a record decide on it once.
#![cfg(feature = "stack")]

use futures::future::join_all;
use ledger_core::ids::{Employer, MerchantId};
use ledger_core::keys::month_of_approval;
use ledger_core::personal::FreeText;
use ledger_core::settlements::Task;
use ledger_core::settlements::saga::STEPS;
use ledger_core::staff::person_names;
use ledger_tests::audit::s;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Customer, Who, World, parked, settling, staff};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Adjustment,
    Resend,
    Return,
    Decision,
}

const KINDS: [Kind; 4] = [Kind::Adjustment, Kind::Resend, Kind::Return, Kind::Decision];

/// A pending request.
struct Pending {
    kind: Kind,
    id: String,
    /// The path of its own endpoints, without the verb.
    path: String,
    request: Call,
    /// The row of its record.
    record: (String, String),
    account: String,
}

async fn world(tenant: &str) -> World {
    World::new(tenant).await
}

/// A tenant on a stack of its own, where a test decides which events Stripe delivers.
async fn alone(tenant: &str) -> World {
    let world = World::alone(tenant).await;
    world.hold_deliveries().await;
    world
}

fn posts(path: &str, who: &Who, body: &Value) -> Call {
    Call::post(path, who, body).key(new_key())
}

impl Pending {
    async fn new(world: &World, kind: Kind) -> Self {
        Self::by(world, kind, &world.operator.who).await
    }

    async fn by(world: &World, kind: Kind, who: &Who) -> Self {
        match kind {
            Kind::Adjustment => {
                let customer = world.customer().await;
                Self::adjustment(world, &customer, ("credit", "300"), who).await
            }
            Kind::Resend | Kind::Return => {
                let settled = settling::settled(world, &STEPS.map(Task::Do)).await;
                let merchant = settled.split('/').nth(4).expect("a merchant").to_owned();
                let (word, id, sk) = match kind {
                    Kind::Resend => ("resends", "/resend_id", "RESEND"),
                    Kind::Adjustment | Kind::Return | Kind::Decision => ("returns", "/return_id", "RETURN"),
                };
                let request = posts(&format!("{settled}/{word}"), who, &json!({"note": "as the bank says"}));
                let id = world.api.settle(&request).await.good().text(id);
                Self {
                    kind,
                    path: format!("{settled}/{word}/{id}"),
                    record: (format!("{}#merchant#{merchant}", world.tenant), format!("{sk}#{id}")),
                    account: format!("merchant:{merchant}"),
                    id,
                    request,
                }
            }
            Kind::Decision => {
                let customer = world.customer().await;
                let (topup, _) = parked::contradicted(world, &customer, "2000").await;
                let body = json!({"way": "book", "note": "looked at with Stripe"});
                let request = posts(&format!("/v1/admin/topups/{}/decisions", topup.id), who, &body);
                let id = world.api.settle(&request).await.good().text("/decision_id");
                Self {
                    kind,
                    path: format!("/v1/admin/topups/{}/decisions/{id}", topup.id),
                    record: (format!("{}#topup#{}", world.tenant, topup.id), format!("DECISION#{id}")),
                    account: format!("customer:{}", customer.id),
                    id,
                    request,
                }
            }
        }
    }

    async fn adjustment(world: &World, customer: &Customer, (direction, yen): (&str, &str), who: &Who) -> Self {
        let body = json!({
            "customer_id": customer.id, "direction": direction, "amount": yen, "reason_code": "correction", "note": "twice",
        });
        let request = posts("/v1/admin/adjustments", who, &body);
        let id = world.api.settle(&request).await.good().text("/adjustment_id");
        Self {
            kind: Kind::Adjustment,
            path: format!("/v1/admin/adjustments/{id}"),
            record: (format!("{}#adjustment#{id}", world.tenant), "ADJUSTMENT".to_owned()),
            account: format!("customer:{}", customer.id),
            id,
            request,
        }
    }

    /// The approval at the record's own endpoint.
    fn approve_there(&self, who: &Who) -> Call {
        posts(&format!("{}/approve", self.path), who, &json!({}))
    }

    async fn view(&self, world: &World) -> Value {
        let call = Call::get(&format!("/v1/admin/approvals/{}", self.id), &world.operator.who);
        world.api.send(&call).await.good().json()
    }
}

async fn inbox(world: &World, state: &str) -> Vec<Value> {
    let call = Call::get(&format!("/v1/admin/approvals?state={state}"), &world.operator.who);
    let page = world.api.send(&call).await.good().json();
    page["items"].as_array().expect("items").clone()
}

async fn decided(world: &World, verb: &str, id: &str, who: &Who) -> Answer {
    world.api.settle(&decides(verb, id, who)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inbox_lists_each_request_and_both_endpoints_approve_it_once() {
    let world = alone("recorded-race").await;
    let mut ids = Vec::new();
    for kind in KINDS {
        let pending = Pending::new(&world, kind).await;
        ids.push(pending.id.clone());
        let [listed] = <[Value; 1]>::try_from(inbox(&world, "pending").await).expect("one request");
        let (command, amount) = match kind {
            Kind::Adjustment => ("adjustment_request", "300"),
            Kind::Resend => ("file_resend_request", "1"),
            Kind::Return => ("settlement_return_request", "1"),
            Kind::Decision => ("topup_decision_request", "2000"),
        };
        let shown = ["approval_id", "command", "amount", "account", "requested_by", "status"].map(|name| &listed[name]);
        let expected =
            [&pending.id, command, amount, &pending.account, &world.operator.id, "pending"].map(|of| json!(of));
        assert_eq!(shown, expected.each_ref(), "{listed}");
        assert!(listed["reason"].is_string() && listed["expires_at"].is_string(), "{listed}");
        assert_eq!(pending.view(&world).await, listed);
        for own in [decides("approve", &pending.id, &world.operator.who), pending.approve_there(&world.operator.who)] {
            let _ = world.api.settle(&own).await.problem(403, "four_eyes_required");
        }
        let call = |at: usize| match at % 2 {
            0 => decides("approve", &pending.id, &world.second.who),
            _ => pending.approve_there(&world.second.who),
        };
        let calls: Vec<Call> = (0..16).map(call).collect();
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

/// Each by the inbox alone: its entry has the key of the approval.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approval_at_the_inbox_posts_what_the_own_endpoint_would() {
    let world = alone("recorded-inbox").await;
    for (kind, operation) in [
        (Kind::Adjustment, Some("adjustment_approve")),
        (Kind::Resend, None),
        (Kind::Return, Some("settlement_return_approve")),
        (Kind::Decision, Some("topup_decision_approve")),
    ] {
        let pending = Pending::new(&world, kind).await;
        let done = decided(&world, "approve", &pending.id, &world.second.who).await.good();
        assert_eq!((done.text("/status"), done.text("/approval_id")), ("approved".to_owned(), pending.id.clone()));
        let books = world.check_books().await;
        if let Some(operation) = operation {
            assert_eq!(books.entries_of(operation), 1, "{kind:?}");
        }
        let _ = world.api.settle(&pending.approve_there(&world.second.who)).await.problem(400, "wrong_state");
    }
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejected_and_withdrawn_requests_are_never_executed() {
    let world = alone("recorded-ended").await;
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
            for late in [decides("approve", &pending.id, second), pending.approve_there(second)] {
                let _ = world.api.settle(&late).await.problem(400, "wrong_state");
            }
            assert_eq!(pending.view(&world).await["status"], state);
            let (pk, sk) = &pending.record;
            let books = world.books().await;
            assert_eq!(books.row(pk, sk).and_then(|row| row.get("state").cloned()), Some(s(state)), "{kind:?}");
            if let Kind::Adjustment | Kind::Decision = kind {
                let own = world.api.send(&Call::get(&pending.path, owner)).await.good().json();
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
async fn beneficiary_decides_on_no_request_at_either_endpoint() {
    let world = alone("recorded-own").await;
    for kind in KINDS {
        let pending = Pending::new(&world, kind).await;
        let id = new_id();
        let mut invitation = staff::invitation(&id, "approver");
        invitation["beneficiary_of"] = json!([pending.account]);
        let _ = world.operator("/v1/admin/staff", &invitation).await;
        let who = world.token("admin", &id, None).await;
        let _ = world.api.settle(&posts("/v1/admin/staff/accept", &who, &json!({}))).await.good();
        for call in [decides("approve", &pending.id, &who), pending.approve_there(&who)] {
            let _ = world.api.settle(&call).await.problem(403, "four_eyes_required");
        }
        assert_eq!(pending.view(&world).await["status"], "pending", "{kind:?}");
    }
    let _ = world.check_books().await;
}

/// The approver is of the merchant's staff under another id, with the same address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn person_of_the_merchants_staff_approves_no_return_of_it() {
    let world = world("recorded-employer").await;
    let pending = Pending::new(&world, Kind::Return).await;
    let merchant = MerchantId::parse(pending.account.trim_start_matches("merchant:")).expect("an id");
    let (id, who) = staff::member(&world, "approver").await;
    let email = FreeText::email(&staff::email_of(&id)).expect("an address");
    let keys = world.app.ledger().marker_keys().await.expect("keys");
    let names = person_names(&world.slug(), Employer::Merchant(merchant), &email, &keys);
    let person = names.first().expect("a key");
    let row = [("uuid", s(person.pk())), ("type", s(person.sk())), ("staff_id", s(new_id()))];
    world.plant(row.map(|(name, value)| (name.to_owned(), value)).into()).await;
    for call in [decides("approve", &pending.id, &who), pending.approve_there(&who)] {
        let _ = world.api.settle(&call).await.problem(403, "four_eyes_required");
    }
    let _ = decided(&world, "approve", &pending.id, &world.second.who).await.good();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_of_a_disabled_member_is_withdrawn() {
    let world = alone("recorded-left").await;
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
    for call in [decides("approve", &of_demoted.id, &world.second.who), of_demoted.approve_there(&world.second.who)] {
        let _ = world.api.settle(&call).await.problem(400, "wrong_state");
    }
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_expires_after_seven_days_at_both_endpoints() {
    let world = alone("recorded-expired").await;
    for kind in KINDS {
        let pending = Pending::new(&world, kind).await;
        let (pk, sk) = &pending.record;
        let earlier = s("2026-01-05T00:00:00.000Z");
        let month = month_of_approval(uuid::Uuid::parse_str(&pending.id).expect("an id"));
        let inbox = format!("{}#approvals#{month}", world.tenant);
        for (pk, sk) in [(pk.clone(), sk.clone()), (inbox, format!("REQUEST#{}", pending.id))] {
            let mut row = world.books().await.row(&pk, &sk).cloned().expect("a row");
            let _ = row.insert("created_at".to_owned(), earlier.clone());
            world.plant(row).await;
        }
        let calls = [decides("approve", &pending.id, &world.second.who), pending.approve_there(&world.second.who)];
        for call in calls.into_iter().chain([decides("withdraw", &pending.id, &world.operator.who)]) {
            let _ = world.api.settle(&call).await.problem(400, "approval_expired");
        }
        assert_eq!(pending.view(&world).await["status"], "expired", "{kind:?}");
    }
}

/// A debit that the balance does not cover leaves the request pending.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_that_cannot_be_executed_stays_pending() {
    let world = world("recorded-short").await;
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
async fn inbox_pages_commands_and_requests_in_one_order() {
    let world = world("recorded-pages").await;
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
