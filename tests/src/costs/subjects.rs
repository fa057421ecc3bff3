//! The operations whose whole life is measured.

use super::parties::{cards, customers};
use crate::http::endpoints::Stage;
use crate::http::stripe::signed;
use crate::http::world::new_key;
use crate::http::{Call, Customer};
use ledger_core::money::{Amount, Asset, AssetSpec};
use ledger_core::terms::GrantLimits;
use serde_json::json;

/// What one person may grant in a day: more than all that is measured.
pub(super) fn points_alone() -> GrantLimits {
    let points = Amount::parse(&AssetSpec::POINT, "100000000").expect("an amount");
    GrantLimits([(Asset::Point, points)].into())
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Pay,
    PayMixed,
    Charge,
    Hold,
    Refund,
    CardPay,
    CardTopup,
    Transfer,
    Topup,
    Grant,
}

/// An operation whose parties exist.
pub(super) enum Ready {
    Call(Call),
    /// An authorization, to be captured.
    Hold(Call),
    Topup(Customer),
}

impl Subject {
    pub(super) const ALL: &'static [Self] = &[
        Self::Pay,
        Self::PayMixed,
        Self::Charge,
        Self::Hold,
        Self::Refund,
        Self::CardPay,
        Self::CardTopup,
        Self::Transfer,
        Self::Topup,
        Self::Grant,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pay => "payment in money",
            Self::PayMixed => "payment in three assets",
            Self::Charge => "charge of a one-time code",
            Self::Hold => "authorization and capture",
            Self::Refund => "refund",
            Self::CardPay => "card payment",
            Self::CardTopup => "card top-up",
            Self::Transfer => "transfer",
            Self::Topup => "top-up and its event",
            Self::Grant => "grant of points",
        }
    }

    /// Makes the parties of this many operations, and what must have happened before them.
    pub(super) async fn ready(self, stage: &Stage, count: usize) -> Vec<Ready> {
        let Stage { world, merchant, terminal } = stage;
        let of_card = |verb: &str, card: &String| Ready::Call(terminal.does(verb, card, &json!({"amount": "300"})));
        if matches!(self, Self::CardPay | Self::CardTopup) {
            let verb = if self == Self::CardPay { "pay" } else { "topup" };
            return cards(world, count).await.iter().map(|card| of_card(verb, card)).collect();
        }
        let recipients = if self == Self::Transfer { customers(world, count).await } else { Vec::new() };
        let (mut recipients, mut ready) = (recipients.iter(), Vec::new());
        for customer in customers(world, count).await {
            ready.push(match self {
                Self::Pay => Ready::Call(customer.pays(merchant, "300")),
                Self::PayMixed => {
                    let parts = json!({"aoba": "1000"});
                    let body =
                        json!({"merchant_id": merchant.id, "amount": "3240", "points": "500", "regional": parts});
                    Ready::Call(customer.pays(merchant, "1").json(&body))
                }
                Self::Charge => Ready::Call(merchant.charges(&customer.code(world).await, "300")),
                Self::Hold => Ready::Hold(merchant.authorizes(&customer.code(world).await, "300")),
                Self::Refund => {
                    let paid = world.api.send(&customer.pays(merchant, "1000")).await.good();
                    Ready::Call(merchant.refunds(&paid.text("/payment_id"), "300"))
                }
                Self::Transfer => Ready::Call(customer.sends(recipients.next().expect("one for each"), "300")),
                Self::Topup => Ready::Topup(customer),
                Self::Grant => {
                    let body =
                        json!({"asset": "POINT", "amount": "300", "reason": "thanks", "customer_id": customer.id});
                    Ready::Call(Call::post("/v1/admin/grants", &world.operator.who, &body).key(new_key()))
                }
                Self::CardPay | Self::CardTopup => return ready,
            });
        }
        ready
    }
}

impl Ready {
    /// Sends the operation's requests, each once.
    pub(super) async fn perform(&self, Stage { world, merchant, .. }: &Stage) {
        let send = async |call: &Call| world.api.send(call).await.good();
        match self {
            Self::Call(call) => drop(send(call).await),
            Self::Hold(call) => {
                let payment = send(call).await.text("/payment_id");
                let _ = send(&merchant.captures(&payment, None)).await;
            }
            Self::Topup(customer) => {
                let topup = world.topup(customer, "1000").await;
                let _ = send(&signed(&world.paid_event(&topup.id, &topup.intent, 1000).to_string())).await;
            }
        }
    }
}
