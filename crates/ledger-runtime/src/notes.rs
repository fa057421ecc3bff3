//! What extractors and responses pass to the log line of a request, beside method, path and status.

use crate::metrics::Metric;
use crate::pseudonym::Pseudonym;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use std::sync::{Arc, Mutex, PoisonError};

/// Facts about a response, in the response's extensions.
#[derive(Clone, Debug, Default)]
pub struct ResponseNotes {
    /// The problem's code.
    pub code: Option<&'static str>,
    /// The operation of the request.
    pub operation: Option<Operation>,
    /// Whether it replays a stored response.
    pub replayed: bool,
    /// The metric to count in addition to that of the status.
    pub metric: Option<Metric>,
    /// Whether the response is counted already.
    pub counted: bool,
}

/// The request's id, tenant and caller, in the request's extensions. The log layer adds it, and the extractors set it.
#[derive(Clone, Debug, Default)]
pub struct RequestNotes(Arc<Mutex<Caller>>);

#[derive(Debug, Default)]
struct Caller {
    tenant: Option<Tenant>,
    actor: Option<Pseudonym>,
    request_id: Option<String>,
}

impl RequestNotes {
    /// Sets the tenant.
    pub fn set_tenant(&self, tenant: &Tenant) {
        self.with(|caller| caller.tenant = Some(tenant.clone()));
    }

    /// Sets the tenant and the actor's pseudonym.
    pub(crate) fn set_caller(&self, tenant: &Tenant, actor: Option<Pseudonym>) {
        self.with(|caller| {
            caller.tenant = Some(tenant.clone());
            caller.actor = actor;
        });
    }

    /// The tenant; `None` until the identity is verified.
    #[must_use]
    pub fn tenant(&self) -> Option<Tenant> {
        self.with(|caller| caller.tenant.clone())
    }

    /// The actor's pseudonym; `None` until the identity is verified.
    pub(crate) fn actor(&self) -> Option<Pseudonym> {
        self.with(|caller| caller.actor)
    }

    /// Sets the request's id.
    pub(crate) fn set_request_id(&self, id: Option<String>) {
        self.with(|caller| caller.request_id = id);
    }

    /// The request's id, as in the log line and the response; `None` if the system gave no randomness for one.
    #[must_use]
    pub fn request_id(&self) -> Option<String> {
        self.with(|caller| caller.request_id.clone())
    }

    fn with<R>(&self, act: impl FnOnce(&mut Caller) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
