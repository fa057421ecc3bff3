//! The marker of a payment provider's event. It is the first of two layers that let a fact move money once. The
//! second is the state transition of our own record, in the same transaction.

use super::marker::{free, names_of};
use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, attr};
use crate::psp::EventId;
use crate::time::{CLOCK_SKEW, Timestamp};
use crate::transaction::{JournalLink, Role, TransactItem};
use std::time::Duration;

/// How long the marker is kept. The provider redelivers for three days and lists events for thirty.
const EVENT_MARKER_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A claim to apply one event.
#[derive(Clone, Debug)]
pub struct EventClaim {
    /// The tenant.
    pub tenant: Tenant,
    /// The event's id.
    pub event: EventId,
    /// The event's type.
    pub kind: String,
    /// When it is handled.
    pub now: Timestamp,
}

impl EventClaim {
    /// The action that takes the event for good. An event whose effect failed leaves no marker, so that the
    /// provider's next delivery applies it.
    pub(crate) fn marker(&self, journal: Option<JournalLink>) -> TransactItem {
        let mut item = Item::from([
            ("event".to_owned(), Value::s(&self.event)),
            ("kind".to_owned(), Value::s(&self.kind)),
            ("processed_at".to_owned(), Value::s(self.now)),
            (attr::TTL.to_owned(), Value::int(self.now.plus(EVENT_MARKER_KEPT).plus(CLOCK_SKEW).seconds())),
        ]);
        item.extend(journal.into_iter().flat_map(names_of));
        let clauses = vec![free(self.now, Failure::AlreadyExists)];
        TransactItem::put(Role::Marker, keys::stripe_event(&self.tenant, &self.event), item, clauses)
    }
}
