//! One-time secrets: no row has one in clear, and a response that has one is replayed byte for byte, by every process that
//! has the key.
use futures::future::join_all;
use ledger_core::dynamo::{Item, Value as Stored};
use ledger_core::operation::Operation;
use ledger_local::marker_keys;
use ledger_runtime::metrics::Metric;
use ledger_tests::http::psp_tap::Mishap;
use ledger_tests::http::topup_rig::{LEASE_OVER, Rig, Scene};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Call, World};
use serde_json::{Value, json};

/// Where a response has its secret.
struct Secret {
    call: Call,
    member: &'static str,
    operation: &'static str,
}

/// A customer and a terminal, whose requests answer with one-time secrets.
struct Issuing {
    rig: Rig,
    scene: Scene,
    terminal: String,
}

async fn issuing(tenant: &str) -> Issuing {
    let rig = Rig::new().await;
    let scene = rig.scene(tenant).await;
    let (world, merchant) = (&scene.world, scene.world.merchant().await);
    let open = Call::post("/v1/admin/terminals", &world.operator.who, &json!({"merchant_id": merchant.id}));
    let terminal = world.api.send(&open.key(new_key())).await.good().text("/terminal_id");
    Issuing { rig, scene, terminal }
}

impl Issuing {
    fn world(&self) -> &World {
        &self.scene.world
    }

    /// A request of each operation, which answers with a secret: the operator may issue one enrolment code.
    async fn permitted_secrets(&self) -> Vec<Secret> {
        let path = format!("/v1/admin/terminals/{}/enrolment", self.terminal);
        assert_eq!(self.world().operator(&path, &json!({})).await.status, 202);
        self.secrets()
    }

    /// A request of each operation that answers with a secret.
    fn secrets(&self) -> Vec<Secret> {
        let (customer, operator) = (&self.scene.customer.who, &self.world().operator.who);
        let enrolment = format!("/v1/admin/terminals/{}/enrolment", self.terminal);
        vec![
            Secret {
                call: Call::post("/v1/me/payment-code", customer, &json!({})).key(new_key()),
                member: "/code",
                operation: "payment_code",
            },
            Secret {
                call: Call::post(&enrolment, operator, &json!({})).key(new_key()),
                member: "/code",
                operation: "enrolment_code",
            },
            Secret { call: self.scene.topup(), member: "/client_secret", operation: "topup" },
        ]
    }

    /// The rows that have a text, in an attribute of any kind.
    async fn rows_with(&self, text: &str) -> usize {
        let books = self.world().check_books().await;
        books.rows.values().filter(|row| row.values().any(|value| contains(value, text))).count()
    }

    /// The marker under a call's key.
    async fn marker(&self, call: &Call) -> Item {
        let key = call.key.as_deref().expect("a key");
        let books = self.world().books().await;
        let mut markers = books
            .rows
            .into_iter()
            .filter(|((_, sk), _)| sk.starts_with("card_op_idem#") && sk.ends_with(&format!("#{key}")));
        markers.next().expect("a marker").1
    }
}

fn contains(value: &Stored, text: &str) -> bool {
    match value {
        Stored::S(stored) | Stored::N(stored) => stored.contains(text),
        Stored::B(bytes) => bytes.windows(text.len()).any(|window| window == text.as_bytes()),
        Stored::L(list) => list.iter().any(|value| contains(value, text)),
        Stored::M(map) => map.values().any(|value| contains(value, text)),
        Stored::Bool(_) => false,
    }
}

/// The keys of every stack in memory, and a further one that is the current one.
fn rotated() -> String {
    let mut keys: Value = serde_json::from_str(marker_keys::in_memory().expose()).expect("an object");
    keys["current"] = json!("k9");
    keys["k9"] = json!("9".repeat(64));
    keys.to_string()
}

fn only_another() -> String {
    json!({"current": "k8", "k8": "8".repeat(64)}).to_string()
}

fn version(marker: &Item) -> Option<&Stored> {
    marker.get("fp_v")
}

fn assert_replayed(first: &Answer, again: &Answer) {
    assert_eq!((again.stored(), again.replayed()), (first.stored(), true));
}

#[tokio::test]
async fn no_row_has_a_one_time_secret_and_it_is_replayed() {
    let issuing = issuing("secrets-none").await;
    let api = &issuing.world().api;
    let covered: Vec<&str> = issuing.secrets().iter().map(|secret| secret.operation).collect();
    let all: Vec<&str> = ["payment_code", "enrolment_code", "topup"].into();
    assert_eq!(covered, all);
    for operation in Operation::ANSWERING_WITH_SECRET {
        assert!(covered.contains(&operation.name()), "{operation} has a case here");
    }
    for Secret { call, member, operation } in issuing.permitted_secrets().await {
        let first = api.settle(&call).await.good();
        let secret = first.text(member);
        assert!(secret.len() > 20, "{secret}");
        assert_eq!(issuing.rows_with(&secret).await, 0, "{operation}");
        assert_replayed(&first, &api.settle(&call).await);
        let key = call.key.as_deref().expect("a key");
        if operation != "enrolment_code" {
            let path = format!("/v1/me/operations/{operation}?key={key}");
            let seen = api.send(&Call::get(&path, &issuing.scene.customer.who)).await.good().json();
            assert_eq!((&seen["state"], &seen["answer"]), (&json!("done"), &first.json()));
        }
    }
    assert_ne!(issuing.rows_with(&issuing.scene.customer.id).await, 0, "the search finds what is stored in clear");
}

