//! Notices of changed addresses.

use super::words;
use ledger_core::notices::{Notice, NoticeSubject};
use ledger_core::personal::Masked;
use serde::Serialize;
use utoipa::ToSchema;

/// A notice that an address was changed.
#[derive(Debug, Serialize, ToSchema)]
pub struct NoticeView {
    /// The notice's id, which is also that of the audit record of the change.
    notice_id: String,
    /// `contact`: a customer's e-mail address or telephone number. `sign_in`: with what a customer signs in.
    /// `payout_destination`: where a merchant is paid.
    #[schema(value_type = words::NoticeKind)]
    kind: &'static str,
    /// The customer; absent if it is about a payout destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    customer_id: Option<String>,
    /// What was changed of the contact: `email`, `phone`; absent unless it is about a contact.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<Vec<&'static str>>,
    /// The customer's e-mail address before the change; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_email: Option<String>,
    /// The customer's telephone number before the change; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_phone: Option<String>,
    /// The merchant; absent unless it is about a payout destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    merchant_id: Option<String>,
    /// The payout destination before the change, masked, with the account holder's name; absent if there was none, or unless it
    /// is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_destination: Option<String>,
    /// The payout destination after the change, masked, with the account holder's name; absent unless it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    destination: Option<String>,
    /// The time before which no settlement pays to the destination; absent unless it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    paid_from: Option<String>,
    /// The time of the change.
    changed_at: String,
}

impl From<&Notice> for NoticeView {
    fn from(notice: &Notice) -> Self {
        let exposed = |text: &Option<Masked<String>>| text.as_ref().map(|text| text.expose().clone());
        let view = Self {
            notice_id: notice.id.to_string(),
            kind: "",
            customer_id: None,
            changed: None,
            previous_email: None,
            previous_phone: None,
            merchant_id: None,
            previous_destination: None,
            destination: None,
            paid_from: None,
            changed_at: notice.at.to_string(),
        };
        match &notice.subject {
            NoticeSubject::Contact { customer, changed, previous } => Self {
                kind: "contact",
                customer_id: Some(customer.to_string()),
                changed: Some(changed.names()),
                previous_email: exposed(&previous.email),
                previous_phone: exposed(&previous.phone),
                ..view
            },
            NoticeSubject::SignIn { customer, contact } => Self {
                kind: "sign_in",
                customer_id: Some(customer.to_string()),
                previous_email: exposed(&contact.email),
                previous_phone: exposed(&contact.phone),
                ..view
            },
            NoticeSubject::Destination { merchant, change } => Self {
                kind: "payout_destination",
                merchant_id: Some(merchant.to_string()),
                previous_destination: exposed(&change.from),
                destination: Some(change.to.expose().clone()),
                paid_from: Some(change.paid_from.to_string()),
                ..view
            },
        }
    }
}
