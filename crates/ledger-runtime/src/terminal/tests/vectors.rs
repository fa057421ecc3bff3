//! Sends the published vectors through the middleware, and compares the pages that show them.

use super::*;
use crate::testing::terminal_vectors::{Vector, Vectors};
use axum::routing::any;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// Sends `vector` at Unix second `at` to a terminal that is enrolled with the vectors' key.
async fn send(vectors: &Vectors, vector: &Vector, at: i64) -> (u16, String) {
    let store = Store::script([record(3, &vectors.key.public_key, "active")]);
    let (ledger, _) = store.ledger_at(Clock::from_fn(move || Timestamp::from_millis(at.checked_mul(1000).unwrap())));
    let app = App::new(ledger, Config::of_table("ledger"));
    let verified = any(async |terminal: Terminal| terminal.id().to_string());
    let routes =
        Router::new().route("/{*path}", verified).route_layer(from_fn_with_state(app.clone(), verify_terminal));
    call(&mut crate::routing::finish(routes, app), vector.request()).await
}

#[tokio::test(start_paused = true)]
async fn each_vector_is_accepted_at_its_times() {
    let vectors = Vectors::load();
    for vector in &vectors.vectors {
        for at in &vector.accepted_at {
            let answer = send(&vectors, vector, *at).await;
            assert_eq!(answer, (200, TERMINAL.to_owned()), "{} at {at}", vector.id);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_changed_vector_is_refused_as_published() {
    let vectors = Vectors::load();
    for refusal in &vectors.refusals {
        let (vector, at) = vectors.changed(refusal);
        let (status, body) = send(&vectors, &vector, at).await;
        let problem: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{}: {error}", refusal.id));
        assert_eq!((status, &problem["code"]), (refusal.status, &json!(refusal.code)), "{}: {body}", refusal.id);
        for (member, published) in [("detail", &refusal.detail), ("server_time", &refusal.server_time)] {
            if let Some(published) = published {
                assert_eq!(problem[member], json!(published), "{}", refusal.id);
            }
        }
        let code = if refusal.server_time.is_some() { "signature_expired" } else { "signature_invalid" };
        assert_eq!((refusal.status, refusal.code.as_str()), (401, code), "{}", refusal.id);
    }
    assert!(vectors.refusals.len() >= 20, "{}", vectors.refusals.len());
}

#[test]
fn pages_show_the_published_vectors() {
    let vectors = Vectors::load();
    let page = |name: &str| std::fs::read_to_string(format!("{DOCS}/{name}")).unwrap();
    let (guide, list) = (page("terminals.md"), page("terminals-vectors.md"));
    let shows = |page: &str, block: &str| assert!(page.contains(block), "the page lacks\n{block}");

    shows(&list, &fenced(&vectors.key.private_key));
    shows(&list, &fenced(&vectors.key.public_key));
    for vector in &vectors.vectors {
        for block in [on_the_wire(vector), fenced(&vector.signature_base.join("\n"))] {
            shows(&list, &block);
            if vector.id == "payment" {
                shows(&guide, &block);
            }
        }
        shows(&list, &format!("## `{}`: {}\n", vector.id, vector.why));
    }
    for refusal in &vectors.refusals {
        let time = refusal.server_time.as_ref().map(|time| format!("`{time}`"));
        let answer = refusal.detail.clone().or(time).unwrap_or_default();
        let row = format!("| `{}` | `{}` | {} | {answer} |", refusal.id, refusal.of, refusal.why);
        shows(&list, &row);
    }
    let rows = list.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, vectors.refusals.len(), "terminals-vectors.md has other rows than the file has refusals");
}

/// The request as it is sent, without headers that an HTTP client adds.
fn on_the_wire(vector: &Vector) -> String {
    let mut text = format!("{} {} HTTP/1.1\n", vector.method, vector.target);
    for (name, value) in &vector.headers {
        text.push_str(&format!("{name}: {value}\n"));
    }
    if !vector.body.is_empty() {
        text.push_str(&format!("\n{}", vector.body));
    }
    fenced(&text)
}

fn fenced(text: &str) -> String {
    format!("```text\n{}\n```\n", text.trim_end())
}
