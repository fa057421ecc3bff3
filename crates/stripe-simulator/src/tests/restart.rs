//! The state that a killed simulator leaves for the next one.

use super::{Served, Webhook};
use crate::testing::TempDir;
use crate::{Simulator, SimulatorConfig, SimulatorError};

#[tokio::test]
async fn objects_keys_and_waiting_events_survive_a_kill() {
    let dir = TempDir::make();
    let config = || SimulatorConfig { state_file: Some(dir.path().join("stripe.json")), ..SimulatorConfig::default() };
    let first = Served::start_with(config()).await;
    first.simulator.deliver_to(Some("http://127.0.0.1:1/hook".to_owned()));
    let created = first.post_with_key("/v1/payment_intents", "amount=500&currency=jpy", "k").await;
    first.simulator.succeed_payment(&created.id()).unwrap();
    let events = first.simulator.events();

    // Nothing is closed or flushed, so the file is as after a kill.
    let second = Served::start_with(config()).await;
    let again = second.post_with_key("/v1/payment_intents", "amount=500&currency=jpy", "k").await;
    assert_eq!((again.header("idempotent-replayed"), &again.text), (Some("true"), &created.text));
    assert_eq!(second.simulator.payment_intents()[0]["status"], "succeeded");
    assert_eq!(second.simulator.events(), events);
    let webhook = Webhook::default();
    second.simulator.deliver_to(Some(webhook.serve().await));
    second.simulator.idle().await;
    assert_eq!(webhook.types(), second.event_types());
    assert_ne!(second.intent(500).await, created.id());
}

#[tokio::test]
async fn invalid_state_file_is_an_error_that_names_it() {
    let dir = TempDir::make();
    let path = dir.path().join("stripe.json");
    std::fs::write(&path, "no json").unwrap();
    let error = Simulator::start(SimulatorConfig { state_file: Some(path), ..SimulatorConfig::default() }).unwrap_err();
    assert!(matches!(&error, SimulatorError::StateFile { .. }) && error.to_string().contains("stripe.json"), "{error}");
}
