//! The state machine that reconciles exports, read as text and compared with the function and the template.

use ledger_runtime::reconcile::export::{BROKEN, ExportInput, PARTS_MAX};
use ledger_tests::cloud::Template;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

const FUNCTION: &str = "${ReconcileExportFunctionAlias}";

fn machine() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../functions/reconcile-export/export.asl.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("the machine")).expect("JSON")
}

/// Every state of a machine, nested ones included, by name.
fn all(states: &Map<String, Value>) -> BTreeMap<String, Value> {
    let mut found: BTreeMap<String, Value> = states.clone().into_iter().collect();
    for state in states.values() {
        if let Some(within) = state["ItemProcessor"]["States"].as_object() {
            found.extend(all(within));
        }
    }
    found
}

/// The states that may follow.
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
    assert!(machine["TimeoutSeconds"].is_u64(), "a run that hangs must time out");
}

/// `BROKEN` is not retried; every other error is, with backoff.
#[test]
fn every_task_is_retried_and_its_failure_fails_the_run() {
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
    // No failure is caught: it ends the run under its own name, and a redrive continues from there.
    assert!(states.values().all(|state| state["Catch"].is_null()));
    for (name, map) in maps {
        assert_eq!((&map["ToleratedFailureCount"], &map["ToleratedFailurePercentage"]), (&json!(0), &Value::Null));
        assert_eq!(map["ItemProcessor"]["ProcessorConfig"]["Mode"], "DISTRIBUTED", "{name}");
        // Results of the map are discarded: together they might exceed the limit of a state's output.
        let [task] = &map["ItemProcessor"]["States"].as_object().expect("one").values().collect::<Vec<_>>()[..] else {
            panic!("{name}: one state")
        };
        assert_eq!((task.get("OutputPath"), map.get("ResultPath")), (Some(&Value::Null), Some(&Value::Null)), "{name}");
    }
}

/// The inputs that the machine builds are inputs that the function accepts.
#[test]
fn task_inputs_are_accepted_by_the_function() {
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

/// The template fills in exactly the names that the machine leaves open.
#[test]
fn substitutions_and_actions_are_in_the_template() {
    let template = Template::read();
    let substitutions = template.properties("ReconcileExport")["DefinitionSubstitutions"].as_object().expect("names");
    let text = machine().to_string();
    let open = text.split("${").skip(1).filter_map(|rest| rest.split('}').next()).collect::<BTreeSet<_>>();
    assert_eq!(open, substitutions.keys().map(String::as_str).collect::<BTreeSet<_>>());
    assert_eq!(substitutions["ReconcileExportFunctionAlias"], json!({"Ref": "ReconcileExportFunction.Alias"}));
    assert_eq!(substitutions["ExportBucket"], json!({"Ref": "ExportBucket"}));
    // The machine's role allows each service action that a task names.
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
