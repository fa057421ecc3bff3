//! A terminal's signature covers the whole request: one changed after signing, sent too late, or signed by another key
//! is refused, and nothing moves.
use ledger_local::clock;
use ledger_local::credential::Credential;
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::world::new_id;
use ledger_tests::http::{Answer, Call, Who, World, approvals};
use reqwest::Method;
use serde_json::json;

/// Sends `call` with the signature of `signed`.
async fn with_signature_of(world: &World, signed: &Call, call: &Call) -> Answer {
    world.api.exchange(call, &world.api.headers(signed)).await.expect("an answer")
}

#[tokio::test]
async fn request_changed_after_signing_is_refused() {
    let stage = Stage::new(World::alone("tampered").await).await;
    let (world, terminal) = (&stage.world, &stage.terminal);
    let (card, other) = (world.card(None, "1000").await, world.card(None, "1000").await);
    let call = terminal.does("pay", &card, &json!({"amount": "100"}));
    let before = world.books().await;
    for tampered in [
        call.clone().field("amount", "1"),
        call.clone().raw(format!("{} ", call.body.clone().unwrap_or_default())),
        call.clone().raw(""),
        call.clone().at(call.path.replace(&card, &other)),
        call.clone().at(call.path.replace("/pay", "/topup")),
        call.clone().at(format!("{}?amount=1", call.path)),
        Call { method: Method::GET, ..call.clone().at(format!("/v1/terminal/cards/{card}")) },
    ] {
        let _ = with_signature_of(world, &call, &tampered).await.problem(401, "signature_invalid");
    }
    let signed = world.api.headers(&call);
    let replaced = |name: &str, value: Option<&str>| {
        let mut headers: Vec<_> = signed.iter().filter(|(have, _)| have != name).cloned().collect();
        headers.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        headers
    };
    let input = signed.iter().find(|(name, _)| name == "signature-input").map(|(_, value)| value.clone());
    let input = input.expect("a signature has its input");
    let next = terminal.next_key();
    let uncovered = input.replace(" \"idempotency-key\"", "");
    let later = input.replace("created=1", "created=2");
    let without_body = input.replace(" \"content-digest\"", "");
    for headers in [
        replaced("idempotency-key", Some(&next)),
        replaced("idempotency-key", None),
        replaced("signature", None),
        replaced("signature", Some("terminal=:AAAA:")),
        replaced("signature", Some("terminal=?1")),
        replaced("signature-input", None),
        replaced("signature-input", Some("x")),
        replaced("signature-input", Some(&uncovered)),
        replaced("signature-input", Some(&without_body)),
        replaced("signature-input", Some(&input.replace("ecdsa-p256-sha256", "hmac-sha256"))),
        replaced("signature-input", Some(&format!("{input}, b={}", input.trim_start_matches("terminal=")))),
        replaced("content-digest", None),
        replaced("content-digest", Some("sha-256=:AAAA:")),
        replaced("content-digest", Some("md5=:AAAA:")),
    ] {
        let answer = world.api.exchange(&call, &headers).await.expect("an answer");
        let _ = answer.problem(401, "signature_invalid");
    }
    let far = world.api.exchange(&call, &replaced("signature-input", Some(&later))).await.expect("an answer");
    let _ = far.problem(401, "signature_expired");
    world.books().await.unchanged_since(&before, "a tampered request moved something");
    // The unchanged request is accepted; sent again verbatim it is the same request.
    let first = world.api.exchange(&call, &signed).await.expect("an answer").good();
    let again = world.api.exchange(&call, &signed).await.expect("an answer");
    assert_eq!((again.stored(), again.replayed()), (first.stored(), true));
    assert_eq!(world.card_balance(&card).await, "900");
    world.check_books().await;
}

#[tokio::test]
async fn signature_outside_its_time_is_refused() {
    let stage = Stage::new(World::alone("signed-late").await).await;
    let (world, credential) = (&stage.world, &stage.terminal.credential);
    let card = world.card(None, "1000").await;
    let call = stage.terminal.does("pay", &card, &json!({"amount": "100"}));
    let before = world.books().await;
    for off_s in [-86_400, -310, 310, 86_400] {
        let headers = world.api.signed(&call, credential, clock::epoch_s() + off_s);
        let answer = world.api.exchange(&call, &headers).await.expect("an answer").problem(401, "signature_expired");
        assert!(answer.text("/server_time").ends_with('Z'), "{answer:?}");
    }
    world.books().await.unchanged_since(&before, "a request with an expired or future signature moved something");
    for off_s in [-290, 290] {
        let headers = world.api.signed(&call, credential, clock::epoch_s() + off_s);
        let _ = world.api.exchange(&call, &headers).await.expect("an answer").good();
    }
    assert_eq!(world.check_books().await.entries_of("card_pay"), 1);
}

