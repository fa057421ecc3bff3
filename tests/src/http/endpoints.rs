//! Every endpoint that moves money or changes state, each with a request that will succeed, what it
//! then does, and another request that must not pass under the same key.

use super::world::{new_id, new_key};
use super::{Call, Customer, Merchant, Terminal, World};
use serde_json::{Value, json};

/// A world with a shop in it.
#[derive(Debug)]
pub struct Stage {
    /// The tenant.
    pub world: World,
    /// The shop.
    pub merchant: Merchant,
    /// The terminal in it.
    pub terminal: Terminal,
}

/// A request that will succeed once.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The request, under a fresh key.
    pub call: Call,
    /// Another request to the same endpoint, if it takes anything that can differ.
    pub other: Option<Call>,
    /// The status of success.
    pub status: u16,
    /// How many journal entries it writes.
    pub entries: usize,
}

/// An endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named as its path is")]
pub enum Endpoint {
    Pay,
    Transfer,
    PaymentCode,
    ProfilePatch,
    CardPatch,
    Charge,
    Refund,
    CustomerOpen,
    CustomerPatch,
    MerchantOpen,
    MerchantPatch,
    CardIssue,
    CardAdminPatch,
    TerminalOpen,
    TerminalPatch,
    Enrolment,
    Grant,
    BulkGrant,
    AdjustmentRequest,
    AdjustmentApprove,
    AdjustmentReject,
    CardTopup,
    CardPay,
    CardRefund,
    CardReverse,
}

impl Stage {
    /// Sets a stage in a world.
    pub async fn set(world: World) -> Self {
        let merchant = world.merchant().await;
        let terminal = world.terminal(&merchant).await;
        Self { world, merchant, terminal }
    }

    /// A customer who has paid, with the payment.
    pub async fn paid(&self, amount: &str) -> (Customer, String) {
        let customer = self.world.customer_with(amount).await;
        let paid = self.world.api.settle(&customer.pays(&self.merchant, amount)).await.good();
        (customer, paid.text("/payment_id"))
    }

    /// A card that has paid at the terminal, with the payment's request and id.
    pub async fn paid_by_card(&self, amount: &str) -> (String, Call, String) {
        let card = self.world.card(None, amount).await;
        let call = self.terminal.does("pay", &card, &json!({"amount": amount}));
        let payment = self.world.api.settle(&call).await.good().text("/payment_id");
        (card, call, payment)
    }
}

impl Endpoint {
    /// Every endpoint.
    pub const ALL: [Self; 25] = [
        Self::Pay,
        Self::Transfer,
        Self::PaymentCode,
        Self::ProfilePatch,
        Self::CardPatch,
        Self::Charge,
        Self::Refund,
        Self::CustomerOpen,
        Self::CustomerPatch,
        Self::MerchantOpen,
        Self::MerchantPatch,
        Self::CardIssue,
        Self::CardAdminPatch,
        Self::TerminalOpen,
        Self::TerminalPatch,
        Self::Enrolment,
        Self::Grant,
        Self::BulkGrant,
        Self::AdjustmentRequest,
        Self::AdjustmentApprove,
        Self::AdjustmentReject,
        Self::CardTopup,
        Self::CardPay,
        Self::CardRefund,
        Self::CardReverse,
    ];

    /// Whether a terminal calls it, whose keys have a form of their own.
    #[must_use]
    pub fn is_terminals(self) -> bool {
        matches!(self, Self::CardTopup | Self::CardPay | Self::CardRefund | Self::CardReverse)
    }

    /// A fresh key for a request of its.
    pub fn new_key(self, stage: &Stage) -> String {
        if self.is_terminals() { stage.terminal.next_key() } else { new_key() }
    }

