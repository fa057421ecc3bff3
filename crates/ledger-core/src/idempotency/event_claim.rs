//! The marker of a payment provider's event. It is the first of two layers that let a fact move money once. The
//! second is the state transition of our own record, in the same transaction.

use crate::dynamo::{Cmp, Condition, Item, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, attr};
use crate::psp::EventId;
use crate::time::{CLOCK_SKEW, Timestamp};
use crate::transaction::{Clause, JournalLink, Role, TransactItem};
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
        if let Some(journal) = journal {
            item.insert("entry_home".to_owned(), Value::s(journal.home));
            item.insert("entry_id".to_owned(), Value::s(journal.id));
        }
        let lapsed = Value::int(self.now.minus(CLOCK_SKEW).seconds());
        let free = Condition::absent(attr::PK).or(Condition::compare(attr::TTL, Cmp::Lt, "expired_before", lapsed));
        let clause = Clause { condition: free, failure: Failure::AlreadyExists };
        TransactItem::put(Role::Marker, keys::stripe_event(&self.tenant, &self.event), item, vec![clause])
    }
}