#[tokio::test]
async fn signature_of_another_terminal_or_enrolment_is_refused() {
    let stage = Stage::new(World::alone("impostor").await).await;
    let (world, terminal) = (&stage.world, &stage.terminal);
    let neighbour = world.terminal(&stage.merchant).await;
    let card = world.card(None, "1000").await;
    let unenrolled = json!({"merchant_id": stage.merchant.id});
    let unenrolled = world.operator("/v1/admin/terminals", &unenrolled).await.text("/terminal_id");
    let call = terminal.does("pay", &card, &json!({"amount": "100"}));
    let mut before = world.books().await;
    let own = &terminal.credential;
    let (stranger, _) = Credential::key_pair().expect("a key pair");
    let impostors = [
        Credential { private_key: stranger.clone(), ..own.clone() },
        Credential { private_key: neighbour.credential.private_key.clone(), ..own.clone() },
        Credential { terminal_id: neighbour.id.clone(), ..own.clone() },
        Credential { terminal_id: new_id(), ..own.clone() },
        Credential { terminal_id: unenrolled, private_key: stranger, epoch: 0, ..own.clone() },
        Credential { tenant: "demo".to_owned(), ..own.clone() },
        Credential { epoch: own.epoch + 1, ..own.clone() },
        Credential { epoch: 0, ..own.clone() },
        Credential { tenant: "a#b".to_owned(), ..own.clone() },
        Credential { terminal_id: "../x".to_owned(), ..own.clone() },
    ];
    let mut answers = Vec::new();
    for impostor in impostors {
        let answer = world.api.send(&call.clone().by(&Who::Terminal(impostor))).await;
        answers.push(answer.problem(401, "signature_invalid").body);
    }
    // Existing and unknown terminals get the same answer; only a malformed key id gets another.
    assert!(answers[..8].iter().all(|body| *body == answers[0]), "{answers:?}");
    world.books().await.unchanged_since(&before, "an impostor moved something");

    // After a new enrolment the old key is refused, and earlier operations can only be looked up.
    let done = world.api.settle(&call).await.good();
    let fresh = world.enrol(&terminal.id).await;
    before = world.books().await;
    let _ = world.api.send(&call).await.problem(401, "signature_invalid");
    let retried = world.api.send(&call.clone().by(&fresh.who)).await;
    assert_eq!((retried.stored(), retried.replayed()), (done.stored(), true));
    let unknown_operation = call.clone().by(&fresh.who).key(terminal.next_key());
    let _ = world.api.send(&unknown_operation).await.problem(410, "idempotency_key_expired");
    world.books().await.unchanged_since(&before, "an earlier enrolment moved something");
    let _ = world.api.settle(&fresh.does("pay", &card, &json!({"amount": "100"}))).await.good();
    // The enrolment code works once; a repetition with the same public key gets the same answer.
    let path = format!("/v1/admin/terminals/{}/enrolment", terminal.id);
    let code = approvals::issued(world, &path).await.text("/code");
    let [one, another] = [(); 2].map(|()| Credential::key_pair().expect("a key pair").1);
    let answer_code = |code: &str, public_key: &str| {
        Call::post("/v1/terminal/enrolments", &Who::Anonymous, &json!({"code": code, "public_key": public_key}))
    };
    let enrolled = world.api.send(&answer_code(&code, &one)).await.good();
    let again = world.api.send(&answer_code(&code, &one)).await;
    assert_eq!(again.stored(), enrolled.stored());
    let _ = world.api.send(&answer_code(&code, &another)).await.problem(400, "wrong_state");
    let unknown = format!("{}.{}.AAAAAAAAAAAAAAAAAAAAAA", world.tenant, terminal.id);
    let _ = world.api.send(&answer_code(&unknown, &one)).await.problem(404, "not_found");
    let of_unknown_terminal = format!("{}.{}.AAAAAAAAAAAAAAAAAAAAAA", world.tenant, new_id());
    let _ = world.api.send(&answer_code(&of_unknown_terminal, &one)).await.problem(404, "not_found");
    world.check_books().await;
}

#[tokio::test]
async fn frozen_terminal_is_refused() {
    let stage = Stage::new(World::alone("frozen-terminal").await).await;
    let (world, terminal) = (&stage.world, &stage.terminal);
    let card = world.card(None, "1000").await;
    let call = terminal.does("pay", &card, &json!({"amount": "100"}));
    let path = format!("/v1/admin/terminals/{}", terminal.id);
    world.change(&path, &json!({"status": "frozen", "reason": "stolen"})).await;
    let before = world.books().await;
    let _ = world.api.send(&call).await.problem(401, "signature_invalid");
    world.books().await.unchanged_since(&before, "a frozen terminal moved something");
    world.change(&path, &json!({"status": "active"})).await;
    let _ = world.api.settle(&call).await.good();
    world.check_books().await;
}
