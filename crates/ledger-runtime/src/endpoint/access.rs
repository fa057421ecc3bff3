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
    /// Whether members of one shop may call it, for their shop.
    pub(super) is_of_shops: bool,
}

impl<H: Handler<T, App>, T: 'static> Handler<T, App> for Checked<H> {
    type Future = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, mut request: Request, app: App) -> Self::Future {
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

impl<H> Checked<H> {
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
