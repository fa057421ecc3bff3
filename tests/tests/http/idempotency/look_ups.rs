//! Lookups of idempotency keys in a path and in a query string.

use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, World};
use serde_json::json;

/// API Gateway decodes a path twice and cuts it at an encoded `?`, as the local gateway does. Of two keys that become
/// one in a path, neither is answered for the other. In a query each is found.
#[tokio::test]
async fn lookup_answers_for_the_right_key_or_refuses() {
    let world = World::new("looked-up-keys").await;
    let (customer, merchant) = (world.customer_with("1000").await, world.merchant().await);
    let uuid = new_key();
    let head = uuid.split('-').next().expect("a part");
    // Pairs of keys, of which the second becomes the first in a path.
    let pairs = [
        ("order-7", "order-7?again".to_owned()),
        ("order-8", "order-8#again".to_owned()),
        ("a/b", "a%2Fb".to_owned()),
        ("ab", "a%62".to_owned()),
        ("a+b", "a%2Bb".to_owned()),
        (uuid.as_str(), uuid.replacen('-', "%2D", 1)),
        ("..", "../pay/order-7".to_owned()),
        ("100%", "100%25".to_owned()),
        ("<>\\^`{|}~", "&=;:,@!$'()*".to_owned()),
    ];
    let look_up = async |path: String| world.api.send(&Call::get(&path, &customer.who)).await;
    let encoded = |key: &str| key.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    for (other, key) in &pairs {
        let _ = world.api.settle(&customer.pays(&merchant, "10").key(*other)).await.good();
        // Only the first key of the pair has been used.
        let found = look_up(format!("/v1/me/operations/pay?key={}", encoded(key))).await.good();
        assert_eq!((found.text("/state"), found.text("/key")), ("not_known_yet".to_owned(), key.clone()));
        let found = look_up(format!("/v1/me/operations/pay?key={}", encoded(other))).await.good();
        assert_eq!((found.text("/state"), found.text("/key")), ("done".to_owned(), (*other).to_owned()));
    }
    for key in pairs.iter().flat_map(|(other, key)| [*other, key.as_str()]).filter(|key| !key.starts_with(head)) {
        // In a path any key other than a UUID is refused, however encoded: it may be the rest of another key.
        let escaped = encoded(key).replace('%', "%25");
        for path in [encoded(key), escaped] {
            let answer = look_up(format!("/v1/me/operations/pay/{path}")).await;
            assert!(matches!(answer.status, 400 | 404), "{key} as {path}: {answer:?}");
        }
    }
    // A UUID in another encoding cannot be distinguished; the answer names the key that it is for.
    let respelled = look_up(format!("/v1/me/operations/pay/{}", encoded(&uuid.replacen('-', "%2D", 1)))).await.good();
    assert_eq!(respelled.text("/key"), uuid);
    assert_eq!(look_up(format!("/v1/me/operations/pay/{uuid}")).await.good().text("/state"), "done");
    let refused = look_up("/v1/me/operations/pay/order-7".to_owned()).await.problem(400, "invalid_request");
    assert!(refused.text("/detail").contains("?key="), "{refused:?}");
    for query in ["", "?key=", "?key=a%20b", "?key=a&key=b", "?key=a&x=b"] {
        assert_eq!(look_up(format!("/v1/me/operations/pay{query}")).await.status, 400, "{query}");
    }
}

/// A terminal signs the path that it sends; another encoding than the function's does not verify.
#[tokio::test]
async fn terminal_request_with_encoded_path_is_refused() {
    let world = World::new("encoded-terminal-paths").await;
    let (merchant, card) = (world.merchant().await, world.card(None, "100").await);
    let terminal = world.terminal(&merchant).await;
    let paid = terminal.does("pay", &card, &json!({"amount": "10"}));
    let _ = world.api.settle(&paid).await.good();
    let key = paid.key.clone().expect("a key");
    let look_up = async |key: &str| {
        world.api.send(&Call::get(&format!("/v1/terminal/operations/card_pay/{key}"), &terminal.who)).await
    };
    assert_eq!(look_up(&key).await.good().text("/state"), "done");
    let _ = look_up(&key.replacen('-', "%2D", 1)).await.problem(401, "signature_invalid");
    let _ = look_up("order-7").await.problem(400, "idempotency_key_invalid");
}
