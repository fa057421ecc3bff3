//! Every command of the closed list, approved by 16 at once: each is executed once.
#![cfg(feature = "stack")]

mod page;

use futures::future::join_all;
use ledger_core::approvals::Command;
use ledger_core::dynamo::Attributes;
use ledger_core::ids::ApprovalId;
use ledger_core::migration::{Model, Phase};
use ledger_core::settlements::Task;
use ledger_core::settlements::saga::STEPS;
use ledger_tests::cloud::gate;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Host, World, account_limits, assets, parked, settling, sign_ins, staff, terms};
use ledger_tests::limits::overridable;
use ledger_tests::share;
use page::Followed;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How many kinds of commands there are.
const KINDS: usize = 35;

/// The place of a command's kind. A further kind must be listed here and be requested by [`requests`].
const fn place(command: &Command) -> usize {
    match command {
        Command::Grant { .. } => 0,
        Command::BulkGrant { .. } => 1,
        Command::CashCeiling { .. } => 2,
        Command::RefundCeiling { .. } => 3,
        Command::CashDeposit { .. } => 4,
        Command::CashRoom { .. } => 5,
        Command::Destination { .. } => 6,
        Command::SettlementOpen { .. } => 7,
        Command::EnrolmentCode { .. } => 8,
        Command::StaffInvite { .. } => 9,
        Command::StaffChange { .. } => 10,
        Command::AccountLimits { .. } => 11,
        Command::MerchantOwner { .. } => 12,
        Command::CounterOpen { .. } => 13,
        Command::CashCollection { .. } => 14,
        Command::CashDepositReversal { .. } => 15,
        Command::Refund(_) => 16,
        Command::CashReversal(_) => 17,
        Command::TermsChange { .. } => 18,
        Command::TermsCancel { .. } => 19,
        Command::CardReplace(_) => 20,
        Command::AssetBudget { .. } => 21,
        Command::SignInMove(_) => 22,
        Command::CustomerClose(_) => 23,
        Command::CardClose(_) => 24,
        Command::UnclaimedClaim(_) => 25,
        Command::UnclaimedPayout(_) => 26,
        Command::WindDown => 27,
        Command::SettlementRun { .. } => 28,
        Command::SettlementSchedule { .. } => 29,
        Command::CustomerErase { .. } => 30,
        Command::Adjustment(_) => 31,
        Command::TopupDecision(_) => 32,
        Command::SettlementReturn(_) => 33,
        Command::BankFile(_) => 34,
    }
}

