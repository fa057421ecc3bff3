//! Bodies in which an object has a name twice.

use ledger_tests::http::endpoints::{Endpoint, Stage};
use serde_json::{Value, json};

/// A name repeated in an object of the body, at any depth, is named, and nothing is done.
pub(super) async fn check_repeated_names(endpoint: Endpoint, stage: &Stage) {
    let prepared = endpoint.prepare(stage).await;
    let Some(body) = prepared.call.body.as_deref() else { return };
    let mut body: Value = serde_json::from_str(body).expect("JSON");
    if endpoint == Endpoint::Pay {
        body["regional"] = json!({"aoba": "1"});
    }
    let before = stage.world.books().await;
    for (text, name) in texts_with_repeated_name(&body) {
        let call = prepared.call.clone().raw(&text);
        let answer = stage.world.api.send(&call).await.problem(400, "invalid_request");
        assert!(answer.text("/field").ends_with(&name), "{text}: {answer:?}");
    }
    stage.world.books().await.unchanged_since(&before, "a request with a repeated name moved something");
}

/// The JSON texts in which one name of one object is repeated, each with that name.
fn texts_with_repeated_name(value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Object(members) => {
            let text = |without: &str| {
                let rest = members.iter().filter(|(name, _)| *name != without);
                rest.map(|(name, value)| format!("{}:{value},", json!(name))).collect::<String>()
            };
            let mut texts = Vec::new();
            for (name, value) in members {
                let (rest, quoted) = (text(name), json!(name));
                texts.push((format!("{{{rest}{quoted}:{value},{quoted}:{value}}}"), name.clone()));
                let nested = texts_with_repeated_name(value).into_iter();
                texts.extend(nested.map(|(inner, name)| (format!("{{{rest}{quoted}:{inner}}}"), name)));
            }
            texts
        }
        Value::Array(elements) => {
            let nested = elements.iter().flat_map(texts_with_repeated_name);
            nested.map(|(inner, name)| (format!("[{inner}]"), name)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
