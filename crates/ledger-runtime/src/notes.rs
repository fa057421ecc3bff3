//! What the one log line of a request tells beside method, path and status. Extractors and answers
//! leave it here, the log layer picks it up.

use crate::metrics::Metric;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use std::sync::{Arc, Mutex, PoisonError};

/// What an answer says of itself; travels in the response's extensions.
#[derive(Clone, Debug, Default)]
pub struct ResponseNotes {
    /// The problem's code.
    pub code: Option<&'static str>,
    /// What was asked for.
    pub operation: Option<Operation>,
    /// The answer is a stored one.
    pub replayed: bool,
    /// What it is counted as, beside its status.
    pub metric: Option<Metric>,
    /// It is in the metrics already.
    pub counted: bool,
}

/// Whose request it is; the layer puts it into the request's extensions, the extractors fill it in.
#[derive(Clone, Debug, Default)]
pub struct RequestNotes(Arc<Mutex<Option<Tenant>>>);

impl RequestNotes {
    /// Notes the tenant.
    pub fn set_tenant(&self, tenant: &Tenant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(tenant.clone());
    }

    /// The tenant, once the identity is known.
    #[must_use]
    pub fn tenant(&self) -> Option<Tenant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
