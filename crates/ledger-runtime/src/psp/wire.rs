//! Parses the payment provider's JSON into the core's types.
//!
//! Fields that the ledger needs are checked strictly; others are ignored. An error names a malformed field but never
//! repeats its content.

mod json;
#[cfg(test)]
mod tests;

use json::Json;
use ledger_core::personal::Masked;
use ledger_core::psp::{
    Dispute, Event, EventId, IntentStatus, PaymentIntent, Payout, PayoutStatus, PayoutTags, PspId, PspMoney, PspRefund,
    RefundStatus, Subject, Tags,
};

/// A body that is not in the provider's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The body is not one JSON text in UTF-8, or names a field twice.
    #[error("the body is not JSON, or it names a field twice")]
    NotJson,
    /// A field is absent or malformed.
    #[error("the field `{0}` is missing or malformed")]
    Field(&'static str),
}

/// A page of a list, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The items on the page.
    pub data: Vec<T>,
    /// Whether another page follows.
    pub has_more: bool,
}

impl<T> Page<T> {
    /// Converts the items.
    pub(super) fn map<U>(self, to: impl FnMut(T) -> U) -> Page<U> {
        Page { data: self.data.into_iter().map(to).collect(), has_more: self.has_more }
    }
}

/// The body of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorBody {
    /// The class, such as `invalid_request_error`.
    pub kind: String,
    /// The code, such as `amount_too_small`. Some refusals have none.
    pub code: Option<String>,
    /// The code of some undocumented refusals.
    pub message_code: Option<String>,
    /// The message for people. It may contain ids and amounts.
    pub message: Option<Masked<String>>,
    /// The name of the invalid parameter.
    pub param: Option<String>,
    /// The current state of the PaymentIntent, if the body has one that can be parsed.
    pub intent: Option<PaymentIntent>,
}

/// Parses an event, whose signature must have been verified.
///
/// An object or type of event that the ledger does not use becomes [`Subject::Other`].
///
/// # Errors
/// [`WireError`] names the field.
pub fn event(bytes: &[u8], ledger: &str) -> Result<Event, WireError> {
    let event = Json::parse(bytes)?;
    event.is_a("event")?;
    let kind = event.text("type")?;
    let object = event.field("data")?.field("object").map_err(|_| WireError::Field("data.object"))?;
    let family = |prefixes: &[&str]| prefixes.iter().any(|prefix| kind.starts_with(prefix));
    let subject = match object.text("object")? {
        "payment_intent" if family(&["payment_intent."]) => Subject::Intent(read_intent(object, ledger)?),
        "refund" if family(&["refund.", "charge.refund."]) => Subject::Refund(read_refund(object, ledger)?),
        "dispute" if family(&["charge.dispute."]) => Subject::Dispute(read_dispute(object)?),
        "payout" if family(&["payout."]) => Subject::Payout(read_payout(object, ledger)?),
        _ => Subject::Other,
    };
    let unknown = match &subject {
        Subject::Intent(intent) => intent.tags.is_none(),
        Subject::Payout(payout) => payout.tags.is_none(),
        // The ledger recognizes these two by their PaymentIntent.
        Subject::Refund(_) | Subject::Dispute(_) | Subject::Other => false,
    };
    // The metadata names this deployment but no record: it has been edited, and the object is not foreign.
    if unknown && names_this_ledger(object, ledger) {
        return Err(WireError::Field("metadata"));
    }
    Ok(Event {
        id: EventId::parse(event.text("id")?).ok_or(WireError::Field("id"))?,
        kind: kind.to_owned(),
        livemode: event.flag("livemode")?,
        account: event.text_or_null("account")?.map(str::to_owned),
        subject,
    })
}

/// Parses a PaymentIntent.
///
/// # Errors
/// [`WireError`] names the field.
pub fn intent(bytes: &[u8], ledger: &str) -> Result<PaymentIntent, WireError> {
    read_intent(&Json::parse(bytes)?, ledger)
}

/// Parses a refund.
///
/// # Errors
/// [`WireError`] names the field.
pub fn refund(bytes: &[u8], ledger: &str) -> Result<PspRefund, WireError> {
    read_refund(&Json::parse(bytes)?, ledger)
}

/// Parses a payout.
///
/// # Errors
/// [`WireError`] names the field.
pub fn payout(bytes: &[u8], ledger: &str) -> Result<Payout, WireError> {
    read_payout(&Json::parse(bytes)?, ledger)
}

/// Parses a page of PaymentIntents.
///
/// # Errors
/// [`WireError`] if any item is malformed: it might be the one looked for.
pub fn intents(bytes: &[u8], ledger: &str) -> Result<Page<PaymentIntent>, WireError> {
    page(bytes, |item| read_intent(item, ledger))
}

/// Parses a page of refunds.
///
/// # Errors
/// [`WireError`] if any item is malformed: it might be the one looked for.
pub fn refunds(bytes: &[u8], ledger: &str) -> Result<Page<PspRefund>, WireError> {
    page(bytes, |item| read_refund(item, ledger))
}

/// Parses a page of payouts.
///
/// # Errors
/// [`WireError`] if any item is malformed: it might be the one looked for.
pub fn payouts(bytes: &[u8], ledger: &str) -> Result<Page<Payout>, WireError> {
    page(bytes, |item| read_payout(item, ledger))
}

