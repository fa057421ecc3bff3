//! Requests to the payment provider. Their bytes are built once, and their keys depend on the operation, the step and
//! the epoch only, not on the sender or the number of sendings.

use super::object::{PspId, tag};
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::{MerchantId, RefundId, SettlementId, Tenant, TopupId};
use crate::money::Amount;
use crate::words::words;
use std::fmt;
use uuid::Uuid;

/// The deployment and the account of its requests: the same for all requests of a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PspTerms {
    /// The deployment's name. Several deployments may share one account of the provider.
    pub ledger: String,
    /// Whether real money moves.
    pub livemode: bool,
    /// The connected account that is charged; `None`: the account that the API key belongs to.
    pub account: Option<String>,
}

impl PspTerms {
    /// Reads the terms from a record that stores them.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or was not written by [`PspTerms::item`].
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            ledger: item.string("ledger")?,
            livemode: item.flag("livemode")?,
            account: item.opt_string("account")?,
        })
    }

    /// The attributes that are stored.
    #[must_use]
    pub fn item(&self) -> Item {
        let mut item = Item::from([
            ("ledger".to_owned(), Value::s(&self.ledger)),
            ("livemode".to_owned(), Value::Bool(self.livemode)),
        ]);
        item.extend(self.account.as_ref().map(|account| ("account".to_owned(), Value::s(account))));
        item
    }
}

words! {
    /// A step of an operation that sends a request to the payment provider.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Step {
        /// Create a PaymentIntent.
        CreateIntent = "create_intent",
        /// Cancel a PaymentIntent.
        CancelIntent = "cancel_intent",
        /// Create a refund.
        CreateRefund = "create_refund",
        /// Create a payout.
        CreatePayout = "create_payout",
    }
}

/// A request to the provider. Its bytes are the same at each sending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PspRequest {
    /// The step.
    pub step: Step,
    /// The path after the provider's base URL.
    pub path: String,
    /// The body, `application/x-www-form-urlencoded`.
    pub body: String,
    /// The connected account, if there is one.
    pub account: Option<String>,
}

/// The provider's idempotency key of a request, made of the operation, the step and the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PspKey(String);

impl PspKey {
    /// Builds the key of a step of the operation on `resource`. The epoch grows only after a refusal that the
    /// provider keeps under the key, or a proven absence.
    #[must_use]
    pub fn new(resource: Uuid, step: Step, epoch: u32) -> Self {
        Self(format!("ecopay-{resource}-{}-{epoch}", step.name()))
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PspKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PspRequest {
    /// Requests a PaymentIntent over `charge` yen. Its metadata identifies our record.
    #[must_use]
    pub fn create_intent(tenant: &Tenant, topup: TopupId, charge: &Amount, terms: &PspTerms) -> Self {
        let body = form(&[
            ("amount", &charge.text()),
            ("currency", "jpy"),
            ("automatic_payment_methods[enabled]", "true"),
            (&metadata(tag::LEDGER), &terms.ledger),
            (&metadata(tag::TENANT), tenant.as_str()),
            (&metadata(tag::TOPUP), &topup.to_string()),
        ]);
        Self::of(Step::CreateIntent, "/v1/payment_intents".to_owned(), body, terms.account.as_deref())
    }

    /// Requests the cancellation of an unpaid PaymentIntent.
    #[must_use]
    pub fn cancel_intent(intent: &PspId, account: Option<&str>) -> Self {
        let body = form(&[("cancellation_reason", "abandoned")]);
        Self::of(Step::CancelIntent, format!("/v1/payment_intents/{intent}/cancel"), body, account)
    }

    /// Requests a refund of `amount` yen of a PaymentIntent to its card, on the account that it was created on.
    #[must_use]
    pub fn create_refund(
        tenant: &Tenant,
        (topup, refund): (TopupId, RefundId),
        intent: &PspId,
        amount: &Amount,
        ledger: &str,
        account: Option<&str>,
    ) -> Self {
        let body = form(&[
            ("payment_intent", intent.as_str()),
            ("amount", &amount.text()),
            (&metadata(tag::LEDGER), ledger),
            (&metadata(tag::TENANT), tenant.as_str()),
            (&metadata(tag::TOPUP), &topup.to_string()),
            (&metadata(tag::REFUND), &refund.to_string()),
        ]);
        Self::of(Step::CreateRefund, "/v1/refunds".to_owned(), body, account)
    }

    /// Requests a payout of `amount` yen of the balance at the provider to an account registered there.
    #[must_use]
    pub fn create_payout(
        tenant: &Tenant,
        (merchant, settlement): (MerchantId, SettlementId),
        amount: &Amount,
        to: &PspId,
        terms: &PspTerms,
    ) -> Self {
        let body = form(&[
            ("amount", &amount.text()),
            ("currency", "jpy"),
            ("destination", to.as_str()),
            (&metadata(tag::LEDGER), &terms.ledger),
            (&metadata(tag::TENANT), tenant.as_str()),
            (&metadata(tag::MERCHANT), &merchant.to_string()),
            (&metadata(tag::SETTLEMENT), &settlement.to_string()),
        ]);
        Self::of(Step::CreatePayout, "/v1/payouts".to_owned(), body, terms.account.as_deref())
    }

    fn of(step: Step, path: String, body: String, account: Option<&str>) -> Self {
        Self { step, path, body, account: account.map(str::to_owned) }
    }
}

fn form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

fn metadata(name: &str) -> String {
    format!("metadata[{name}]")
}
