//! The share as a table and as a line of JSON.

use super::{LayerLatencies, PROMISED_P99, Share};
use crate::stats::{Latencies, milliseconds};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

const PERCENTILES: [usize; 3] = [500, 990, 999];

/// The table, in microseconds, and a sentence about the promise.
#[must_use]
pub fn table(share: &Share) -> String {
    let mut text = String::from("| part | p50 us | p99 us | p99.9 us |\n|---|---:|---:|---:|\n");
    let mut row = |name: &str, at: &dyn Fn(usize) -> String| {
        let [p50, p99, p99_9] = PERCENTILES.map(at);
        let _ = writeln!(text, "| {name} | {p50} | {p99} | {p99_9} |");
    };
    for (name, latencies) in rows(share) {
        row(name, &|per_mille| micros(latencies.percentile(per_mille)));
    }
    row("the difference of these two", &|per_mille| signed_micros(added(share, per_mille)));
    let layer = share.layer.alone.percentile(990);
    let engine = Duration::from_nanos(u64::try_from(added(share, 990).max(0)).unwrap_or(u64::MAX));
    let calls = &share.calls;
    let _ = writeln!(
        text,
        "\nPromised: under {} ms at p99. Measured: {} ms, of which {} ms is a whole refusal under a key with its call of \
         the SDK, and {} ms what the marker adds to the engine's call.\n\n{} payments made {} calls of the store, with {} \
         markers, and their replays {}; {} calls read what is cached, or leased a part of the rate.",
        milliseconds(PROMISED_P99),
        milliseconds(layer + engine),
        milliseconds(layer),
        milliseconds(engine),
        calls.payments,
        calls.of_payments,
        calls.markers,
        calls.of_replays,
        calls.others,
    );
    text
}

/// The same as one line of JSON, times in nanoseconds.
#[must_use]
pub fn json_lines(share: &Share) -> String {
    let parts: Vec<Value> = rows(share)
        .into_iter()
        .map(|(part, latencies)| {
            let [p50, p99, p99_9] =
                PERCENTILES.map(|at| u64::try_from(latencies.percentile(at).as_nanos()).unwrap_or(u64::MAX));
            json!({"part": part, "p50_ns": p50, "p99_ns": p99, "p99_9_ns": p99_9})
        })
        .collect();
    let calls = &share.calls;
    let line = json!({
        "kind": "idempotency_share", "payments": calls.payments, "calls_of_payments": calls.of_payments,
        "markers": calls.markers, "calls_of_replays": calls.of_replays, "other_calls": calls.others, "parts": parts,
    });
    format!("{line}\n")
}

fn rows(share: &Share) -> [(&'static str, &Latencies); 14] {
    let LayerLatencies { claim, fingerprint, marker, render, of_payment, verdict, alone, sdk } = &share.layer;
    [
        ("claim: key and canonical request", claim),
        ("fingerprint, which the marker's time contains", fingerprint),
        ("marker: made and checked", marker),
        ("marker: its expressions for the store", render),
        ("the layer in a payment: claim, marker, expressions", of_payment),
        ("replay: the stored marker read and compared", verdict),
        ("a whole refusal under a key, with the SDK's call", alone),
        ("the SDK's call of one small update", sdk),
        ("whole payment, over the engine in memory", &share.payments),
        ("of it our code", &share.payments_in_our_code),
        ("whole replay, over the engine in memory", &share.replays),
        ("of it our code", &share.replays_in_our_code),
        ("the engine's call of a payment with its marker", &share.with_marker),
        ("the same without the marker", &share.without_marker),
    ]
}

/// What the marker adds to the engine's call at a percentile, in nanoseconds.
fn added(share: &Share, per_mille: usize) -> i128 {
    let [with, without] = [&share.with_marker, &share.without_marker]
        .map(|latencies| i128::try_from(latencies.percentile(per_mille).as_nanos()).unwrap_or(i128::MAX));
    with - without
}

/// Microseconds with one decimal.
fn micros(duration: Duration) -> String {
    signed_micros(i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX))
}

fn signed_micros(nanos: i128) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let tenths = (nanos.unsigned_abs() + 50) / 100;
    format!("{sign}{}.{}", tenths / 10, tenths % 10)
}