    /// Makes what the request needs, and the request.
    pub async fn prepare(self, stage: &Stage) -> Prepared {
        match self {
            Self::Pay | Self::Transfer | Self::PaymentCode | Self::ProfilePatch | Self::CardPatch => {
                self.by_customer(stage).await
            }
            Self::Charge | Self::Refund => self.by_merchant(stage).await,
            Self::CardTopup | Self::CardPay | Self::CardRefund | Self::CardReverse => self.by_terminal(stage).await,
            Self::Grant
            | Self::BulkGrant
            | Self::AdjustmentRequest
            | Self::AdjustmentApprove
            | Self::AdjustmentReject => self.of_value(stage).await,
            Self::CustomerOpen
            | Self::MerchantOpen
            | Self::CardIssue
            | Self::TerminalOpen
            | Self::CustomerPatch
            | Self::MerchantPatch
            | Self::CardAdminPatch
            | Self::TerminalPatch
            | Self::Enrolment => self.of_things(stage).await,
        }
    }

    async fn by_customer(self, Stage { world, merchant, .. }: &Stage) -> Prepared {
        let customer = world.customer_with("1000").await;
        match self {
            Self::Pay => prepared(customer.pays(merchant, "300"), 201, 1).with_other("amount", "301"),
            Self::Transfer => {
                let to = world.customer().await;
                prepared(customer.sends(&to, "300"), 201, 1).with_other("amount", "301")
            }
            Self::PaymentCode => {
                prepared(Call::post("/v1/me/payment-code", &customer.who, &json!({})).key(new_key()), 200, 0)
            }
            Self::ProfilePatch => {
                let body = json!({"name": "Taro", "email": "taro@example.com"});
                prepared(Call::patch("/v1/me", &customer.who, &body).key(new_key()), 200, 0).with_other("name", "Jiro")
            }
            _ => {
                let card = world.card(Some(&customer), "0").await;
                let call = Call::patch(&format!("/v1/me/cards/{card}"), &customer.who, &json!({"status": "frozen"}));
                prepared(call.key(new_key()), 200, 0).with_other("status", "active")
            }
        }
    }

    async fn by_merchant(self, stage: &Stage) -> Prepared {
        let Stage { world, merchant, .. } = stage;
        match self {
            Self::Charge => {
                let customer = world.customer_with("1000").await;
                let issue = Call::post("/v1/me/payment-code", &customer.who, &json!({})).key(new_key());
                let code = world.api.settle(&issue).await.good().text("/code");
                let body = json!({"code": code, "amount": "300"});
                let call = Call::post("/v1/merchant/charges", &merchant.who, &body).key(new_key());
                prepared(call, 201, 1).with_other("amount", "301")
            }
            _ => {
                let (_, payment) = stage.paid("1000").await;
                prepared(merchant.refunds(&payment, "300"), 201, 1).with_other("amount", "301")
            }
        }
    }

    async fn by_terminal(self, stage: &Stage) -> Prepared {
        let Stage { world, terminal, .. } = stage;
        let amount = json!({"amount": "300"});
        match self {
            Self::CardTopup => {
                let card = world.card(None, "0").await;
                prepared(terminal.does("topup", &card, &amount), 201, 1).with_other("amount", "301")
            }
            Self::CardPay => {
                let card = world.card(None, "1000").await;
                prepared(terminal.does("pay", &card, &amount), 201, 1).with_other("amount", "301")
            }
            Self::CardRefund => {
                let (card, _, payment) = stage.paid_by_card("1000").await;
                let body = json!({"payment_id": payment, "amount": "300"});
                prepared(terminal.does("refund", &card, &body), 201, 1).with_other("amount", "301")
            }
            _ => {
                let (_, original, _) = stage.paid_by_card("1000").await;
                let (_, another, _) = stage.paid_by_card("1000").await;
                let path = terminal.reverses("card_pay", &another).path;
                prepared(terminal.reverses("card_pay", &original), 200, 1).with_other_path(path)
            }
        }
    }

