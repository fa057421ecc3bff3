//! A pending request of each kind.

use ledger_core::keys::month_of_approval;
use ledger_core::settlements::Task;
use ledger_core::settlements::saga::STEPS;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, Customer, Who, World, parked, settling};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Adjustment,
    Return,
    Decision,
}

pub(super) const KINDS: [Kind; 3] = [Kind::Adjustment, Kind::Return, Kind::Decision];

/// A pending request.
pub(super) struct Pending {
    pub(super) kind: Kind,
    pub(super) id: String,
    /// Its own endpoint, which returns it, if it has one.
    pub(super) path: Option<String>,
    pub(super) request: Call,
    /// The row of its state.
    pub(super) record: (String, String),
    pub(super) account: String,
    /// What it would post, as `account delta`.
    pub(super) postings: Vec<String>,
}

pub(super) async fn world(tenant: &str) -> World {
    World::new(tenant).await
}

/// A tenant on a stack of its own, where a test decides which events Stripe delivers.
pub(super) async fn alone(tenant: &str) -> World {
    let world = World::alone(tenant).await;
    world.hold_deliveries().await;
    world
}

/// The row of a command.
fn command_row(world: &World, id: &str) -> (String, String) {
    let month = month_of_approval(uuid::Uuid::parse_str(id).expect("an id"));
    (format!("{}#approvals#{month}", world.tenant), format!("APPROVAL#{id}"))
}

pub(super) fn posts(path: &str, who: &Who, body: &Value) -> Call {
    Call::post(path, who, body).key(new_key())
}

impl Pending {
    pub(super) async fn new(world: &World, kind: Kind) -> Self {
        Self::by(world, kind, &world.operator.who).await
    }

    pub(super) async fn by(world: &World, kind: Kind, who: &Who) -> Self {
        match kind {
            Kind::Adjustment => {
                let customer = world.customer().await;
                Self::adjustment(world, &customer, ("credit", "300"), who).await
            }
            Kind::Return => {
                let settled = settling::settled(world, &STEPS.map(Task::Do)).await;
                let merchant = settled.split('/').nth(4).expect("a merchant").to_owned();
                let request = posts(&format!("{settled}/returns"), who, &json!({"note": "as the bank says"}));
                let id = world.api.settle(&request).await.good().text("/approval_id");
                Self {
                    kind,
                    path: None,
                    record: command_row(world, &id),
                    account: format!("merchant:{merchant}"),
                    postings: vec!["bank_clearing -1".to_owned(), format!("merchant:{merchant} 1")],
                    id,
                    request,
                }
            }
            Kind::Decision => {
                let customer = world.customer().await;
                let (topup, _) = parked::contradicted(world, &customer, "2000").await;
                let body = json!({"way": "book", "note": "looked at with Stripe"});
                let request = posts(&format!("/v1/admin/topups/{}/decisions", topup.id), who, &body);
                let id = world.api.settle(&request).await.good().text("/approval_id");
                let account = format!("customer:{}", customer.id);
                Self {
                    kind,
                    path: Some(format!("/v1/admin/topups/{}/decisions/{id}", topup.id)),
                    record: command_row(world, &id),
                    postings: [
                        &format!("{account} 2000"),
                        "stripe_clearing -2000",
                        &format!("{account} 100"),
                        "points_issued -100",
                    ]
                    .map(str::to_owned)
                    .to_vec(),
                    account,
                    id,
                    request,
                }
            }
        }
    }

    pub(super) async fn adjustment(
        world: &World,
        customer: &Customer,
        (direction, yen): (&str, &str),
        who: &Who,
    ) -> Self {
        let body = json!({
            "customer_id": customer.id, "direction": direction, "amount": yen, "reason_code": "correction", "note": "twice",
        });
        let request = posts("/v1/admin/adjustments", who, &body);
        let id = world.api.settle(&request).await.good().text("/approval_id");
        let account = format!("customer:{}", customer.id);
        let [own, other] = if direction == "debit" { ["-", ""] } else { ["", "-"] };
        Self {
            kind: Kind::Adjustment,
            path: Some(format!("/v1/admin/adjustments/{id}")),
            record: command_row(world, &id),
            postings: vec![format!("{account} {own}{yen}"), format!("adjustments {other}{yen}")],
            account,
            id,
            request,
        }
    }

    pub(super) fn approval(&self, who: &Who) -> Call {
        decides("approve", &self.id, who)
    }

    pub(super) async fn view(&self, world: &World) -> Value {
        let call = Call::get(&format!("/v1/admin/approvals/{}", self.id), &world.operator.who);
        world.api.send(&call).await.good().json()
    }
}
