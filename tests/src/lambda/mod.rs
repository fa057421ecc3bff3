//! The functions' real binaries as Lambda runs them: a Runtime API on the loopback that hands out events and takes
//! responses, the local stack behind it, and measurements of each function.

pub mod api;
pub mod bucket;
pub mod events;
pub mod figures;
pub mod function;
pub mod gate;
pub mod kept;
pub mod queue;
pub mod reply;
pub mod rig;
pub mod secrets;

pub use api::RuntimeApi;
pub use bucket::Bucket;
pub use function::{Ended, Function, Program};
pub use gate::Gate;
pub use queue::Queue;
pub use reply::Reply;
pub use rig::Rig;
pub use secrets::Secrets;

/// The caller of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// API Gateway, with a request.
    Http,
    /// A queue, the table's stream, or a manual call: each names a tenant whose work is due.
    Worker,
    /// Another AWS service, with an event that is answered without the store.
    Trigger,
    /// A state machine, with one of its tasks.
    Task,
    /// A state machine, with a task on S3 objects: the function has no store.
    Objects,
}

/// A function that is deployed.
#[derive(Clone, Copy, Debug)]
pub struct Deployed {
    /// The name of its folder and its binary.
    pub name: &'static str,
    /// What calls it.
    pub kind: Kind,
    /// The event in `tests/events` for its measurements.
    pub event: &'static str,
}

/// Every function. Only these are started by the tests and measured.
pub const FUNCTIONS: [Deployed; 12] = [
    http("customer", "customer-payment"),
    http("merchant", "merchant-payments"),
    http("admin", "admin-attention"),
    http("terminal", "terminal-topup"),
    http("stripe-webhook", "stripe-webhook-payment"),
    worker("jobs", "jobs-schedule"),
    worker("outbox", "outbox-schedule"),
    task("settlement", "settlement-collect"),
    worker("reconcile", "reconcile-schedule"),
    worker("migrate", "migrate-schedule"),
    Deployed { name: "reconcile-export", kind: Kind::Objects, event: "reconcile-export-facts" },
    trigger("token-claims", "token-claims-cognito"),
];

const fn http(name: &'static str, event: &'static str) -> Deployed {
    Deployed { name, kind: Kind::Http, event }
}

const fn worker(name: &'static str, event: &'static str) -> Deployed {
    Deployed { name, kind: Kind::Worker, event }
}

const fn task(name: &'static str, event: &'static str) -> Deployed {
    Deployed { name, kind: Kind::Task, event }
}

const fn trigger(name: &'static str, event: &'static str) -> Deployed {
    Deployed { name, kind: Kind::Trigger, event }
}

/// Their names.
#[must_use]
pub fn names() -> [&'static str; FUNCTIONS.len()] {
    FUNCTIONS.map(|function| function.name)
}

/// The function of an event in `tests/events`: the one with the longest name that the event's name begins with.
#[must_use]
pub fn function_of_event(event: &str) -> Option<Deployed> {
    let named = |name: &str| event.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
    FUNCTIONS.into_iter().filter(|function| named(function.name)).max_by_key(|function| function.name.len())
}
