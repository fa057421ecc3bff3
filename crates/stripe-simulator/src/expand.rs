//! `expand[]`: an id in a response is replaced by its object. Ids of kinds that the simulator does not have stay ids.

use crate::error::StripeError;
use crate::forms::Params;
use crate::objects::Object;
use crate::store::State;
use serde_json::Value;

const EXPANDABLE: [&str; 7] =
    ["balance_transaction", "charge", "customer", "destination", "latest_charge", "payment_intent", "payment_method"];
const DEPTH_MAX: usize = 4;

/// Takes `expand[]` out of the parameters.
pub(crate) fn parse(params: &mut Params) -> Result<Vec<String>, StripeError> {
    let paths = params.list("expand");
    for path in &paths {
        let names: Vec<&str> = path.strip_prefix("data.").unwrap_or(path).split('.').collect();
        if names.len() > DEPTH_MAX || names.iter().any(|name| !EXPANDABLE.contains(name)) {
            let message = format!("This property cannot be expanded ({path}).");
            return Err(StripeError::refused(None, message).not_executed().about("expand"));
        }
    }
    Ok(paths)
}

/// Expands the ids at `paths` in a response.
pub(crate) fn apply(state: &State, value: &mut Value, paths: &[String]) {
    for path in paths {
        let names: Vec<&str> = path.split('.').collect();
        expand(state, value, &names);
    }
}

fn expand(state: &State, value: &mut Value, names: &[&str]) {
    let Some((name, rest)) = names.split_first() else { return };
    let Some(member) = value.get_mut(*name) else { return };
    if let Some(items) = member.as_array_mut() {
        for item in items {
            expand(state, item, rest);
        }
        return;
    }
    if let Some(object) = member.as_str().and_then(|id| object(state, id)) {
        *member = object;
    }
    expand(state, member, rest);
}

fn object(state: &State, id: &str) -> Option<Value> {
    state
        .payment_intents
        .get(id)
        .map(Object::json)
        .or_else(|| state.charges.get(id).map(Object::json))
        .or_else(|| state.refunds.get(id).map(Object::json))
}
