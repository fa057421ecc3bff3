//! Who may call an endpoint, and the check of that before its handler.

use crate::app::App;
use crate::permission;
use crate::pseudonym::SourceAddress;
use axum::extract::Request;
use axum::handler::Handler;
use axum::response::{IntoResponse, Response};
use ledger_core::permission::Permission;
use std::pin::Pin;

/// The state of an endpoint that says who may call it.
#[derive(Clone, Copy, Debug)]
pub enum Declared {}

/// The state of an endpoint that does not yet say who may call it.
#[derive(Clone, Copy, Debug)]
pub enum Undeclared {}

/// Who may call an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// A staff member with this permission.
    Permission(Permission),
    /// Every verified caller of the API, on what is their own.
    Own,
    /// Every caller, without a token or a terminal's signature.
    Anonymous,
}

/// A handler that is called only if the caller has a permission.
// INVARIANT: the check comes before the request is read, so before a stored response is looked for.
#[derive(Clone, Debug)]
pub(super) struct Checked<H> {
    pub(super) handler: H,
    pub(super) permission: Permission,
}

impl<H: Handler<T, App>, T: 'static> Handler<T, App> for Checked<H> {
    type Future = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: Request, app: App) -> Self::Future {
        let Self { handler, permission } = self;
        Box::pin(async move {
            let caller = permission::caller(request.extensions(), permission);
            let permitted = match caller {
                Ok(caller) => permission::require(&app, &caller, permission).await,
                Err(problem) => Err(problem),
            };
            match permitted {
                Ok(()) => handler.call(request, app).await,
                Err(problem) => problem.into_response(),
            }
        })
    }
}

/// A handler that is called only while the request's source has not reached its rate.
// INVARIANT: the check comes before the request is read and before the store is asked.
#[derive(Clone, Debug)]
pub(super) struct Limited<H>(pub(super) H);

impl<H: Handler<T, App>, T: 'static> Handler<T, App> for Limited<H> {
    type Future = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: Request, app: App) -> Self::Future {
        Box::pin(async move {
            match app.limiter().check_source(request.extensions().get::<SourceAddress>().cloned()) {
                Ok(()) => self.0.call(request, app).await,
                Err(problem) => problem.into_response(),
            }
        })
    }
}