#[tokio::test]
async fn rotated_keys_replay_what_was_written_before() {
    let issuing = issuing("secrets-rotated").await;
    let (before, after) = (issuing.rig.actor().await, issuing.rig.actor_with_marker_keys(&rotated()).await);
    for Secret { call, .. } in issuing.permitted_secrets().await {
        let first = before.settle(&call).await.good();
        assert_replayed(&first, &after.settle(&call).await);
        assert_eq!(issuing.marker(&call).await.get("fp_key"), Some(&Stored::s("in-memory")));
    }
    for Secret { call, .. } in issuing.permitted_secrets().await {
        let first = after.settle(&call).await.good();
        assert_eq!(issuing.marker(&call).await.get("fp_key"), Some(&Stored::s("k9")));
        assert_replayed(&first, &after.settle(&call).await);
        // A process whose secret has not got the key yet does not answer, and executes nothing.
        let rows = issuing.world().check_books().await.rows;
        let _ = before.send(&call).await.problem(503, "unavailable");
        assert_eq!(issuing.world().check_books().await.rows, rows);
    }
}

#[tokio::test]
async fn without_keys_nothing_is_written_and_nothing_keyed_is_replayed() {
    let issuing = issuing("secrets-absent").await;
    let (world, customer) = (issuing.world(), &issuing.scene.customer);
    let holder = issuing.rig.actor().await;
    let merchant = world.merchant().await;
    let secrets = issuing.permitted_secrets().await;
    let firsts = join_all(secrets.iter().map(|secret| holder.settle(&secret.call))).await;
    let refused = customer.pays(&merchant, "1");
    let _ = holder.settle(&refused).await.problem(400, "insufficient_balance");
    let rows = world.check_books().await.rows;
    for text in [String::new(), "{}".to_owned(), only_another()] {
        let actor = issuing.rig.actor_with_marker_keys(&text).await;
        let replays = secrets.iter().map(|secret| secret.call.clone()).chain([refused.clone()]);
        // Of all operations, since their fingerprints are keyed too.
        for call in replays {
            let _ = actor.send(&call).await.problem(503, "unavailable");
        }
        assert!(actor.counted(Metric::SecretsStale) > 0);
        if text == only_another() {
            continue;
        }
        let fresh = issuing.secrets().into_iter().map(|secret| secret.call).chain([customer.pays(&merchant, "1")]);
        for call in fresh {
            let _ = actor.send(&call).await.problem(503, "unavailable");
        }
        assert_eq!(actor.psp.sends(), 0, "nothing is sent before the keys are there");
    }
    assert_eq!(world.check_books().await.rows, rows);
    for (secret, first) in secrets.iter().zip(&firsts) {
        assert_replayed(first, &holder.settle(&secret.call).await);
    }
}

#[tokio::test]
async fn response_that_was_encrypted_for_another_key_is_an_internal_error() {
    let issuing = issuing("secrets-moved").await;
    let call = |key: &str| Call::post("/v1/me/payment-code", &issuing.scene.customer.who, &json!({})).key(key);
    let api = &issuing.world().api;
    let (one, other) = (call("one"), call("other"));
    for call in [&one, &other] {
        let _ = api.settle(call).await.good();
    }
    let (from, mut to) = (issuing.marker(&one).await, issuing.marker(&other).await);
    let _ = to.insert("encrypted_body".to_owned(), from["encrypted_body"].clone());
    issuing.world().plant(to).await;
    let _ = api.send(&other).await.problem(500, "internal");
    assert!(api.settle(&one).await.replayed());
}

/// Claimed by one process, completed by another: by a retry, by the recovery worker, and by an event.
#[tokio::test]
async fn topup_in_flight_is_completed_with_the_key_of_its_claim() {
    let issuing = issuing("secrets-flight").await;
    let scene = &issuing.scene;
    let lost = async || {
        let (actor, call) = (issuing.rig.actor().await, scene.topup());
        actor.psp.next_sends([Some(Mishap::LostAfter), Some(Mishap::LostAfter)]);
        let _ = actor.send(&call).await.problem(503, "outcome_unknown");
        assert_eq!(scene.marker(&call).await.as_deref(), Some("IN_FLIGHT"));
        call
    };
    let ahead = async |keys: &str| {
        let actor = issuing.rig.actor_with_marker_keys(keys).await;
        actor.clock.ahead(LEASE_OVER);
        actor
    };
    for way in ["event", "retry", "recovery"] {
        let call = lost().await;
        // Without the key of the claim no process completes it, and none stores the secret in clear.
        let keyless = ahead(&only_another()).await;
        match way {
            "event" => {
                scene.pay();
                let mut refused = 0;
                for event in scene.events() {
                    let answer = keyless.deliver(scene, &event).await;
                    refused += usize::from(answer.status == 503);
                }
                assert_ne!(refused, 0, "Stripe delivers it again");
            }
            _ => {
                let recovered = keyless.recover(scene).await.expect("a run");
                assert_eq!((recovered.completed, recovered.waiting), (0, 1));
            }
        }
        assert_ne!(scene.marker(&call).await.as_deref(), Some("COMPLETED"), "{way}");
        let rotated = ahead(&rotated()).await;
        match way {
            "event" => rotated.deliver_all(scene, &scene.events()).await,
            "recovery" => {
                rotated.clock.ahead(LEASE_OVER * 4);
                assert_eq!(rotated.recover(scene).await.expect("a run").completed, 1);
            }
            _ => {
                let _ = rotated.settle(&call).await.good();
            }
        }
        let marker = issuing.marker(&call).await;
        assert_eq!((version(&marker), marker.get("fp_key")), (Some(&Stored::int(1)), Some(&Stored::s("in-memory"))));
        let answers = [rotated.settle(&call).await, issuing.rig.actor().await.settle(&call).await];
        assert_replayed(&answers[0], &answers[1]);
        let secret = answers[0].clone().good().text("/client_secret");
        assert_eq!(issuing.rows_with(&secret).await, 0, "{way}");
    }
}
