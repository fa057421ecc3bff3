//! The state machine that reconciles exports, as a text: every state is reached, every task is tried again, no
//! failure is passed over, and what it names is in the template.

use ledger_runtime::reconcile::export::{BROKEN, ExportInput, PARTS_MAX};
use ledger_tests::cloud::Template;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

const FUNCTION: &str = "${ReconcileExportFunctionAlias}";

fn machine() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../functions/reconcile-export/export.asl.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("the machine")).expect("JSON")
}

/// Every state of a machine and of those within it, by name.
fn all(states: &Map<String, Value>) -> BTreeMap<String, Value> {
    let mut found: BTreeMap<String, Value> = states.clone().into_iter().collect();
    for state in states.values() {
        if let Some(within) = state["ItemProcessor"]["States"].as_object() {
            found.extend(all(within));
        }
    }
    found
}

/// Where a state leads.
fn next(state: &Value) -> Vec<&str> {
    let choices = state["Choices"].as_array().into_iter().flatten();
    let choices = choices.map(|rule| &rule["Next"]);
    [&state["Next"], &state["Default"]].into_iter().chain(choices).filter_map(Value::as_str).collect()
}

fn reached(machine: &Value, from: &str, seen: &mut BTreeSet<String>) {
    if !seen.insert(from.to_owned()) {
        return;
    }
    let state = &machine["States"][from];
    assert!(state.is_object(), "there is no state {from}");
    for name in next(state) {
        reached(machine, name, seen);
    }
    if state["Type"] == "Map" {
        reached(&state["ItemProcessor"], state["ItemProcessor"]["StartAt"].as_str().expect("a start"), seen);
    }
}

#[test]
fn every_state_is_reached_and_ends() {
    let machine = machine();
    let mut seen = BTreeSet::new();
    reached(&machine, machine["StartAt"].as_str().expect("a start"), &mut seen);
    let states = all(machine["States"].as_object().expect("states"));
    assert_eq!(seen, states.keys().cloned().collect::<BTreeSet<_>>());
    for (name, state) in states {
        let ends = state["End"] == true || state["Type"] == "Fail";
        assert_eq!(ends, state["Next"].is_null() && state["Choices"].is_null(), "{name}");
    }
    assert!(machine["TimeoutSeconds"].is_u64(), "a run that hangs must ring");
}

/// A fault that may pass is met with patience, one that does not with none.
#[test]
fn every_task_is_tried_again_and_its_failure_fails_the_run() {
    let machine = machine();
    let states = all(machine["States"].as_object().expect("states"));
    let of_type = |kind: &str| states.iter().filter(|(_, state)| state["Type"] == kind).collect::<Vec<_>>();
    let (tasks, maps) = (of_type("Task"), of_type("Map"));
    assert_eq!((tasks.len(), maps.len()), (5, 2));
    for (name, task) in &tasks {
        let retry = task["Retry"].as_array().expect("tries");
        assert_eq!(retry[0]["MaxAttempts"], 0, "{name}");
        let last = &retry[1];
        assert_eq!(last["ErrorEquals"], json!(["States.ALL"]), "{name}");
        assert!(last["MaxAttempts"].as_u64() > Some(3) && last["BackoffRate"].as_f64() > Some(1.0), "{name}");
        if task["Resource"] == FUNCTION {
            assert_eq!(retry[0]["ErrorEquals"], json!([BROKEN]), "{name}");
            assert_eq!(task["TimeoutSeconds"], Template::read().properties("ReconcileExportFunction")["Timeout"]);
        }
    }
    // Nothing is caught: whatever fails ends the run, with its own name, and a redrive goes on from there.
    assert!(states.values().all(|state| state["Catch"].is_null()));
    for (name, map) in maps {
        assert_eq!((&map["ToleratedFailureCount"], &map["ToleratedFailurePercentage"]), (&json!(0), &Value::Null));
        assert_eq!(map["ItemProcessor"]["ProcessorConfig"]["Mode"], "DISTRIBUTED", "{name}");
        // Of the many results none is kept: together they might be too large.
        let [task] = &map["ItemProcessor"]["States"].as_object().expect("one").values().collect::<Vec<_>>()[..] else {
            panic!("{name}: one state")
        };
        assert_eq!((task.get("OutputPath"), map.get("ResultPath")), (Some(&Value::Null), Some(&Value::Null)), "{name}");
    }
}

/// What the function is given is what it takes.
#[test]
fn its_tasks_are_the_functions() {
    let machine = machine();
    let states = &machine["States"];
    let usual = &states["UsualParts"]["Result"];
    assert!(usual.as_u64() <= Some(PARTS_MAX.into()));
    assert_eq!(states["Begin"]["Choices"][1]["And"][1]["NumericLessThanEquals"], PARTS_MAX);
    let given = BTreeMap::from([
        ("run.$", json!("night-2026")),
        ("export.$", json!("exports/night-2026/AWSDynamoDB/01693685827463-2d8752fd")),
        ("parts.$", usual.clone()),
        ("part.$", json!(255)),
        ("file.$", json!({"itemCount": 1, "md5Checksum": "x", "etag": "y", "dataFileS3Key": "x/data/a.json.gz"})),
    ]);
    for (state, field, task) in
        [("Facts", "ItemSelector", "facts"), ("Fold", "ItemSelector", "fold"), ("Report", "Parameters", "report")]
    {
        let selected = states[state][field].as_object().expect("an input").iter();
        let filled = selected.map(|(name, value)| match given.get(name.as_str()) {
            Some(given) => (name.trim_end_matches(".$").to_owned(), given.clone()),
            None => (name.clone(), value.clone()),
        });
        let input = Value::Object(filled.collect());
        assert_eq!(input["task"], task);
        let read = serde_json::from_value::<ExportInput>(input.clone()).expect("an input").read();
        assert!(read.is_ok(), "{input}: {read:?}");
    }
}

/// Each name that the template fills in is one that the machine has, and nothing else is left open.
#[test]
fn what_it_names_is_in_the_template() {
    let template = Template::read();
    let substitutions = template.properties("ReconcileExport")["DefinitionSubstitutions"].as_object().expect("names");
    let text = machine().to_string();
    let open = text.split("${").skip(1).filter_map(|rest| rest.split('}').next()).collect::<BTreeSet<_>>();
    assert_eq!(open, substitutions.keys().map(String::as_str).collect::<BTreeSet<_>>());
    assert_eq!(substitutions["ReconcileExportFunctionAlias"], json!({"Ref": "ReconcileExportFunction.Alias"}));
    assert_eq!(substitutions["ExportBucket"], json!({"Ref": "ExportBucket"}));
    // What it calls itself, its role allows: each service and what it is asked.
    let role = template.role("ReconcileExportMachineRole").expect("a policy");
    let allowed: BTreeSet<&str> = role.statements.iter().flat_map(|of| of.actions.iter().map(String::as_str)).collect();
    let states = all(machine()["States"].as_object().expect("states"));
    for resource in states.values().flat_map(|state| [&state["Resource"], &state["ItemReader"]["Resource"]]) {
        let action = match resource.as_str() {
            Some(FUNCTION) => "lambda:InvokeFunction".to_owned(),
            Some(arn) => {
                let (service, action) = arn.rsplit_once(':').expect("an ARN");
                let service = service.rsplit_once(':').expect("an ARN").1;
                format!("{service}:{}{}", action[..1].to_uppercase(), &action[1..])
            }
            None => continue,
        };
        assert!(allowed.contains(action.as_str()), "{action} is not in {allowed:?}");
    }
}
