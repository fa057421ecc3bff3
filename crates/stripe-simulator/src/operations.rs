//! The endpoints of the API: methods, paths and parameters. All parameters are read before anything is executed.

use crate::error::{ErrorType, StripeError};
use crate::forms::Params;
use crate::lists::{Page, list};
use crate::objects::{Metadata, Object};
use crate::store::{Change, State};
use crate::{expand, money, payment_intents, payouts, refunds};
use serde_json::Value;

const CANCELLATION_REASONS: [&str; 4] = ["abandoned", "duplicate", "fraudulent", "requested_by_customer"];
const REFUND_REASONS: [&str; 3] = ["duplicate", "fraudulent", "requested_by_customer"];

/// A valid call.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    action: Action,
    expand: Vec<String>,
}

#[derive(Debug, Clone)]
enum Action {
    CreateIntent(payment_intents::Create),
    UpdateIntent(String, payment_intents::Update),
    ConfirmIntent(String, Option<String>),
    CancelIntent(String, Option<String>),
    CreateRefund(refunds::Create),
    CreatePayout(payouts::Create),
    Get(Kind, String),
    List(Kind, Page, Filter),
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    PaymentIntents,
    Charges,
    Refunds,
    Disputes,
    Payouts,
    Events,
}

/// The filter of a list. An absent member matches everything.
#[derive(Debug, Clone, Default)]
struct Filter {
    customer: Option<String>,
    payment_intent: Option<String>,
    charge: Option<String>,
    status: Option<String>,
    types: Vec<String>,
}

/// Parses a call of `/v1/...`; `None` if there is no such endpoint.
pub(crate) fn parse(method: &str, path: &str, mut params: Params) -> Option<Result<Operation, StripeError>> {
    let expand = expand::parse(&mut params);
    let action = action(method, path, &mut params)?;
    let operation = || {
        let (expand, action) = (expand?, action?);
        params.finish()?;
        Ok(Operation { action, expand })
    };
    Some(operation())
}

fn action(method: &str, path: &str, params: &mut Params) -> Option<Result<Action, StripeError>> {
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let ["v1", segments @ ..] = segments.as_slice() else { return None };
    Some(match (method, segments) {
        ("POST", ["payment_intents"]) => create_intent(params),
        ("POST", ["payment_intents", id]) => update_intent(id, params),
        ("POST", ["payment_intents", id, "confirm"]) => confirm_intent(id, params),
        ("POST", ["payment_intents", id, "cancel"]) => cancel_intent(id, params),
        ("POST", ["refunds"]) => create_refund(params),
        ("POST", ["payouts"]) => create_payout(params),
        ("GET", [kind]) => list_of(Kind::named(kind)?, params),
        ("GET", [kind, id]) => Ok(Action::Get(Kind::named(kind)?, (*id).to_owned())),
        _ => return None,
    })
}

impl Operation {
    /// Executes it.
    pub(crate) fn run(self, change: &mut Change<'_>) -> Result<Value, StripeError> {
        let mut value = match self.action {
            Action::CreateIntent(create) => payment_intents::create(change, create)?,
            Action::UpdateIntent(id, update) => payment_intents::update(change, &id, update)?,
            Action::ConfirmIntent(id, method) => payment_intents::confirm(change, &id, method)?,
            Action::CancelIntent(id, reason) => payment_intents::cancel(change, &id, reason)?,
            Action::CreateRefund(create) => refunds::create(change, create)?,
            Action::CreatePayout(create) => payouts::create(change, create)?,
            Action::Get(kind, id) => kind.get(change.state, &id)?,
            Action::List(kind, page, filter) => kind.list(change.state, &page, &filter)?,
        };
        expand::apply(change.state, &mut value, &self.expand);
        Ok(value)
    }

    /// Whether it only reads.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(self.action, Action::Get(..) | Action::List(..))
    }
}

