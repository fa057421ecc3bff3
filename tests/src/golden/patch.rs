//! Differences of JSON documents as JSON merge patches (RFC 7396). `null` removes a member, an object changes the
//! members that it names, and any other value replaces the old one.

use serde_json::{Map, Value as Json};

/// Applies a patch to a document.
#[must_use]
pub fn apply(document: &Json, patch: &Json) -> Json {
    let Json::Object(changes) = patch else { return patch.clone() };
    let mut members = document.as_object().cloned().unwrap_or_default();
    for (name, change) in changes {
        if change.is_null() {
            members.remove(name);
        } else {
            let member = apply(members.get(name).unwrap_or(&Json::Null), change);
            members.insert(name.clone(), member);
        }
    }
    Json::Object(members)
}

/// The smallest patch that turns `from` into `to`. No member of `to` may be `null`, which a patch cannot express.
#[must_use]
pub fn difference(from: &Json, to: &Json) -> Json {
    let (Json::Object(old), Json::Object(new)) = (from, to) else { return to.clone() };
    let mut patch: Map<String, Json> =
        old.keys().filter(|name| !new.contains_key(*name)).map(|name| (name.clone(), Json::Null)).collect();
    for (name, value) in new {
        match old.get(name) {
            Some(before) if before == value => {}
            Some(before) => drop(patch.insert(name.clone(), difference(before, value))),
            None => drop(patch.insert(name.clone(), value.clone())),
        }
    }
    Json::Object(patch)
}
