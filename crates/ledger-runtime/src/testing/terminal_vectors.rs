//! The published vectors of terminals' signatures, `samples/terminals/vectors.json`.

use axum::body::Body;
use http::Request;
use serde::Deserialize;
use std::collections::BTreeMap;

const VECTORS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/terminals/vectors.json"));

/// The content of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vectors {
    #[serde(rename = "about")]
    _about: String,
    pub(crate) key: VectorKey,
    pub(crate) vectors: Vec<Vector>,
    pub(crate) refusals: Vec<Refusal>,
}

/// The key pair that signs every vector.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VectorKey {
    #[serde(rename = "about")]
    _about: String,
    pub(crate) keyid: String,
    pub(crate) private_key: String,
    pub(crate) public_key: String,
}

/// A signed request. Times are Unix seconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vector {
    pub(crate) id: String,
    pub(crate) why: String,
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) created: i64,
    pub(crate) expires: Option<i64>,
    pub(crate) nonce: Option<String>,
    pub(crate) signature_base: Vec<String>,
    pub(crate) accepted_at: Vec<i64>,
}

/// A change to a vector that makes the verifier refuse it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refusal {
    pub(crate) id: String,
    pub(crate) of: String,
    pub(crate) why: String,
    pub(crate) change: Change,
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) detail: Option<String>,
    pub(crate) server_time: Option<String>,
}

/// The change: only the parts given. A header without a value is removed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    at: Option<i64>,
    method: Option<String>,
    target: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, Option<String>>,
    body: Option<String>,
}

impl Vectors {
    pub(crate) fn load() -> Self {
        serde_json::from_str(VECTORS).unwrap()
    }

    /// The changed vector, and the time at which it is sent, in Unix seconds.
    pub(crate) fn changed(&self, refusal: &Refusal) -> (Vector, i64) {
        let of = self.vectors.iter().find(|vector| vector.id == refusal.of);
        let mut vector = of.unwrap_or_else(|| panic!("{}: no vector {}", refusal.id, refusal.of)).clone();
        let Change { at, method, target, headers, body } = &refusal.change;
        vector.method = method.clone().unwrap_or(vector.method);
        vector.target = target.clone().unwrap_or(vector.target);
        vector.body = body.clone().unwrap_or(vector.body);
        for (name, value) in headers {
            vector.headers.retain(|(have, _)| have != name);
            vector.headers.extend(value.clone().map(|value| (name.clone(), value)));
        }
        let created = vector.created;
        (vector, at.unwrap_or(created))
    }
}

impl Vector {
    pub(crate) fn request(&self) -> Request<Body> {
        let start = Request::builder().method(self.method.as_str()).uri(&self.target);
        let builder = self.headers.iter().fold(start, |builder, (name, value)| builder.header(name, value));
        builder.body(Body::from(self.body.clone())).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(have, _)| have == name);
        &found.unwrap_or_else(|| panic!("{}: no header {name}", self.id)).1
    }
}
