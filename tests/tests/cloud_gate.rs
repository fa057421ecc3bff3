//! The gate between functions and their store refuses as AWS does: what the role of the function that
//! calls does not allow, and only that.
#![cfg(feature = "stack")]

use ledger_core::ids::Tenant;
use ledger_core::{keys, reads};
use ledger_runtime::dynamo::ReadError;
use ledger_runtime::problem::Problem;
use ledger_tests::cloud::gate;
use ledger_tests::http::World;

fn slug(world: &World) -> Tenant {
    Tenant::parse(&world.tenant).expect("a slug")
}

#[tokio::test]
async fn a_call_needs_the_role_of_its_function() {
    let world = World::new("gate").await;
    let tenant = slug(&world);
    let query = reads::audit_records(&tenant, None);
    let query = || world.app.dynamo().query(&query);
    // Who credits has no business in a partition; the operator's face lists the audit there.
    let denied = gate::as_function("crediting", query()).await;
    assert_eq!(denied, Err(ReadError::Refused("AccessDeniedException".to_owned())));
    assert!(gate::as_function("admin", query()).await.is_ok());
    assert!(gate::as_test(query()).await.is_ok());
    let refused = gate::record().refused;
    assert!(refused.iter().any(|line| line.starts_with("crediting: Query: dynamodb:Query on ")), "{refused:?}");
    // A function that the template does not have may do nothing.
    let nobody = gate::as_function("nobody", query()).await;
    assert_eq!(nobody, Err(ReadError::Refused("AccessDeniedException".to_owned())));
}

/// As a client would see it: what a function may not do ends in its own answer to that.
#[tokio::test]
async fn a_refusal_is_what_aws_would_answer() {
    let world = World::new("gate-refusal").await;
    let tenant = slug(&world);
    // A run of the worker that makes its calls under another function's role, which has no such index.
    let problem: Problem = gate::as_function("terminal", jobs::run_due(&world.app, &tenant)).await.unwrap_err();
    assert_eq!(problem.status().as_u16(), 500, "{problem:?}");
    assert!(world.run_jobs().await.is_ok());
}

#[tokio::test]
async fn a_call_that_nobody_makes_is_a_mistake_of_the_test() {
    let world = World::new("gate-nobody").await;
    let (app, tenant) = (world.app.clone(), slug(&world));
    let lost = tokio::spawn(async move { app.dynamo().get(&keys::config(&tenant)).await });
    assert!(lost.await.expect_err("it ends").is_panic());
}

/// The name is not lost on the way through the SDK, retries and the routers' layers, and each request
/// is its own face's.
#[tokio::test]
async fn each_face_calls_under_its_own_name() {
    let world = World::new("gate-names").await;
    let merchant = world.merchant().await;
    let terminal = world.terminal(&merchant).await;
    let customer = world.customer_with("100").await;
    let _ = world.api.settle(&customer.pays(&merchant, "10")).await.good();
    let card = world.card(None, "10").await;
    let _ = world.api.settle(&terminal.does("pay", &card, &serde_json::json!({"amount": "1"}))).await.good();
    let record = gate::record();
    for (function, path) in [
        ("customer", "/v1/me/payments"),
        ("admin", "/v1/admin/customers"),
        ("terminal", "/v1/terminal/cards/{card_id}/pay"),
    ] {
        assert!(record.served.contains(&(function, "POST".to_owned(), path.to_owned())), "{:?}", record.served);
        let wrote = record.asked[function].iter().any(|request| request.action == "dynamodb:PutItem");
        assert!(wrote, "{function}: {:?}", record.asked[function]);
    }
}