impl Kind {
    fn named(name: &str) -> Option<Self> {
        match name {
            "payment_intents" => Some(Self::PaymentIntents),
            "charges" => Some(Self::Charges),
            "refunds" => Some(Self::Refunds),
            "disputes" => Some(Self::Disputes),
            "payouts" => Some(Self::Payouts),
            "events" => Some(Self::Events),
            _ => None,
        }
    }

    fn get(self, state: &State, id: &str) -> Result<Value, StripeError> {
        match self {
            Self::PaymentIntents => state.payment_intents.find(id, "intent").map(Object::json),
            Self::Charges => state.charges.find(id, "charge").map(Object::json),
            Self::Refunds => state.refunds.find(id, "refund").map(Object::json),
            Self::Disputes => state.disputes.find(id, "dispute").map(Object::json),
            Self::Payouts => state.payouts.find(id, "payout").map(Object::json),
            Self::Events => state.events.find(id, "id").map(|event| event.json_with(state.waiting(&event.id))),
        }
    }

    fn list(self, state: &State, page: &Page, filter: &Filter) -> Result<Value, StripeError> {
        let wants = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
        match self {
            Self::PaymentIntents => {
                let matches = |intent: &crate::objects::PaymentIntent| {
                    filter.customer.is_none() || filter.customer == intent.customer
                };
                list(&state.payment_intents, page, "/v1/payment_intents", matches, Object::json)
            }
            Self::Charges => {
                let matches = |charge: &crate::objects::Charge| {
                    wants(&filter.payment_intent, &charge.payment_intent)
                        && (filter.customer.is_none() || filter.customer == charge.customer)
                };
                list(&state.charges, page, "/v1/charges", matches, Object::json)
            }
            Self::Refunds => {
                let matches = |refund: &crate::objects::Refund| {
                    wants(&filter.payment_intent, &refund.payment_intent) && wants(&filter.charge, &refund.charge)
                };
                list(&state.refunds, page, "/v1/refunds", matches, Object::json)
            }
            Self::Disputes => {
                let matches = |dispute: &crate::objects::Dispute| {
                    wants(&filter.payment_intent, &dispute.payment_intent) && wants(&filter.charge, &dispute.charge)
                };
                list(&state.disputes, page, "/v1/disputes", matches, Object::json)
            }
            Self::Payouts => {
                let matches = |payout: &crate::objects::Payout| wants(&filter.status, payout.status.name());
                list(&state.payouts, page, "/v1/payouts", matches, Object::json)
            }
            Self::Events => {
                let matches = |event: &crate::events::Event| {
                    filter.types.is_empty() || filter.types.iter().any(|wanted| type_matches(wanted, &event.kind))
                };
                let render = |event: &crate::events::Event| event.json_with(state.waiting(&event.id));
                list(&state.events, page, "/v1/events", matches, render)
            }
        }
    }
}

/// 404 with Stripe's message.
pub(crate) fn unrecognized(method: &str, path: &str) -> StripeError {
    let message = format!(
        "Unrecognized request URL ({method}: {path}). The simulator has PaymentIntents, charges, refunds, disputes, \
         payouts and events."
    );
    StripeError::new(404, ErrorType::InvalidRequest, None, message).not_executed()
}

/// Whether an event type matches. `charge.*` matches all types with this prefix.
fn type_matches(wanted: &str, kind: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(prefix) => kind.starts_with(prefix),
        None => wanted == kind,
    }
}

