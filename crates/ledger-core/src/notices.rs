//! Notices: changes that the person concerned is to hear of at an address that the change did not choose. A change of a
//! customer's e-mail address or telephone number keeps the previous ones for a time, and one of the sign-in the present ones; a
//! changed payout destination names its merchant. A worker announces each notice. The announcement has ids alone: the
//! previous addresses are read by their id.

use crate::dynamo::{Attributes, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{AuditId, CustomerId, MerchantId, Tenant};
use crate::keys::{self, Work, attr};
use crate::personal::Masked;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction, exists};
use std::time::Duration;

/// How long a notice is kept: the time in which the previous addresses can be read.
pub const NOTICE_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

const EMAIL: &str = "email";
const PHONE: &str = "phone";
const CHANGED: &str = "changed";
const SIGN_IN: &str = "sign_in";
pub(crate) const PREVIOUS_EMAIL: &str = "previous_email";
pub(crate) const PREVIOUS_PHONE: &str = "previous_phone";
const PAID_FROM: &str = "paid_from";
const PREVIOUS_DESTINATION: &str = "previous_destination";
const DESTINATION: &str = "destination";
const ANNOUNCED_AT: &str = "announced_at";

/// A stored notice. Its id is that of the audit record of the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Its id.
    pub id: AuditId,
    /// What was changed.
    pub subject: NoticeSubject,
    /// When it was changed.
    pub at: Timestamp,
    /// Whether it is still to be announced.
    pub is_due: bool,
}

/// What a notice is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeSubject {
    /// A customer's e-mail address or telephone number.
    Contact {
        /// The customer.
        customer: CustomerId,
        /// What was changed of it.
        changed: ContactFields,
        /// The contact before the change.
        previous: Contact,
    },
    /// With what a customer signs in.
    SignIn {
        /// The customer.
        customer: CustomerId,
        /// Where the customer can be reached: the move does not change it.
        contact: Contact,
    },
    /// A merchant's payout destination.
    Destination {
        /// The merchant.
        merchant: MerchantId,
        /// What its owner recognises the change by.
        change: DestinationNotice,
    },
}

/// A change of a payout destination, as its merchant recognises it: bank accounts are masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationNotice {
    /// The destination before the change, if there was one.
    pub from: Option<Masked<String>>,
    /// The destination after it.
    pub to: Masked<String>,
    /// The time from which settlements pay to it.
    pub paid_from: Timestamp,
}

/// How a customer can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contact {
    /// The e-mail address.
    pub email: Option<Masked<String>>,
    /// The telephone number.
    pub phone: Option<Masked<String>>,
}

/// Which parts of a contact a change concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContactFields {
    /// The e-mail address.
    pub email: bool,
    /// The telephone number.
    pub phone: bool,
}

impl Contact {
    /// Reads the contact in a customer's profile.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute has another type.
    pub fn read(profile: &Item) -> Result<Self, ItemError> {
        Self::of(profile, EMAIL, PHONE)
    }

    fn of(item: &Item, email: &str, phone: &str) -> Result<Self, ItemError> {
        let masked = |name| Ok(item.opt_string(name)?.map(Masked::new));
        Ok(Self { email: masked(email)?, phone: masked(phone)? })
    }

    /// The attributes of a notice that keeps it.
    fn kept(&self) -> impl Iterator<Item = (String, Value)> {
        let kept = |name: &str, text: &Option<Masked<String>>| {
            text.as_ref().map(|text| (name.to_owned(), Value::s(text.expose())))
        };
        [kept(PREVIOUS_EMAIL, &self.email), kept(PREVIOUS_PHONE, &self.phone)].into_iter().flatten()
    }

    fn is_empty(&self) -> bool {
        self.email.is_none() && self.phone.is_none()
    }

    /// Requires that a profile's contact is as it was read. Fails with `StalePlan`.
    pub(crate) fn as_read(&self) -> Vec<Clause> {
        let clause = |name: &'static str, placeholder: &'static str, seen: &Option<Masked<String>>| {
            let condition = match seen {
                Some(text) => Condition::compare(name, crate::dynamo::Cmp::Eq, placeholder, Value::s(text.expose())),
                // The legacy model writes an absent text in three ways.
                None => Condition::absent(name).or(Condition::null(name)).or(Condition::compare(
                    name,
                    crate::dynamo::Cmp::Eq,
                    placeholder,
                    Value::s(""),
                )),
            };
            Clause { condition, failure: Failure::StalePlan }
        };
        vec![clause(EMAIL, "seen_email", &self.email), clause(PHONE, "seen_phone", &self.phone)]
    }
}

