//! Who may call an endpoint, and the check of that before its handler.

use crate::app::App;
use crate::identity::{Member, MemberShop};
use crate::permission;
use crate::problem::Problem;
use crate::pseudonym::SourceAddress;
use axum::extract::Request;
use axum::handler::Handler;
use axum::response::{IntoResponse, Response};
use ledger_core::ids::ShopId;
use ledger_core::permission::Permission;
use std::pin::Pin;
use std::sync::Arc;

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

type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler whose type is erased, so that what wraps it, and the service that axum makes of it, are compiled once
/// instead of once for each endpoint.
#[derive(Clone)]
pub(super) struct Erased(Arc<dyn Fn(Request, App) -> Answer + Send + Sync>);

impl Erased {
    pub(super) fn new<H: Handler<T, App>, T: 'static>(handler: H) -> Self {
        Self(Arc::new(move |request, app| Box::pin(handler.clone().call(request, app))))
    }
}

impl Handler<(), App> for Erased {
    type Future = Answer;

    fn call(self, request: Request, app: App) -> Answer {
        (self.0)(request, app)
    }
}

/// A handler that is called only if the caller has a permission.
// INVARIANT: the check comes before the request is read, so before a stored response is looked for.
#[derive(Clone)]
pub(super) struct Checked {
    pub(super) handler: Erased,
    pub(super) permission: Permission,
    /// Whether members of one shop may call it, for their shop.
    pub(super) is_of_shops: bool,
}

impl Handler<(), App> for Checked {
    type Future = Answer;

    fn call(self, mut request: Request, app: App) -> Answer {
        Box::pin(async move {
            let caller = permission::caller(request.extensions(), self.permission);
            match self.permitted(caller, &app).await {
                Ok(shop) => {
                    if let Some(shop) = shop {
                        request.extensions_mut().insert(MemberShop(shop));
                    }
                    self.handler.call(request, app).await
                }
                Err(problem) => problem.into_response(),
            }
        })
    }
}

impl Checked {
    /// Returns the shop that the caller is limited to. An endpoint that is not for members of one shop is denied to them.
    async fn permitted(&self, caller: Result<Member, Problem>, app: &App) -> Result<Option<ShopId>, Problem> {
        let caller = caller?;
        match permission::require(app, &caller, self.permission).await? {
            Some(_) if !self.is_of_shops => Err(permission::deny(app, &caller, self.permission).await),
            shop => Ok(shop),
        }
    }
}

/// A handler that is called only while the request's source has not reached its rate.
// INVARIANT: the check comes before the request is read and before the store is asked.
#[derive(Clone)]
pub(super) struct Limited(pub(super) Erased);

impl Handler<(), App> for Limited {
    type Future = Answer;

    fn call(self, request: Request, app: App) -> Answer {
        Box::pin(async move {
            match app.limiter().check_source(request.extensions().get::<SourceAddress>().cloned()) {
                Ok(()) => self.0.call(request, app).await,
                Err(problem) => problem.into_response(),
            }
        })
    }
}
