//! Access: invalid tokens, tokens of another API, and ids of another tenant, merchant or customer, which get the same
//! answer as ids that do not exist.
use ledger_local::clock;
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Who, World, parked};
use serde_json::{Value, json};

/// Some reads of each API.
fn reads(stage: &Stage, customer: &Who) -> Vec<Call> {
    let list = [
        ("/v1/me", customer),
        ("/v1/me/balances", customer),
        ("/v1/me/limits", customer),
        ("/v1/me/transactions", customer),
        ("/v1/me/operations/pay/k", customer),
        ("/v1/merchant", &stage.merchant.who),
        ("/v1/merchant/balances", &stage.merchant.who),
        ("/v1/merchant/payments", &stage.merchant.who),
        ("/v1/admin/audit", &stage.world.operator.who),
        ("/v1/admin/idempotency/readiness", &stage.world.operator.who),
        ("/v1/admin/attention", &stage.world.operator.who),
    ];
    list.map(|(path, who)| Call::get(path, who)).to_vec()
}

#[tokio::test]
async fn invalid_tokens_and_tokens_of_another_api_are_refused() {
    let stage = Stage::new(World::alone("tokens").await).await;
    let world = &stage.world;
    let customer = world.customer().await;
    let mut calls = reads(&stage, &customer.who);
    for endpoint in Endpoint::ALL {
        calls.push(endpoint.prepare(&stage).await.call);
    }
    let (staff, now_s) = (new_id(), clock::epoch_s());
    let admin = world.grant_of("admin", &staff, None);
    let expired = world.issue(&admin, now_s - 7_200, 3_600);
    let early = world.issue(&admin, now_s + 600, 3_600);
    let Who::Bearer(good) = world.issue(&admin, now_s, 3_600) else { panic!("a token") };
    let (head, signature) = good.rsplit_once('.').expect("three parts");
    let (header, claims) = head.split_once('.').expect("three parts");
    let elsewhere = World::alone("tokens").await.issue(&admin, now_s, 3_600);
    let forged = [
        format!("{head}.{}", signature.chars().rev().collect::<String>()),
        format!("{header}.{claims}x.{signature}"),
        format!("eyJhbGciOiJub25lIn0.{claims}."),
        format!("{head}."),
        "x".to_owned(),
    ];
    let mut unauthenticated = vec![Who::Anonymous, expired, early, elsewhere];
    unauthenticated.extend(forged.into_iter().map(Who::Bearer));
    let unknown = ledger_local::issuer::Grant { tenant: "unheard-of".to_owned(), ..admin };
    let unknown = world.issue(&unknown, now_s, 3_600);

    let before = world.books().await;
    for call in &calls {
        let is_terminals = call.path.starts_with("/v1/terminal/");
        for caller in &unauthenticated {
            let answer = world.api.send(&call.clone().by(caller)).await;
            assert_eq!(answer.status, 401, "{call:?} by {caller:?}: {answer:?}");
            assert!(is_terminals || answer.header("www-authenticate").is_some(), "{answer:?}");
        }
        for other in [&customer.who, &stage.merchant.who, &world.operator.who] {
            if is_terminals {
                let _ = world.api.send(&call.clone().by(other)).await.problem(401, "signature_invalid");
            } else if client(&call.who) != client(other) {
                let _ = world.api.send(&call.clone().by(other)).await.problem(401, "unauthenticated");
            }
        }
        if call.path.starts_with("/v1/admin/") && call.body.is_some() {
            let _ = world.api.send(&call.clone().by(&unknown)).await.problem(403, "tenant_unknown");
        }
    }
    world.books().await.unchanged_since(&before, "a refused token moved something");
    // A customer who signs in at the client of staff has a token of that API, and no record: nothing is permitted. What needs
    // no permission is about the caller's own record.
    let merchant = Some(stage.merchant.id.as_str());
    let at_clients = [("merchant", merchant), ("admin", None)];
    let strangers = at_clients.map(|(api, of)| world.issue(&world.grant_of(api, &customer.id, of), now_s, 3_600));
    for call in &calls {
        for stranger in strangers.iter().filter(|stranger| client(&call.who) == client(stranger)) {
            let answer = world.api.send(&call.clone().by(stranger)).await;
            let code = answer.code().unwrap_or_default();
            let is_refused = matches!((answer.status, code.as_str()), (403, "permission_missing") | (404, "not_found"));
            assert!(is_refused, "{call:?}: {answer:?}");
        }
    }
}