/// Parses a refusal. Only its class is required, because the other fields vary.
///
/// # Errors
/// [`WireError`] if the provider did not write the body: a proxy may also answer with errors.
pub fn error(bytes: &[u8], ledger: &str) -> Result<ErrorBody, WireError> {
    let body = Json::parse(bytes)?;
    let error = body.field("error")?;
    let text = |name| error.text_or_null(name).map(|text| text.map(str::to_owned));
    Ok(ErrorBody {
        kind: error.text("type")?.to_owned(),
        code: text("code")?,
        message_code: text("message_code")?,
        message: text("message")?.map(Masked::new),
        param: text("param")?,
        intent: error.field("payment_intent").ok().and_then(|intent| read_intent(intent, ledger).ok()),
    })
}

fn page<T>(bytes: &[u8], read: impl Fn(&Json) -> Result<T, WireError>) -> Result<Page<T>, WireError> {
    let list = Json::parse(bytes)?;
    list.is_a("list")?;
    let data = list.items("data")?.iter().map(read).collect::<Result<Vec<T>, WireError>>()?;
    Ok(Page { data, has_more: list.flag("has_more")? })
}

fn read_intent(object: &Json, ledger: &str) -> Result<PaymentIntent, WireError> {
    object.is_a("payment_intent")?;
    Ok(PaymentIntent {
        id: id(object)?,
        amount: money(object)?,
        received: object.count("amount_received")?,
        status: IntentStatus::reported(object.text("status")?),
        livemode: object.flag("livemode")?,
        client_secret: object.text_or_null("client_secret")?.map(|secret| Masked::new(secret.to_owned())),
        tags: tags(object, ledger)?,
    })
}

fn read_refund(object: &Json, ledger: &str) -> Result<PspRefund, WireError> {
    object.is_a("refund")?;
    // The field is required, but null for some refunds.
    object.field("status")?;
    Ok(PspRefund {
        id: id(object)?,
        intent: reference(object, "payment_intent")?,
        amount: money(object)?,
        status: RefundStatus::reported(object.text_or_null("status")?.unwrap_or_default()),
        tags: tags(object, ledger)?,
    })
}

fn read_dispute(object: &Json) -> Result<Dispute, WireError> {
    object.is_a("dispute")?;
    Ok(Dispute {
        id: id(object)?,
        intent: reference(object, "payment_intent")?,
        amount: money(object)?,
        livemode: object.flag("livemode")?,
        movements: match object.items("balance_transactions") {
            Ok(listed) => u32::try_from(listed.len()).unwrap_or(u32::MAX),
            Err(_) => 0,
        },
    })
}

fn read_payout(object: &Json, ledger: &str) -> Result<Payout, WireError> {
    object.is_a("payout")?;
    Ok(Payout {
        id: id(object)?,
        amount: money(object)?,
        status: PayoutStatus::reported(object.text("status")?),
        livemode: object.flag("livemode")?,
        tags: tags_by(object, |at| PayoutTags::read(ledger, at))?,
    })
}

fn id(object: &Json) -> Result<PspId, WireError> {
    PspId::parse(object.text("id")?).ok_or(WireError::Field("id"))
}

fn money(object: &Json) -> Result<PspMoney, WireError> {
    let currency = object.text("currency")?;
    if currency.len() != 3 || !currency.bytes().all(|b| b.is_ascii_lowercase()) {
        return Err(WireError::Field("currency"));
    }
    Ok(PspMoney { minor: object.count("amount")?, currency: currency.to_owned() })
}

/// Parses a reference to another object: its id, or the whole object if it was expanded.
fn reference(object: &Json, name: &'static str) -> Result<Option<PspId>, WireError> {
    let malformed = WireError::Field(name);
    let Some(other) = object.present(name)? else {
        return Ok(None);
    };
    let text = other.as_text().or_else(|| other.text("id").ok()).ok_or(malformed)?;
    PspId::parse(text).map(Some).ok_or(malformed)
}

/// Whether an object's metadata names this deployment.
fn names_this_ledger(object: &Json, ledger: &str) -> bool {
    let metadata = object.present("metadata").ok().flatten().and_then(Json::fields);
    metadata.is_some_and(|fields| Tags::are_ours(ledger, |name| fields.get(name).and_then(Json::as_text)))
}

/// Reads our metadata of a PaymentIntent or a refund.
fn tags(object: &Json, ledger: &str) -> Result<Option<Tags>, WireError> {
    tags_by(object, |at| Tags::read(ledger, at))
}

/// Reads our metadata by name. All values must be texts, including those of other writers.
fn tags_by<'a, T>(
    object: &'a Json,
    read: impl FnOnce(&dyn Fn(&str) -> Option<&'a str>) -> Option<T>,
) -> Result<Option<T>, WireError> {
    let malformed = WireError::Field("metadata");
    let Some(metadata) = object.present("metadata")? else {
        return Ok(None);
    };
    let fields = metadata.fields().ok_or(malformed)?;
    if !fields.values().all(|value| value.as_text().is_some()) {
        return Err(malformed);
    }
    Ok(read(&|name: &str| fields.get(name).and_then(Json::as_text)))
}
