//! Deliveries: signatures, order, retries and controls.

use super::{Served, Webhook};
use crate::{DeliveryError, DeliveryOptions, DeliveryOrder};

#[tokio::test]
async fn events_arrive_signed_and_in_order() {
    let (it, webhook) = (Served::start().await, Webhook::default());
    it.simulator.deliver_to(Some(webhook.serve().await));
    let id = it.paid(500).await;
    it.simulator.refund_payment(&id, None, None).unwrap();
    it.simulator.idle().await;
    assert_eq!(webhook.types(), it.event_types());
    assert_eq!(webhook.types().last().unwrap(), "charge.refunded");
    let (signature, event) = webhook.got.lock().unwrap()[0].clone();
    assert_eq!(signature, it.simulator.signed(&event).0);
    assert!(signature.starts_with(&format!("t={},v1=", super::START_S)), "{signature}");
    assert_eq!(event["pending_webhooks"], 1);
    assert_eq!(it.simulator.events()[0]["pending_webhooks"], 0);
    // An event holds the object as it was when it happened.
    assert_eq!(event["data"]["object"]["status"], "requires_payment_method");
}

#[tokio::test]
async fn refused_event_is_retried() {
    let (it, webhook) = (Served::start().await, Webhook::default());
    webhook.answer(500);
    it.simulator.deliver_to(Some(webhook.serve().await));
    it.intent(500).await;
    it.simulator.0.until(|inner| inner.attempts.len() == 1).await;
    assert_eq!(it.simulator.attempts()[0].status, Some(500));
    assert_eq!(it.simulator.waiting_events().len(), 1);
    webhook.answer(200);
    it.simulator.idle().await;
    assert_eq!(webhook.ids()[0], webhook.ids()[1]);
    // The connection is refused: the event waits, and resuming retries at once.
    it.simulator.deliver_to(Some("http://127.0.0.1:1/hook".to_owned()));
    it.intent(500).await;
    it.simulator.0.until(|inner| inner.attempts.len() == 3).await;
    assert_eq!(it.simulator.attempts()[2].status, None);
    it.simulator.deliver_to(Some(webhook.serve().await));
    it.simulator.resume_deliveries();
    it.simulator.idle().await;
    assert_eq!(webhook.ids().len(), 3);
}

#[tokio::test]
async fn event_without_webhook_does_not_wait() {
    let it = Served::start().await;
    let id = it.intent(500).await;
    it.simulator.idle().await;
    assert_eq!(it.simulator.waiting_events(), Vec::<String>::new());
    let event = it.simulator.events()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(it.simulator.deliver(&event).await, Err(DeliveryError::NoWebhook));
    assert_eq!(it.simulator.deliver(&id).await, Err(DeliveryError::NoSuchEvent(id)));
}

#[tokio::test]
async fn paused_events_are_delivered_on_request() {
    let (it, webhook) = (Served::start().await, Webhook::default());
    it.simulator.deliver_to(Some(webhook.serve().await));
    it.simulator.pause_deliveries();
    it.paid(500).await;
    let waiting = it.simulator.waiting_events();
    assert_eq!((waiting.len(), webhook.ids().len()), (3, 0));

    assert!(it.simulator.deliver(&waiting[2]).await.unwrap().taken());
    assert_eq!(it.simulator.waiting_events(), waiting[..2]);
    it.simulator.deliver_all(&DeliveryOrder::Reversed).await.unwrap();
    assert_eq!(webhook.ids(), [waiting[2].clone(), waiting[1].clone(), waiting[0].clone()]);
    assert!(it.simulator.waiting_events().is_empty());

    // The same event two more times, then the same fact under another id.
    let twice = DeliveryOptions { repeats: 1, ..DeliveryOptions::default() };
    assert_eq!(it.simulator.deliver_with(&waiting[0], &twice).await.unwrap().len(), 2);
    let other = DeliveryOptions { as_another_event: true, signed_at_s: Some(7), ..DeliveryOptions::default() };
    it.simulator.deliver_with(&waiting[0], &other).await.unwrap();
    let got = webhook.got.lock().unwrap().clone();
    assert_eq!((&got[3].1["id"], &got[4].1["id"]), (&got[2].1["id"], &got[2].1["id"]));
    assert_ne!(got[5].1["id"], got[2].1["id"]);
    assert_eq!(got[5].1["data"], got[2].1["data"]);
    assert!(got[5].0.starts_with("t=7,v1="), "{}", got[5].0);
}

#[tokio::test]
async fn deliveries_are_controlled_over_http() {
    let (it, webhook) = (Served::start().await, Webhook::default());
    let url = webhook.serve().await;
    assert_eq!(it.dev("/webhook_url", &format!(r#"{{"url":"{url}"}}"#)).await.status, 200);
    assert_eq!(it.dev("/deliveries/pause", "").await.json()["paused"], true);
    it.paid(500).await;
    let waiting = it.simulator.waiting_events();
    let shuffled = it.dev("/deliveries", r#"{"order":{"shuffled":3}}"#).await.json();
    assert_eq!(shuffled["attempts"].as_array().unwrap().len(), 3);
    let mut got = webhook.ids();
    got.sort();
    let mut sorted = waiting.clone();
    sorted.sort();
    assert_eq!(got, sorted);
    let again = it.dev(&format!("/events/{}/deliver", waiting[0]), r#"{"repeats":2}"#).await.json();
    assert_eq!(again["attempts"].as_array().unwrap().len(), 3);
    assert_eq!(it.dev("/events/evt_x/deliver", "").await.status, 404);
    assert_eq!(it.dev("/deliveries/resume", "").await.json()["paused"], false);
    assert_eq!(it.dev("/webhook_url", r#"{"url":null}"#).await.status, 200);
    assert_eq!(it.dev(&format!("/events/{}/deliver", waiting[0]), "").await.status, 409);
}
