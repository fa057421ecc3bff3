//! The saga in the Amazon States Language, generated from `saga.rs`. The deployed file,
//! `functions/settlement/saga.asl.json`, is this text.

use super::saga::{Outcome, STEPS, TASK_WAIT, Task};
use serde_json::{Map, Value, json};

/// The state that publishes an event about a stopped settlement. A metric reports it too.
const ANNOUNCE: &str = "Announce";
/// The function that each task calls. The template replaces the placeholder.
const FUNCTION: &str = "${SettlementFunctionAlias}";
/// The deployment's name, since several may share a bus. The template replaces the placeholder.
const LEDGER: &str = "${LedgerName}";
/// The function's error for a failure that a retry may resolve.
pub const UNAVAILABLE: &str = "Settlement.Unavailable";
/// The function's error for a failure that no retry resolves.
pub const BROKEN: &str = "Settlement.Broken";

/// The state machine's definition. A settlement that stops is published as an event of `event_source`.
#[must_use]
pub fn definition(event_source: &str) -> String {
    let mut states = Map::new();
    for task in Task::all() {
        add(&mut states, task);
    }
    states.insert("Over".to_owned(), json!({ "Type": "Succeed" }));
    let announced = json!({
        "Type": "Task",
        "Resource": "arn:aws:states:::events:putEvents",
        "Parameters": { "Entries": [{
            "Source": event_source,
            "DetailType": "CompensationStuck",
            "EventBusName": "default",
            "Detail": {
                "ledger": LEDGER,
                "tenant.$": "$.tenant",
                "merchant_id.$": "$.merchant_id",
                "settlement_id.$": "$.settlement_id",
            },
        }] },
        "ResultPath": null,
        // If the event cannot be sent, the metric still raises the alarm.
        "Catch": [{ "ErrorEquals": ["States.ALL"], "ResultPath": null, "Next": "Stuck" }],
        "Next": "Stuck",
    });
    states.insert(ANNOUNCE.to_owned(), announced);
    let stuck = json!({ "Type": "Fail", "Error": "Settlement.Stuck",
        "Cause": "The settlement stopped. Its record says where. To resume it: docs/operations/settlements.md." });
    states.insert("Stuck".to_owned(), stuck);
    let first = STEPS.first().map(|step| state(Task::Do(*step))).unwrap_or_default();
    let machine = json!({
        "Comment": "The settlement of a merchant's period. Made from ledger-core's settlements/saga.rs; not to be edited.",
        "StartAt": first,
        "States": states,
    });
    let mut text = serde_json::to_string_pretty(&machine).unwrap_or_default();
    text.push('\n');
    text
}

fn add(states: &mut Map<String, Value>, task: Task) {
    let name = state(task);
    let policy = task.retry();
    // The States Language requires a number with decimals here.
    let backoff: Value = serde_json::from_str(&format!("{}.0", policy.backoff)).unwrap_or_default();
    let after_failure = task.failed().map_or_else(|| ANNOUNCE.to_owned(), state);
    let body = json!({
        "Type": "Task",
        "Resource": FUNCTION,
        "Parameters": {
            "tenant.$": "$.tenant",
            "merchant_id.$": "$.merchant_id",
            "settlement_id.$": "$.settlement_id",
            "task": task.name(),
        },
        "ResultPath": "$.result",
        "TimeoutSeconds": 60,
        "Retry": [
            { "ErrorEquals": [BROKEN], "MaxAttempts": 0 },
            {
                "ErrorEquals": ["States.ALL"],
                "IntervalSeconds": policy.interval.as_secs(),
                "BackoffRate": backoff,
                "MaxDelaySeconds": policy.interval_max.as_secs(),
                "MaxAttempts": policy.attempts,
                "JitterStrategy": "FULL",
            },
        ],
        "Catch": [{ "ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": after_failure }],
        "Next": format!("{name}Outcome"),
    });
    let choice = format!("{name}Outcome");
    let rule = |outcome: &Outcome| {
        let to = match (task, outcome) {
            (_, Outcome::Wait) => format!("{name}Wait"),
            (Task::Stop, Outcome::Next) => ANNOUNCE.to_owned(),
            (_, Outcome::Next | Outcome::Again | Outcome::Undo | Outcome::Over) => {
                task.after(*outcome).map_or_else(|| "Over".to_owned(), state)
            }
        };
        json!({ "Variable": "$.result.outcome", "StringEquals": outcome.name(), "Next": to })
    };
    let rules: Vec<Value> = task.outcomes().iter().map(rule).collect();
    if task.outcomes().contains(&Outcome::Wait) {
        let wait = json!({ "Type": "Wait", "Seconds": TASK_WAIT.as_secs(), "Next": name });
        states.insert(format!("{name}Wait"), wait);
    }
    states.insert(choice, json!({ "Type": "Choice", "Choices": rules, "Default": after_failure }));
    states.insert(name, body);
}

/// A state's name, such as `Hold` or `UndoHold`.
fn state(task: Task) -> String {
    task.name().split('_').map(capitalised).collect()
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
