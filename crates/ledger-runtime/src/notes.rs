//! What extractors and responses pass to the log line of a request, beside method, path and status.

use crate::metrics::Metric;
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

/// The request's tenant, in the request's extensions. The log layer adds it, and the extractors set it.
#[derive(Clone, Debug, Default)]
pub struct RequestNotes(Arc<Mutex<Option<Tenant>>>);

impl RequestNotes {
    /// Sets the tenant.
    pub fn set_tenant(&self, tenant: &Tenant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(tenant.clone());
    }

    /// The tenant; `None` until the identity is verified.
    #[must_use]
    pub fn tenant(&self) -> Option<Tenant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