/// The client that a caller's token was issued to.
fn client(who: &Who) -> Value {
    use base64::Engine as _;
    let Who::Bearer(token) = who else { return Value::Null };
    let claims = token.split('.').nth(1).expect("three parts");
    let json = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).expect("base64");
    serde_json::from_slice::<Value>(&json).expect("claims")["client_id"].clone()
}

/// Asserts that other owners' ids get the same 404 as an id that does not exist.
async fn indistinguishable(world: &World, call: &Call, others: &[String]) {
    let to = |id: &str| {
        let fill = |text: &str| text.replace("<id>", id);
        let mut call = call.clone().at(fill(&call.path));
        call.body = call.body.as_deref().map(fill);
        let key = match &call.who {
            Who::Terminal(credential) => format!("{}-{}-{}", credential.terminal_id, credential.epoch, fresh_number()),
            Who::Anonymous | Who::Bearer(_) => new_key(),
        };
        call.key(key)
    };
    let absent = world.api.send(&to(&new_id())).await.problem(404, "not_found");
    let same = |answer: &Answer| {
        let headers = |answer: &Answer| {
            let named = answer.headers.iter().filter(|(name, _)| !["date", "request-id"].contains(&name.as_str()));
            named.cloned().collect::<Vec<_>>()
        };
        (answer.status, &answer.body, headers(answer)) == (absent.status, &absent.body, headers(&absent))
    };
    for id in others {
        let answer = world.api.send(&to(id)).await;
        assert!(same(&answer), "{call:?} for {id}: {answer:?} but an absent id gets {absent:?}");
    }
}

fn fresh_number() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1_000_000);
    NEXT.fetch_add(1, Ordering::SeqCst)
}

/// The ids of another owner's resources.
struct Others {
    customer: String,
    merchant: String,
    card: String,
    terminal: String,
    payment: String,
    transaction: String,
    card_payment: String,
    adjustment: String,
    job: String,
    code: String,
    topup: String,
    topup_refund: String,
    event: String,
    parked: String,
    preview: String,
}

async fn others(stage: &Stage) -> Others {
    let world = &stage.world;
    let customer = world.customer_with("500").await;
    let paid = world.api.settle(&customer.pays(&stage.merchant, "100")).await.good();
    let (card, _, card_payment) = stage.paid_by_card("100").await;
    let _ = world.api.settle(&stage.terminal.does("topup", &card, &json!({"amount": "500"}))).await.good();
    let approval = world.approval(&json!({"customer_id": customer.id}), "credit", "1").await;
    let adjustment = approval.path.split('/').nth(4).expect("an id").to_owned();
    let bulk = json!({"customer_ids": [customer.id], "asset": "POINT", "amount": "1", "reason": "x"});
    let bulk = Call::post("/v1/admin/grants", &world.operator.who, &bulk).key(new_key());
    let job = world.executes(&bulk).await.good().text("/job_id");
    let issue = Call::post("/v1/me/payment-code", &customer.who, &json!({})).key(new_key());
    let code = world.api.settle(&issue).await.good().text("/code");
    let topup = world.paid_topup(&customer, "1000").await;
    let topup_refund = world.api.settle(&topup.refund(world, "300")).await.good().text("/refund_id");
    let event = world.paid_event(&new_id(), "pi_unknown", 300);
    let _ = world.webhook(&event).await.problem(503, "event_kept");
    let parked = parked::topup(world, &world.customer().await, "300").await.id;
    let preview = world.api.settle(&Endpoint::TermsPreview.prepare(stage).await.call).await.good();
    Others {
        customer: customer.id,
        merchant: stage.merchant.id.clone(),
        card,
        terminal: stage.terminal.id.clone(),
        payment: paid.text("/payment_id"),
        transaction: paid.text("/transaction_id"),
        card_payment,
        adjustment,
        job,
        code,
        topup: topup.id,
        topup_refund,
        event: event["id"].as_str().expect("an id").to_owned(),
        parked,
        preview: preview.text("/job_id"),
    }
}

