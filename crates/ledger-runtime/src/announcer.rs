//! Where events for staff and for services of the operator are sent: on AWS an event bus.

use futures::future::BoxFuture;
use ledger_core::events::Announcement;

/// A receiver of announcements.
pub trait Announcer: Send + Sync {
    /// Sends the event. An error code means that it may not have arrived: sending it again is safe.
    fn announce<'a>(&'a self, event: &'a Announcement) -> BoxFuture<'a, Result<(), String>>;
}
