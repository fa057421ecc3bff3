//! What the marker adds to the store's call: the same transactions with it and without it, sent to the engine.

use crate::connection::Connection;
use crate::inside::{Canned, Inside, MARKER, Payment};
use crate::prepared::Party;
use crate::stats::Latencies;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Any signature: the engine checks its form.
const SIGNATURE: &str = "AWS4-HMAC-SHA256 Credential=k/20261121/r/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, \
                         Signature=s";
/// Pairs before the measured ones.
const WARM_UP: u32 = 20;

/// The number of actions on a marker in a transaction's request.
pub(super) fn actions(body: &str) -> usize {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    body["TransactItems"].as_array().into_iter().flatten().filter(|action| is_marker(action)).count()
}

fn is_marker(action: &Value) -> bool {
    let keys = [&action["Put"]["Item"], &action["Update"]["Key"], &action["ConditionCheck"]["Key"]];
    keys.iter().any(|key| key["type"]["S"].as_str().is_some_and(|key| key.starts_with(MARKER)))
}

/// The latencies of the engine's calls with the marker, and without it.
pub(super) async fn in_store(
    inside: &Inside,
    engine: &mut Connection,
    (payers, merchants): (&[Party], &[Party]),
    samples: u32,
) -> Result<(Latencies, Latencies), String> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for number in 0..WARM_UP + samples {
        let whole = request(inside, &Payment::random(payers, merchants)).await?;
        let less = without_marker(&request(inside, &Payment::random(payers, merchants)).await?)?;
        // Each is sent first every other time.
        let (one, other) = if number % 2 == 0 {
            let one = send(engine, &whole)?;
            (one, send(engine, &less)?)
        } else {
            let other = send(engine, &less)?;
            (send(engine, &whole)?, other)
        };
        if number >= WARM_UP {
            with.push(one);
            without.push(other);
        }
    }
    Ok((Latencies::new(with), Latencies::new(without)))
}

/// The transaction of a payment that is answered without the store.
async fn request(inside: &Inside, payment: &Payment) -> Result<String, String> {
    inside.store.answer_next(Canned::applied());
    let answered = inside.pay(payment).await;
    answered.paid()?;
    let keyed = answered.calls.into_iter().find(|call| call.body.contains(MARKER));
    keyed.map(|call| call.body).ok_or_else(|| "a payment made no call with its marker".to_owned())
}

fn without_marker(request: &str) -> Result<String, String> {
    let mut request: Value = serde_json::from_str(request).map_err(|error| error.to_string())?;
    let actions = request["TransactItems"].as_array_mut().ok_or("a transaction without actions")?;
    let all = actions.len();
    actions.retain(|action| !is_marker(action));
    if actions.len() + 1 == all { Ok(request.to_string()) } else { Err("a transaction without one marker".to_owned()) }
}

fn send(engine: &mut Connection, request: &str) -> Result<Duration, String> {
    let headers = [
        ("x-amz-target", "DynamoDB_20120810.TransactWriteItems"),
        ("content-type", "application/x-amz-json-1.0"),
        ("x-amz-date", "20261121T000000Z"),
        ("authorization", SIGNATURE),
    ];
    let began = Instant::now();
    let answer = engine.post("/", &headers, request).map_err(|error| format!("no answer of the engine: {error}"))?;
    let took = began.elapsed();
    if answer.status == 200 { Ok(took) } else { Err(format!("the engine refused a payment: {}", answer.body)) }
}