impl ContactFields {
    /// The names, for the trail and for receivers: `email`, `phone`.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        [self.email.then_some(EMAIL), self.phone.then_some(PHONE)].into_iter().flatten().collect()
    }

    /// The names in one text.
    pub(crate) fn text(self) -> String {
        self.names().join(" ")
    }

    fn parse(text: &str) -> Option<Self> {
        let fields = Self { email: text.split(' ').any(|name| name == EMAIL), phone: text.ends_with(PHONE) };
        (fields.text() == text && !text.is_empty()).then_some(fields)
    }
}

impl Notice {
    /// The notice of a change; `None` if no previous address is known to which the customer can be written.
    pub(crate) fn of(id: AuditId, subject: NoticeSubject, at: Timestamp) -> Option<Self> {
        let is_reachable = match &subject {
            NoticeSubject::Contact { previous: contact, .. } | NoticeSubject::SignIn { contact, .. } => {
                !contact.is_empty()
            }
            NoticeSubject::Destination { .. } => true,
        };
        is_reachable.then_some(Self { id, subject, at, is_due: true })
    }

    /// Reads a stored notice.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let subject = match item.opt_parsed("customer_id", CustomerId::parse)? {
            Some(customer) if item.opt_text(CHANGED)? == Some(SIGN_IN) => {
                NoticeSubject::SignIn { customer, contact: Contact::of(item, PREVIOUS_EMAIL, PREVIOUS_PHONE)? }
            }
            Some(customer) => NoticeSubject::Contact {
                customer,
                changed: item.named(CHANGED, ContactFields::parse)?,
                previous: Contact::of(item, PREVIOUS_EMAIL, PREVIOUS_PHONE)?,
            },
            None => NoticeSubject::Destination {
                merchant: item.parsed("merchant_id", MerchantId::parse)?,
                change: DestinationNotice {
                    from: item.opt_string(PREVIOUS_DESTINATION)?.map(Masked::new),
                    to: Masked::new(item.string(DESTINATION)?),
                    paid_from: item.timestamp(PAID_FROM)?,
                },
            },
        };
        Ok(Self {
            id: item.parsed("notice_id", AuditId::parse)?,
            subject,
            at: item.timestamp(attr::CREATED_AT)?,
            is_due: item.opt_text(attr::DUE_PK)?.is_some(),
        })
    }

    /// Stores the notice, in the transaction of the change.
    pub(crate) fn store(&self, tenant: &Tenant) -> TransactItem {
        let mut item = Item::from([
            ("notice_id".to_owned(), Value::s(self.id)),
            (attr::CREATED_AT.to_owned(), Value::s(self.at)),
            (attr::TTL.to_owned(), Value::int(self.at.plus(NOTICE_KEPT).seconds())),
        ]);
        item.extend(Work::Notice.due(tenant, 0, self.at, self.id).attributes());
        let put = |name: &str, value: Value| (name.to_owned(), value);
        match &self.subject {
            NoticeSubject::Contact { customer, changed, previous } => {
                item.extend([put("customer_id", Value::s(customer)), put(CHANGED, Value::S(changed.text()))]);
                item.extend(previous.kept());
            }
            NoticeSubject::SignIn { customer, contact } => {
                item.extend([put("customer_id", Value::s(customer)), put(CHANGED, Value::s(SIGN_IN))]);
                item.extend(contact.kept());
            }
            NoticeSubject::Destination { merchant, change: DestinationNotice { from, to, paid_from } } => {
                item.extend([put("merchant_id", Value::s(merchant)), put(PAID_FROM, Value::s(paid_from))]);
                item.extend(from.as_ref().map(|from| put(PREVIOUS_DESTINATION, Value::s(from.expose()))));
                item.insert(DESTINATION.to_owned(), Value::s(to.expose()));
            }
        }
        TransactItem::put_new(Role::Notice, keys::notice(tenant, self.id), item, Failure::AlreadyExists)
    }

    /// Records that the notice was announced.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn announced(&self, tenant: &Tenant, now: Timestamp) -> Result<Transaction, BuildError> {
        let update = Update::new().set(ANNOUNCED_AT, "now", Value::s(now)).remove(attr::DUE_PK).remove(attr::DUE_SK);
        let key = keys::notice(tenant, self.id);
        Transaction::unkeyed(vec![TransactItem::update(Role::Notice, key, update, vec![exists()])])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_they_are_written_and_nothing_else_is() {
        for (email, phone) in [(true, false), (false, true), (true, true)] {
            let fields = ContactFields { email, phone };
            assert_eq!(ContactFields::parse(&fields.text()), Some(fields));
        }
        for other in ["", "phone email", "email  phone", "name", "email phone x", "xphone"] {
            assert_eq!(ContactFields::parse(other), None, "{other}");
        }
    }

    #[test]
    fn contact_is_not_printed() {
        let contact = Contact { email: Some(Masked::new("hanako@example.jp".to_owned())), phone: None };
        assert!(!format!("{contact:?}").contains("hanako"));
    }
}
