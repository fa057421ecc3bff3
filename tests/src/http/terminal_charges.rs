//! Terminals that charge customers' one-time codes.

use super::endpoints::{Endpoint, Stage, rich};
use super::people::Terminal;
use super::prepared::{Prepared, prepared};
use super::{Call, Customer};
use serde_json::json;

impl Terminal {
    /// A charge of a customer's code, under the next key.
    #[must_use]
    pub fn charges(&self, code: &str, amount: &str) -> Call {
        let body = json!({"code": code, "amount": amount});
        Call::post("/v1/terminal/charges", &self.who, &body).key(self.next_key())
    }

    /// The reversal of a charge, under the next key.
    #[must_use]
    pub fn reverses_charge(&self, original: &Call) -> Call {
        let key = original.key.as_deref().expect("a charge has a key");
        Call::post(&format!("/v1/terminal/charges/{key}/reverse"), &self.who, &json!({})).key(self.next_key())
    }
}

impl Stage {
    /// A customer whose code was charged at the terminal, with the request and the payment's id.
    pub async fn charged(&self, amount: &str) -> (Customer, Call, String) {
        let customer = self.world.customer_with(amount).await;
        let call = self.terminal.charges(&customer.code(&self.world).await, amount);
        let payment = self.world.api.settle(&call).await.good().text("/payment_id");
        (customer, call, payment)
    }
}

/// The request of an endpoint.
pub(super) async fn prepare(endpoint: Endpoint, stage: &Stage) -> Prepared {
    if endpoint == Endpoint::TerminalCharge {
        let code = rich(&stage.world).await.code(&stage.world).await;
        return prepared(stage.terminal.charges(&code, "300"), 201, 1).with_other("amount", "301");
    }
    let (_, original, _) = stage.charged("1000").await;
    let (_, another, _) = stage.charged("1000").await;
    let path = stage.terminal.reverses_charge(&another).path;
    prepared(stage.terminal.reverses_charge(&original), 200, 1).with_other_path(path)
}