fn create_intent(params: &mut Params) -> Result<Action, StripeError> {
    let amount = params.integer("amount")?.ok_or_else(|| crate::forms::missing("amount"))?;
    let currency = money::currency(&params.required("currency")?)?;
    money::check(amount, &currency)?;
    params.one_of("capture_method", &["automatic", "automatic_async"])?;
    params.one_of("confirmation_method", &["automatic"])?;
    let confirm = params.boolean("confirm")?.unwrap_or_default();
    let payment_method = params.text("payment_method")?;
    // The return URL is ignored, because no payment method here redirects.
    params.text("return_url")?;
    let allow_redirects = params.one_of("automatic_payment_methods[allow_redirects]", &["always", "never"])?;
    let automatic = params.boolean("automatic_payment_methods[enabled]")?;
    if allow_redirects.is_some() && automatic.is_none() {
        return Err(crate::forms::missing("automatic_payment_methods[enabled]"));
    }
    if confirm && payment_method.is_none() {
        return Err(crate::forms::missing("payment_method"));
    }
    let types = params.list("payment_method_types");
    Ok(Action::CreateIntent(payment_intents::Create {
        amount,
        currency,
        metadata: metadata(params)?,
        description: params.text("description")?,
        receipt_email: params.text("receipt_email")?,
        statement_descriptor: params.text("statement_descriptor")?,
        customer: params.text("customer")?,
        payment_method,
        // Without types, Stripe chooses the payment methods.
        automatic_payment_methods: automatic.unwrap_or(types.is_empty()),
        payment_method_types: types,
        confirm,
    }))
}

fn update_intent(id: &str, params: &mut Params) -> Result<Action, StripeError> {
    let update = payment_intents::Update {
        metadata: params.metadata()?,
        description: params.text("description")?,
        receipt_email: params.text("receipt_email")?,
        amount: params.integer("amount")?,
        payment_method: params.text("payment_method")?,
    };
    Ok(Action::UpdateIntent(id.to_owned(), update))
}

fn confirm_intent(id: &str, params: &mut Params) -> Result<Action, StripeError> {
    let method = params.text("payment_method")?;
    params.text("return_url")?;
    Ok(Action::ConfirmIntent(id.to_owned(), method))
}

fn cancel_intent(id: &str, params: &mut Params) -> Result<Action, StripeError> {
    let reason = params.one_of("cancellation_reason", &CANCELLATION_REASONS)?;
    Ok(Action::CancelIntent(id.to_owned(), reason))
}

fn create_refund(params: &mut Params) -> Result<Action, StripeError> {
    let amount = params.integer("amount")?;
    if let Some(amount) = amount {
        money::positive(amount)?;
    }
    Ok(Action::CreateRefund(refunds::Create {
        payment_intent: params.text("payment_intent")?,
        charge: params.text("charge")?,
        amount,
        metadata: metadata(params)?,
        reason: params.one_of("reason", &REFUND_REASONS)?,
    }))
}

fn create_payout(params: &mut Params) -> Result<Action, StripeError> {
    let amount = params.integer("amount")?.ok_or_else(|| crate::forms::missing("amount"))?;
    money::positive(amount)?;
    Ok(Action::CreatePayout(payouts::Create {
        amount,
        currency: money::currency(&params.required("currency")?)?,
        metadata: metadata(params)?,
        description: params.text("description")?,
        statement_descriptor: params.text("statement_descriptor")?,
        destination: params.text("destination")?,
        method: params.one_of("method", &["standard", "instant"])?,
    }))
}

fn list_of(kind: Kind, params: &mut Params) -> Result<Action, StripeError> {
    let page = Page::parse(params)?;
    let mut filter = Filter::default();
    match kind {
        Kind::PaymentIntents => filter.customer = params.text("customer")?,
        Kind::Charges => {
            filter.customer = params.text("customer")?;
            filter.payment_intent = params.text("payment_intent")?;
        }
        Kind::Refunds | Kind::Disputes => {
            filter.payment_intent = params.text("payment_intent")?;
            filter.charge = params.text("charge")?;
        }
        Kind::Payouts => filter.status = params.one_of("status", &["pending", "paid", "failed", "canceled"])?,
        Kind::Events => {
            filter.types = params.list("types");
            filter.types.extend(params.text("type")?);
        }
    }
    Ok(Action::List(kind, page, filter))
}

/// The metadata of a new object. Empty values are ignored, because there is nothing to remove.
fn metadata(params: &mut Params) -> Result<Metadata, StripeError> {
    let patch = params.metadata()?.unwrap_or_default();
    Ok(patch.into_iter().filter(|(_, value)| !value.is_empty()).collect())
}
