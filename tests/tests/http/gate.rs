//! The gate between functions and their store refuses what the function's role or DynamoDB would refuse, and only that.
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::AttributeValue;
use ledger_core::ids::Tenant;
use ledger_core::{keys, reads};
use ledger_local::stack::TABLE_DEFAULT;
use ledger_runtime::dynamo::ReadError;
use ledger_runtime::problem::Problem;
use ledger_tests::cloud::{gate, proxy};
use ledger_tests::http::{Host, World, host};
use ledger_tests::rules::cases::{self, Case, Request};

fn slug(world: &World) -> Tenant {
    Tenant::parse(&world.tenant).expect("a slug")
}

#[tokio::test]
async fn call_beyond_the_functions_role_is_denied() {
    let world = World::new("gate").await;
    let tenant = slug(&world);
    let query = reads::terms(&tenant);
    let query = || world.app.dynamo().query(&query);
    // The role of the function that claims tokens has no access to the table; the admin function's role has.
    let denied = gate::as_function("token-claims", query()).await;
    assert_eq!(denied, Err(ReadError::Refused("AccessDeniedException".to_owned())));
    assert!(gate::as_function("admin", query()).await.is_ok());
    assert!(gate::as_test(query()).await.is_ok());
    let refused = gate::record().refused;
    assert!(refused.iter().any(|line| line.starts_with("token-claims: Query: dynamodb:Query on ")), "{refused:?}");
    // A function that is not in the template has no permission.
    let unknown = gate::as_function("unknown", query()).await;
    assert_eq!(unknown, Err(ReadError::Refused("AccessDeniedException".to_owned())));
}

/// The function answers a denied call with its own error.
#[tokio::test]
async fn denied_call_gives_the_functions_own_500() {
    let world = World::new("gate-refusal").await;
    let tenant = slug(&world);
    // A run of the worker under another function's role, which may not read the index.
    let problem: Problem = gate::as_function("terminal", jobs::run_due(&world.app, &tenant)).await.unwrap_err();
    assert_eq!(problem.status().as_u16(), 500, "{problem:?}");
    assert!(world.run_jobs().await.is_ok());
}

/// A read with an empty key bound: the embedded engine answers it, DynamoDB refuses it.
#[tokio::test]
async fn read_with_empty_key_bound_is_refused() {
    let world = World::new("gate-empty-bound").await;
    let partition = format!("{}#due#0", world.tenant);
    let read = async |client: &Client, low: &str| {
        let value = |text: &str| AttributeValue::S(text.to_owned());
        let query = client.query().table_name(TABLE_DEFAULT).index_name(keys::INDEX_DUE);
        let query = query.key_condition_expression("#pk = :pk AND #sk BETWEEN :low AND :high");
        let query = query.expression_attribute_names("#pk", "_due_pk").expression_attribute_names("#sk", "_due_sk");
        let query = query.expression_attribute_values(":pk", value(&partition));
        let query =
            query.expression_attribute_values(":low", value(low)).expression_attribute_values(":high", value("~"));
        query.send().await.map_err(|error| (error.code().map(str::to_owned), error.message().map(str::to_owned)))
    };
    let host = Host::fresh();
    let gated = host::functions_client(host.stack().dynamodb_url()).await;
    let expected = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain \
                    an empty string value. Key: _due_sk";
    let refused = (Some("ValidationException".to_owned()), Some(expected.to_owned()));
    assert_eq!(gate::as_function("jobs", read(&gated, "")).await.expect_err("an empty bound"), refused);
    assert_eq!(gate::as_test(read(&gated, "")).await.expect_err("an empty bound"), refused);
    assert!(gate::as_function("jobs", read(&gated, "!")).await.is_ok());
    let bare = host::client(host.stack().dynamodb_url()).await;
    assert!(read(&bare, "").await.is_ok(), "the embedded engine must allow an empty bound");
    let invalid = gate::record().invalid;
    assert!(invalid.iter().any(|line| line.starts_with("Query: KeyConditionEmpty: ")), "{invalid:?}");
}

/// Each rule's refused and allowed request over HTTP, as the functions' own processes send them.
#[tokio::test]
async fn every_dynamodb_rule_is_enforced_on_the_wire() {
    let host = Host::fresh();
    let url = proxy::listen(host.stack().dynamodb_url()).await;
    let http = reqwest::Client::new();
    let send = async |request: &Request| {
        let target = format!("DynamoDB_20120810.{}", request.operation);
        let call = http.post(&url).header("x-amz-target", target).header("content-type", "application/x-amz-json-1.0");
        // The embedded engine requires a signature and does not check it.
        let signature = "AWS4-HMAC-SHA256 Credential=test/20261122/us-east-1/dynamodb/aws4_request, \
                         SignedHeaders=host, Signature=00";
        let call = call.header("authorization", signature).header("x-amz-date", "20261122T000000Z");
        let answer = call.body(request.body.to_string()).send().await.expect("an answer");
        let status = answer.status().as_u16();
        let body = answer.bytes().await.expect("a body");
        (status, serde_json::from_slice::<serde_json::Value>(&body).expect("a JSON answer"))
    };
    // The SDK reaches the store through the proxy.
    let absent = host::client(&url).await.get_item().table_name(TABLE_DEFAULT);
    let absent = absent.key("uuid", AttributeValue::S("a".to_owned())).key("type", AttributeValue::S("b".to_owned()));
    assert_eq!(absent.send().await.expect("an answer").item, None);
    let mut wrong = Vec::new();
    for Case { rule, refused, allowed } in cases::all() {
        let (status, answer) = send(&refused).await;
        let code = answer["__type"].as_str().unwrap_or_default();
        if status != 400 || !code.ends_with("#ValidationException") || answer["message"].is_null() {
            wrong.push(format!("{rule:?}: refused: {status} {answer}"));
        }
        let (status, answer) = send(&allowed).await;
        let code = answer["__type"].as_str().unwrap_or_default();
        if !(status == 200
            || code.ends_with("#ConditionalCheckFailedException")
            || code.ends_with("#TransactionCanceledException"))
        {
            wrong.push(format!("{rule:?}: allowed: {status} {answer}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn call_outside_any_function_panics() {
    let world = World::new("gate-outside").await;
    let (app, tenant) = (world.app.clone(), slug(&world));
    let lost = tokio::spawn(async move { app.dynamo().get(&keys::config(&tenant)).await });
    assert!(lost.await.expect_err("the task panics").is_panic());
}

/// The function's name passes through the SDK, its retries and the routers' layers, and each request has the name of
/// its own API.
#[tokio::test]
async fn each_api_calls_under_its_functions_name() {
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
        let wrote = record.requests[function].iter().any(|request| request.action == "dynamodb:PutItem");
        assert!(wrote, "{function}: {:?}", record.requests[function]);
    }
}
