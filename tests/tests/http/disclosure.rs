//! What a refusal says about another's account: nothing of its balance.

use ledger_tests::http::world::new_id;
use ledger_tests::http::{Answer, Call, Customer, World};
use serde_json::{Value, json};

/// The parts of a response that do not name the request.
fn shown(answer: &Answer) -> (u16, bool, Value) {
    (answer.status, answer.replayed(), answer.json())
}

/// Recipients of 1,100: one who would pass the cap of 50,000, and an id without a wallet.
async fn unable(world: &World) -> [Customer; 2] {
    let full = world.customer_with("49000").await;
    let missing = Customer { id: new_id(), who: full.who.clone() };
    [full, missing]
}

#[tokio::test]
async fn sender_without_money_learns_nothing_of_the_recipient() {
    let world = World::new("poor-senders").await;
    let able = world.customer().await;
    let [full, missing] = unable(&world).await;
    let poor = world.customer_with("1000").await;
    let mut answers = Vec::new();
    for recipient in [&able, &full, &missing] {
        answers.push(world.api.settle(&poor.sends(recipient, "1100")).await.problem(400, "insufficient_balance"));
    }
    assert_eq!(answers[0].text("/balance_short"), "100");
    assert!(answers.iter().all(|answer| shown(answer) == shown(&answers[0])), "{answers:?}");
    world.check_books().await;
}

#[tokio::test]
async fn missing_recipient_one_above_the_cap_and_another_tenants_have_one_refusal() {
    let world = World::new("unable-recipients").await;
    let [full, missing] = unable(&world).await;
    let foreign = World::new("unable-recipients-abroad").await;
    let abroad = foreign.customer().await;
    let rich = world.customer_with("5000").await;
    let mut answers = Vec::new();
    for recipient in [&full, &missing, &abroad] {
        let call = rich.sends(recipient, "1100");
        let first = world.api.settle(&call).await.problem(400, "recipient_unavailable");
        let again = world.api.send(&call).await;
        assert_eq!((again.stored(), again.replayed()), (first.stored(), true), "it is stored for either");
        answers.push(shown(&first));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    foreign.check_books().await;
    world.check_books().await;
}

/// A frozen sender is refused as such, whatever the recipient has.
#[tokio::test]
async fn frozen_sender_learns_nothing_of_the_recipient() {
    let world = World::new("frozen-senders").await;
    let [full, missing] = unable(&world).await;
    let frozen = world.customer_with("5000").await;
    world.change(&format!("/v1/admin/customers/{}", frozen.id), &json!({"status": "frozen"})).await;
    for recipient in [&full, &missing] {
        let call: Call = frozen.sends(recipient, "1100");
        let _ = world.api.settle(&call).await.problem(400, "account_frozen");
    }
    world.check_books().await;
}
