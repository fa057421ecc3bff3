use ledger_core::settlements::{Task, definition};
use serde_json::Value;

/// The deployed state machine equals the one that the core generates.
#[test]
fn deployed_machine_equals_the_generated_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../functions/settlement/saga.asl.json");
    let kept = std::fs::read_to_string(path).expect("the machine is in the repository");
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    let ours: Value = serde_json::from_str(&definition(ledger_core::events::SOURCE)).expect("JSON");
    assert!(
        kept == ours,
        "the machine differs from the core; run: cargo run -- saga > functions/settlement/saga.asl.json"
    );
}

/// Each task of the machine is one that the function accepts.
#[test]
fn machine_tasks_are_the_functions_tasks() {
    let machine: Value = serde_json::from_str(&definition(ledger_core::events::SOURCE)).expect("JSON");
    let states = machine["States"].as_object().expect("states").values();
    let mut tasks: Vec<&str> = states.filter_map(|state| state["Parameters"]["task"].as_str()).collect();
    tasks.sort_unstable();
    let mut known: Vec<String> = Task::all().map(Task::name).collect();
    known.sort_unstable();
    assert_eq!(tasks, known);
}