#[tokio::test]
async fn ids_of_another_tenant_are_not_found() {
    let (stage, foreign) = (Stage::new(World::new("own").await).await, Stage::new(World::new("foreign").await).await);
    let world = &stage.world;
    let theirs = others(&foreign).await;
    let (customer, card) = (world.customer_with("500").await, world.card(None, "500").await);
    let own_topup = world.paid_topup(&customer, "100").await.id;
    let (reason, refund) = (json!({"reason": "x"}), json!({"amount": "1", "reason": "x"}));
    let give_up = json!({"action": "give_up", "reason": "x"});
    let before = (world.books().await, foreign.world.books().await);
    let (operator, merchant, terminal) = (&world.operator.who, &stage.merchant.who, &stage.terminal.who);
    let amount = json!({"amount": "1"});
    let frozen = json!({"status": "frozen"});
    let sign_in = json!({"subject": new_id(), "reason": "x"});
    let grant = json!({"customer_id": "<id>", "asset": "POINT", "amount": "1", "reason": "x"});
    let cases = [
        (
            &theirs.merchant,
            Call::post("/v1/me/payments", &customer.who, &json!({"merchant_id": "<id>", "amount": "1"})),
        ),
        (&theirs.card, Call::patch("/v1/me/cards/<id>", &customer.who, &frozen)),
        (&theirs.transaction, Call::get("/v1/me/transactions/<id>", &customer.who)),
        (&theirs.payment, Call::get("/v1/merchant/payments/<id>", merchant)),
        (&theirs.payment, Call::post("/v1/merchant/payments/<id>/refunds", merchant, &amount)),
        (&theirs.payment, Call::post("/v1/merchant/payments/<id>/capture", merchant, &amount)),
        (&theirs.payment, Call::post("/v1/merchant/payments/<id>/void", merchant, &json!({}))),
        (&theirs.customer, Call::get("/v1/admin/customers/<id>", operator)),
        (&theirs.customer, Call::get("/v1/admin/customers/<id>/limits", operator)),
        (&theirs.customer, Call::get("/v1/admin/customers/<id>/file", operator)),
        (&theirs.customer, Call::get("/v1/admin/customers/<id>/transactions", operator)),
        (&theirs.customer, Call::get("/v1/admin/customers/<id>/topups", operator)),
        (&theirs.card, Call::get("/v1/admin/cards/<id>/transactions", operator)),
        (&theirs.payment, Call::get("/v1/admin/payments/<id>", operator)),
        (&theirs.merchant, Call::get("/v1/admin/merchants/<id>/payments", operator)),
        (&theirs.customer, Call::patch("/v1/admin/customers/<id>", operator, &frozen)),
        (&theirs.customer, Call::post("/v1/admin/customers/<id>/sign-in", operator, &sign_in)),
        (&theirs.customer, Call::patch("/v1/admin/customers/<id>", operator, &json!({"name": "x"}))),
        (&theirs.merchant, Call::get("/v1/admin/merchants/<id>", operator)),
        (&theirs.merchant, Call::patch("/v1/admin/merchants/<id>", operator, &json!({"status": "suspended"}))),
        (&theirs.card, Call::get("/v1/admin/cards/<id>", operator)),
        (&theirs.card, Call::patch("/v1/admin/cards/<id>", operator, &frozen)),
        (&theirs.terminal, Call::get("/v1/admin/terminals/<id>", operator)),
        (&theirs.terminal, Call::patch("/v1/admin/terminals/<id>", operator, &frozen)),
        (&theirs.terminal, Call::post("/v1/admin/terminals/<id>/enrolment", operator, &json!({}))),
        (&theirs.merchant, Call::post("/v1/admin/terminals", operator, &json!({"merchant_id": "<id>"}))),
        (&theirs.customer, Call::post("/v1/admin/cards", operator, &json!({"customer_id": "<id>"}))),
        (&theirs.customer, Call::post("/v1/admin/grants", operator, &grant)),
        (&theirs.job, Call::get("/v1/admin/jobs/<id>", operator)),
        (&theirs.adjustment, Call::get("/v1/admin/adjustments/<id>", operator)),
        (&theirs.adjustment, Call::get("/v1/admin/approvals/<id>", operator)),
        (&theirs.adjustment, Call::post("/v1/admin/approvals/<id>/approve", operator, &json!({}))),
        (&theirs.adjustment, Call::post("/v1/admin/approvals/<id>/reject", operator, &json!({}))),
        (&theirs.topup, Call::get("/v1/me/topups/<id>", &customer.who)),
        (&theirs.topup, Call::get("/v1/admin/topups/<id>", operator)),
        (&theirs.topup, Call::post("/v1/admin/topups/<id>/refunds", operator, &refund)),
        (&theirs.topup_refund, Call::get(&format!("/v1/admin/topups/{}/refunds/<id>", theirs.topup), operator)),
        (&theirs.topup_refund, Call::get(&format!("/v1/admin/topups/{own_topup}/refunds/<id>"), operator)),
        (&theirs.event, Call::post("/v1/admin/attention/events/<id>/dismiss", operator, &reason)),
        (&theirs.parked, Call::post("/v1/admin/attention/operations/<id>/resolve", operator, &give_up)),
        (&theirs.preview, Call::get("/v1/admin/terms/previews/<id>", operator)),
        (&theirs.card, Call::get("/v1/terminal/cards/<id>", terminal)),
        (&theirs.card, Call::post("/v1/terminal/cards/<id>/topup", terminal, &amount)),
        (&theirs.card, Call::post("/v1/terminal/cards/<id>/pay", terminal, &amount)),
        (
            &theirs.card_payment,
            Call::post(&format!("/v1/terminal/cards/{card}/refund"), terminal, &json!({"payment_id": "<id>"})),
        ),
        (
            &theirs.card_payment,
            Call::post(&format!("/v1/terminal/cards/{}/refund", theirs.card), terminal, &json!({"payment_id": "<id>"})),
        ),
    ];
    for (id, call) in &cases {
        indistinguishable(world, call, std::slice::from_ref(id)).await;
    }
    let charge =
        Call::post("/v1/merchant/charges", merchant, &json!({"code": theirs.code, "amount": "1"})).key(new_key());
    let _ = world.api.send(&charge).await.problem(404, "not_found");
    world.books().await.unchanged_since(&before.0, "another tenant's id moved something here");
    foreign.world.books().await.unchanged_since(&before.1, "another tenant's id moved something there");
}