/// A request for each kind of command, each about an account of its own.
pub(super) async fn requests(world: &World) -> Vec<Call> {
    let owner = &world.operator.who;
    let posts = |path: &str, body: &Value| Call::post(path, owner, body).key(new_key());
    let patches = |path: &str, body: &Value| Call::patch(path, owner, body).key(new_key());
    let (customer, shop, payable) = (world.customer().await, world.merchant().await, settling::payable(world).await);
    let terminal = world.terminal(&shop).await.id;
    let of_shop = format!("/v1/admin/merchants/{}", shop.id);
    let _ = world.operator(&format!("{of_shop}/cash-room"), &json!({"ceiling": "900"})).await;
    let rich = world.customer_with("300").await;
    let _ = world.api.settle(&rich.pays(&payable, "300")).await.good();
    let _ = world.credit().await.expect("a run");
    let counter = world.counter("500").await;
    let card = world.card(None, "0").await;
    let load = |amount: &str| counter.does("topup", &card, &json!({ "amount": amount }));
    let _ = world.api.settle(&load("200")).await.good();
    let reversed = world.api.settle(&load("100")).await.good().text("/transaction_id");
    let paid = world.api.settle(&world.customer_with("300").await.pays(&shop, "300")).await.good();
    let new_shop = world.operator("/v1/admin/merchants", &json!({"name": "Aoba Tea"})).await.text("/merchant_id");
    let (loaded, fresh) = (world.card(Some(&customer), "0").await, world.card(None, "0").await);
    let (member, _) = staff::member(world, "viewer").await;
    let mut grant = json!({"customer_id": customer.id, "asset": "POINT", "amount": "300", "reason": "spring"});
    let single = posts("/v1/admin/grants", &grant);
    let _ = grant.as_object_mut().expect("an object").remove("customer_id");
    grant["customer_ids"] = json!([customer.id]);
    let limits = account_limits::body(&format!("customer:{}", customer.id), "pay_day", "2000");
    let adjustment = json!({
        "customer_id": customer.id, "direction": "credit", "amount": "300", "reason_code": "correction", "note": "twice",
    });
    let (topup, _) = parked::contradicted(world, &world.customer().await, "2000").await;
    let file = world.written_file().await;
    let paid_out = settling::settled(world, &STEPS.map(Task::Do)).await;
    vec![
        single,
        posts("/v1/admin/grants", &grant),
        posts(&format!("{of_shop}/cash-room"), &json!({"ceiling": "1000"})),
        posts(&format!("{of_shop}/refund-room"), &json!({"ceiling": "1000"})),
        posts(&format!("{of_shop}/cash-deposits"), &json!({"amount": "100", "reason": "receipt"})),
        posts(&format!("/v1/admin/terminals/{terminal}/cash-room"), &json!({"allot": "100"})),
        patches(&of_shop, &settling::destination()),
        posts("/v1/admin/settlements", &json!({"merchant_id": payable.id})),
        posts(&format!("/v1/admin/terminals/{terminal}/enrolment"), &json!({})),
        posts("/v1/admin/staff", &staff::invitation(&new_id(), "approver")),
        patches(&format!("/v1/admin/staff/{member}"), &json!({"roles": ["approver"]})),
        posts("/v1/admin/account-limits", &limits),
        posts(&format!("/v1/admin/merchants/{new_shop}/staff"), &staff::person(&new_id())),
        posts("/v1/admin/terminals", &json!({"kind": "counter"})),
        world.collects(&counter, "200"),
        posts(&world.reversal_of(&shop.id, "100").await, &json!({"reason": "receipt of another"})),
        world.refunds_for(&shop.id, &paid.text("/payment_id"), "100"),
        world.takes_back(&counter, &reversed),
        posts(terms::CHANGES, &terms::body(&json!({"points_rate": "0.02"}), terms::in_an_hour(world))),
        posts(terms::CANCELLATION, &json!({"version": 2})),
        posts(&format!("/v1/admin/cards/{loaded}/replace"), &json!({"new_card_id": fresh})),
        assets::sets(world).await,
        sign_ins::moves(world, &rich.id, &new_id()),
        world.closes(&world.customer_with("300").await.id, true),
        world.closes_card(&world.card(None, "300").await, true),
        world.claims(&world.unclaimed("300").await, &customer.id, "300"),
        world.pays_out(&world.unclaimed("300").await, "300"),
        world.winds_down(),
        world.runs_settlements("2026-11-20"),
        world.schedules(&shop.id, Some("by_hand")),
        world.erases(&world.closed_customer().await, "request 2026-117"),
        posts("/v1/admin/adjustments", &adjustment),
        posts(&format!("/v1/admin/topups/{}/decisions", topup.id), &json!({"way": "book", "note": "looked at it"})),
        posts(&format!("{paid_out}/returns"), &json!({"note": "as the bank says"})),
        world.about_file(&file, "withdraw", owner),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_approved_by_sixteen_at_once_is_executed_once() {
    let rules = overridable(&[("customer", "pay_day=1000")]);
    let world = World::with_terms(Host::fresh(), "approvals-every", |terms| {
        terms.limits = Some(rules.clone());
    })
    .await;
    let (mut places, mut followed) = (BTreeSet::new(), Vec::new());
    for request in requests(&world).await {
        let stored = world.api.settle(&request).await.good();
        assert_eq!(stored.status, 202, "{stored:?}");
        let id = stored.text("/approval_id");
        let read = async { world.app.approval(&world.slug(), ApprovalId::parse(&id).expect("an id")).await };
        let approval = gate::as_test(read).await.expect("a command");
        let place = place(&approval.command);
        assert!(place < KINDS && places.insert(place), "{approval:?}");
        let calls: Vec<Call> = (0..16).map(|_| decides("approve", &id, &world.second.who)).collect();
        let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
        let (good, refused): (Vec<&Answer>, Vec<&Answer>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!(good.len(), 1, "{request:?}: {answers:?}");
        // What the first approval made is none of the others' business.
        let is_late = |answer: &Answer| answer.code().as_deref() == Some("wrong_state");
        assert!(refused.iter().all(|answer| is_late(answer)), "{answers:?}");
        let is_stored = |(_, answer): &(&Call, &Answer)| answer.status != 409;
        for (call, first) in calls.iter().zip(&answers).filter(is_stored) {
            let again = world.api.settle(call).await;
            assert_eq!((again.stored(), again.replayed()), (first.stored(), true));
        }
        assert!(world.api.settle(&request).await.replayed());
        followed.push(Followed { request, approval, acts: BTreeSet::new() });
    }
    assert_eq!(places.len(), KINDS, "a kind of command is not requested: {places:?}");
    let books = world.check_books().await;
    for (_, _, act) in books.under("AUDIT#") {
        let of = act.map("details").ok().and_then(|details| details.opt_text("approval_id").ok().flatten());
        let named = followed.iter_mut().find(|followed| Some(followed.approval.id.to_string().as_str()) == of);
        if let Some(followed) = named {
            let _ = followed.acts.insert(act.string("action").expect("an action"));
        }
    }
    page::assert_written(&followed);
}

/// In every phase of a migration two commands are approved once by 12 each at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approvals_in_every_phase_of_a_migration_execute_once() {
    let phases = [Model::GodRecord, Model::HalfWay].into_iter().flat_map(Phase::all).enumerate();
    for (at, phase) in share::of_family(phases) {
        let world = World::migrating(&format!("approvals-phase-{at}"), phase).await;
        let customer = world.customer().await;
        let owner = &world.operator.who;
        let requested = json!({
            "customer_id": customer.id, "direction": "credit", "amount": "300", "reason_code": "correction", "note": "twice",
        });
        let requested = Call::post("/v1/admin/adjustments", owner, &requested).key(new_key());
        let adjustment = world.api.settle(&requested).await.good().text("/approval_id");
        let grant = json!({"customer_id": customer.id, "asset": "POINT", "amount": "40", "reason": "spring"});
        let grant = Call::post("/v1/admin/grants", owner, &grant).key(new_key());
        let grant = world.api.settle(&grant).await.good().text("/approval_id");
        let inbox = Call::get("/v1/admin/approvals?state=pending", owner);
        let inbox = world.api.send(&inbox).await.good().json();
        assert_eq!(inbox["items"].as_array().map(Vec::len), Some(2), "{phase:?}: {inbox}");
        let second = &world.second.who;
        let ids = [&adjustment, &grant];
        let calls: Vec<Call> = (0..24).map(|at| decides("approve", ids[at % 2], second)).collect();
        let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
        let good = answers.iter().filter(|answer| answer.status == 200).count();
        let refused = answers.iter().filter(|answer| answer.code().as_deref() == Some("wrong_state")).count();
        assert_eq!((good, refused), (2, 22), "{phase:?}: {answers:?}");
        for (call, first) in calls.iter().zip(&answers) {
            assert_eq!(world.api.settle(call).await.stored(), first.stored(), "{phase:?}");
        }
        let balances = [world.balance(&customer, "ECOPAY").await, world.balance(&customer, "POINT").await];
        assert_eq!(balances, ["300", "40"], "{phase:?}");
        // An account's own limits are attributes that no phase moves.
        let limits = account_limits::body(&format!("customer:{}", customer.id), "pay_day", "2000");
        let limits = Call::post("/v1/admin/account-limits", owner, &limits).key(new_key());
        let _ = world.api.settle(&limits).await.problem(400, "wrong_state");
        let _ = world.check_books().await;
    }
}