    async fn of_value(self, Stage { world, .. }: &Stage) -> Prepared {
        let customer = world.customer_with("1000").await;
        let account = json!({"customer_id": customer.id});
        let by_operator = |path: &str, body: &Value| Call::post(path, &world.operator.who, body).key(new_key());
        let mut body = json!({"asset": "POINT", "amount": "300", "reason": "thanks"});
        match self {
            Self::Grant => {
                body["customer_id"] = json!(customer.id);
                prepared(by_operator("/v1/admin/grants", &body), 201, 1).with_other("amount", "301")
            }
            Self::BulkGrant => {
                body["customer_ids"] = json!([customer.id, world.customer().await.id]);
                prepared(by_operator("/v1/admin/grants", &body), 202, 0).with_other("amount", "301")
            }
            Self::AdjustmentRequest => {
                let body = json!({
                    "customer_id": customer.id, "direction": "debit", "amount": "300", "reason_code": "correction", "note": "twice",
                });
                prepared(by_operator("/v1/admin/adjustments", &body), 201, 0).with_other("direction", "credit")
            }
            _ => {
                let (first, second) =
                    (world.approval(&account, "credit", "300").await, world.approval(&account, "debit", "1").await);
                let approve = self == Self::AdjustmentApprove;
                let path =
                    |call: &Call| if approve { call.path.clone() } else { call.path.replace("/approve", "/reject") };
                let other = path(&second);
                let call = first.clone().at(path(&first));
                prepared(call, 200, usize::from(approve)).with_other_path(other)
            }
        }
    }

    async fn of_things(self, Stage { world, merchant, .. }: &Stage) -> Prepared {
        let make =
            |path: &str, body: &Value| prepared(Call::post(path, &world.operator.who, body).key(new_key()), 201, 0);
        let change =
            |path: String, body: &Value| prepared(Call::patch(&path, &world.operator.who, body).key(new_key()), 200, 0);
        let frozen = json!({"status": "frozen", "reason": "lost"});
        match self {
            Self::CustomerOpen => make("/v1/admin/customers", &json!({"name": "Yuki"})).with_other("name", "Yuna"),
            Self::MerchantOpen => make("/v1/admin/merchants", &json!({"name": "Bakery"})).with_other("name", "Butcher"),
            Self::CardIssue => make("/v1/admin/cards", &json!({})).with_other("card_id", &new_id()),
            Self::TerminalOpen => {
                make("/v1/admin/terminals", &json!({"merchant_id": merchant.id})).with_other("terminal_id", &new_id())
            }
            Self::CustomerPatch => {
                let id = world.customer().await.id;
                change(format!("/v1/admin/customers/{id}"), &frozen).with_other("status", "active")
            }
            Self::MerchantPatch => {
                let id = world.merchant().await.id;
                let body = json!({"status": "suspended", "name": "Baker"});
                change(format!("/v1/admin/merchants/{id}"), &body).with_other("status", "active")
            }
            Self::CardAdminPatch => {
                let id = world.card(None, "0").await;
                change(format!("/v1/admin/cards/{id}"), &frozen).with_other("status", "active")
            }
            Self::TerminalPatch => {
                let id = world.terminal(merchant).await.id;
                change(format!("/v1/admin/terminals/{id}"), &frozen).with_other("reason", "found")
            }
            _ => {
                let [one, two] = [world.terminal(merchant).await.id, world.terminal(merchant).await.id];
                let path = |id| format!("/v1/admin/terminals/{id}/enrolment");
                make(&path(one), &json!({})).with_other_path(path(two))
            }
        }
    }
}

fn prepared(call: Call, status: u16, entries: usize) -> Prepared {
    Prepared { call, other: None, status, entries }
}

impl Prepared {
    /// The other request has another value in a field.
    fn with_other(mut self, field: &str, value: &str) -> Self {
        let mut body: Value = serde_json::from_str(self.call.body.as_deref().unwrap_or("{}")).expect("a JSON body");
        body[field] = json!(value);
        self.other = Some(self.call.clone().json(&body));
        self
    }

    /// The other request is to another path.
    fn with_other_path(mut self, path: String) -> Self {
        self.other = Some(self.call.clone().at(path));
        self
    }
}