#[tokio::test]
async fn ids_of_another_customer_or_merchant_are_not_found() {
    let stage = Stage::new(World::alone("neighbours").await).await;
    let world = &stage.world;
    let theirs = others(&stage).await;
    let neighbours_card = world.card(Some(&world.customer().await), "0").await;
    let (customer, merchant) = (world.customer_with("500").await, world.merchant().await);
    let terminal = world.terminal_with_cash(&merchant, "1000").await;
    let card = world.card(None, "500").await;
    let own = world.api.settle(&terminal.does("pay", &card, &json!({"amount": "100"}))).await.good();
    let own = own.text("/payment_id");
    let before = world.books().await;
    let (amount, by_id) = (json!({"amount": "1"}), json!({"payment_id": "<id>"}));
    let refund_at = |card: &str| Call::post(&format!("/v1/terminal/cards/{card}/refund"), &terminal.who, &by_id);
    let cases = [
        (vec![&theirs.transaction], Call::get("/v1/me/transactions/<id>", &customer.who)),
        (vec![&theirs.topup, &theirs.parked, &theirs.topup_refund], Call::get("/v1/me/topups/<id>", &customer.who)),
        // One is another customer's card, one has no owner.
        (
            vec![&neighbours_card, &theirs.card],
            Call::patch("/v1/me/cards/<id>", &customer.who, &json!({"status": "frozen"})),
        ),
        (vec![&theirs.payment, &theirs.card_payment], Call::get("/v1/merchant/payments/<id>", &merchant.who)),
        (vec![&theirs.payment], Call::post("/v1/merchant/payments/<id>/refunds", &merchant.who, &amount)),
        (vec![&theirs.payment], Call::post("/v1/merchant/payments/<id>/capture", &merchant.who, &amount)),
        (vec![&theirs.payment], Call::post("/v1/merchant/payments/<id>/void", &merchant.who, &json!({}))),
        // Another merchant's payment of this card; then this merchant's payment, of another card.
        (vec![&theirs.card_payment], refund_at(&theirs.card)),
        (vec![&own], refund_at(&theirs.card)),
    ];
    for (ids, call) in &cases {
        indistinguishable(world, call, &ids.iter().map(|id| (*id).clone()).collect::<Vec<_>>()).await;
    }
    world.books().await.unchanged_since(&before, "a neighbour's id moved something");
    // A terminal can look up and reverse only its own keys.
    let key = stage.terminal.next_key();
    let lookup = Call::get(&format!("/v1/terminal/operations/card_pay/{key}"), &terminal.who);
    let _ = world.api.send(&lookup).await.problem(400, "idempotency_key_invalid");
    let reversal = Call::post(&format!("/v1/terminal/operations/card_pay/{key}/reverse"), &terminal.who, &json!({}));
    let _ = world.api.send(&reversal.key(terminal.next_key())).await.problem(400, "idempotency_key_invalid");
}
