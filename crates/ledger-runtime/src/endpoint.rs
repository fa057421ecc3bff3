//! The declaration of an endpoint.
//!
//! It defines the route, the request that an idempotency key is bound to, and the operations in the metrics and the
//! OpenAPI document.

mod access;
mod answers;
mod document;
mod method;
mod pages;
mod routes;
mod shape;

pub use crate::parameter::{Kind, Parameter};
pub use access::{Declared, Undeclared};
pub use answers::{GATEWAY_MESSAGE, Group, problem_schema};
pub use ledger_core::permission::Permission;
pub use routes::{Declarations, Route, Routes};
pub use shape::Shape;

use crate::app::App;
use crate::identity::Caller;
use crate::problem::{Code, Problem};
use crate::request::RequestKey;
use crate::views::PendingApprovalView;
use access::{Access, Checked, Erased, Limited};
use axum::handler::Handler;
use axum::routing::MethodRouter;
use ledger_core::idempotency::{Admission, CanonicalRequest, Claim, Fields};
use ledger_core::operation::Operation;
use method::Method;
use std::fmt::Display;
use std::marker::PhantomData;
use utoipa::ToSchema;

/// The most parameters, and the most conditions, of an endpoint. A constant cannot use a growable list.
const DECLARED_MAX: usize = 12;

/// The value of a variable segment of a path.
pub type Segment<'s> = &'s (dyn Display + Sync);

/// A declared endpoint, built as a constant.
///
/// It has a route only once it says who may call it: a permission, [`Endpoint::open`] or [`Endpoint::anonymous`].
///
/// ```compile_fail,E0308
/// use ledger_runtime::endpoint::Endpoint;
/// // Expected `Endpoint<Declared>`, found `Endpoint<Undeclared>`.
/// const LIST: Endpoint = Endpoint::get("/v1/admin/customers").summary("Lists customers.");
/// ```
///
/// ```compile_fail,E0599
/// use ledger_runtime::endpoint::Endpoint;
/// // No method named `on` for `Endpoint<Undeclared>`.
/// let _ = Endpoint::get("/v1/admin/customers").on(async || "customers");
/// ```
///
/// ```
/// use ledger_runtime::endpoint::{Endpoint, Permission};
/// const LIST: Endpoint = Endpoint::get("/v1/admin/customers").permission(Permission::CustomersRead);
/// let _ = LIST.on(async || "customers");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<A = Declared> {
    method: Method,
    path: &'static str,
    summary: &'static str,
    description: &'static str,
    access: Access,
    state: PhantomData<A>,
    parameters: [Option<Parameter>; DECLARED_MAX],
    body: Option<Shape>,
    successes: [Option<Success>; 2],
    problems: &'static [Code],
    conditions: [Option<(Code, &'static str)>; DECLARED_MAX],
    waits: Option<Code>,
    /// Whether members of one shop may call it, for their shop.
    is_of_shops: bool,
    /// Whether the response 200 is a file of comma-separated values if the request asks for it.
    has_csv: bool,
}

/// An endpoint whose requests carry an idempotency key.
#[derive(Clone, Copy, Debug)]
pub struct Keyed {
    endpoint: Endpoint,
    operation: Operation,
}

/// A 2xx response.
#[derive(Clone, Copy, Debug)]
struct Success {
    status: u16,
    description: &'static str,
    shape: Shape,
    has_location: bool,
}

/// The API that an endpoint belongs to, derived from its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Face {
    Customer,
    Merchant,
    Admin,
    Terminal,
    Stripe,
}

impl Endpoint<Undeclared> {
    /// Declares a `GET` of a path.
    #[must_use]
    pub const fn get(path: &'static str) -> Self {
        Self::new(Method::Get, path)
    }

    /// Declares a `POST` to a path.
    #[must_use]
    pub const fn post(path: &'static str) -> Self {
        Self::new(Method::Post, path)
    }

    /// Declares a `PUT` to a path.
    #[must_use]
    pub const fn put(path: &'static str) -> Self {
        Self::new(Method::Put, path)
    }

    /// Declares a `PATCH` of a path.
    #[must_use]
    pub const fn patch(path: &'static str) -> Self {
        Self::new(Method::Patch, path)
    }

    const fn new(method: Method, path: &'static str) -> Self {
        Self {
            method,
            path,
            summary: "",
            description: "",
            access: Access::Anonymous,
            state: PhantomData,
            parameters: [None; DECLARED_MAX],
            body: None,
            successes: [None; 2],
            problems: &[],
            conditions: [None; DECLARED_MAX],
            waits: None,
            is_of_shops: false,
            has_csv: false,
        }
    }

    /// Sets the permission that the caller needs. It is checked before the request is read, and before a replay.
    #[must_use]
    pub const fn permission(self, permission: Permission) -> Endpoint {
        self.declared(Access::Permission(permission))
    }

    /// Lets every verified caller of the API use it on what is their own: customers, terminals, and staff for their own
    /// record.
    #[must_use]
    pub const fn open(self) -> Endpoint {
        self.declared(Access::Own)
    }

    /// Accepts callers without a token or a terminal's signature, at the rate of a source.
    #[must_use]
    pub const fn anonymous(self) -> Endpoint {
        self.declared(Access::Anonymous)
    }

    const fn declared(self, access: Access) -> Endpoint {
        Endpoint {
            method: self.method,
            path: self.path,
            summary: self.summary,
            description: self.description,
            access,
            state: PhantomData,
            parameters: self.parameters,
            body: self.body,
            successes: self.successes,
            problems: self.problems,
            conditions: self.conditions,
            waits: self.waits,
            is_of_shops: self.is_of_shops,
            has_csv: self.has_csv,
        }
    }
}

impl<A: Copy> Endpoint<A> {
    /// Sets the summary: one sentence.
    #[must_use]
    pub const fn summary(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    /// Sets the part of the document's description that follows the summary.
    #[must_use]
    pub const fn about(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    /// Adds a variable segment of the path that is an id.
    #[must_use]
    pub const fn id(self, name: &'static str, description: &'static str) -> Self {
        self.parameter(Parameter::in_path(name, description, Kind::Id))
    }

    /// Adds a parameter.
    #[must_use]
    pub const fn parameter(mut self, parameter: Parameter) -> Self {
        self.parameters = with_one_more(self.parameters, parameter);
        self
    }

    /// Sets a JSON body.
    #[must_use]
    pub const fn body<T: ToSchema>(mut self) -> Self {
        self.body = Some(Shape::of::<T>());
        self
    }

    /// Sets a JSON body that is verified by its bytes.
    #[must_use]
    pub const fn raw_body(mut self, description: &'static str) -> Self {
        self.body = Some(Shape::text(description));
        self
    }

    /// Adds the response 200 with a body.
    #[must_use]
    pub const fn ok<T: ToSchema>(self, description: &'static str) -> Self {
        self.success(Success { status: 200, description, shape: Shape::of::<T>(), has_location: false })
    }

    /// Lets a request ask for the response 200 as a file of comma-separated values, by the parameter `format`.
    #[must_use]
    pub const fn or_csv(mut self) -> Self {
        self.has_csv = true;
        self.parameter(Parameter::FORMAT)
    }

    /// Adds the response 201 with a body, and the path of the created resource in `Location`.
    #[must_use]
    pub const fn created<T: ToSchema>(self, description: &'static str) -> Self {
        self.success(Success { status: 201, description, shape: Shape::of::<T>(), has_location: true })
    }

    /// Adds the response 201 with a body and without `Location`.
    #[must_use]
    pub const fn created_without_path<T: ToSchema>(self, description: &'static str) -> Self {
        self.success(Success { status: 201, description, shape: Shape::of::<T>(), has_location: false })
    }

    /// Adds the response 202 with a body, and the path of the accepted work in `Location`.
    #[must_use]
    pub const fn accepted<T: ToSchema>(self, description: &'static str) -> Self {
        self.success(Success { status: 202, description, shape: Shape::of::<T>(), has_location: true })
    }

    const fn success(mut self, success: Success) -> Self {
        self.successes = with_one_more(self.successes, success);
        self
    }

    /// Adds the response 202 of a command that is stored until another person approves it, and the path of the approval in
    /// `Location`.
    #[must_use]
    pub const fn approvable(self) -> Self {
        self.accepted::<PendingApprovalView>("Stored; executed once another staff member approves it").asks_ties()
    }

    /// Adds the refusal of a member of the staff whose own account it is for.
    #[must_use]
    pub const fn asks_ties(self) -> Self {
        self.when(Code::FourEyesRequired, "it is for an account of the caller's own")
    }

    /// Lets members of one shop call it, for their shop: the handler must respect [`Merchant::shop`]. All other endpoints
    /// are denied to them.
    ///
    /// [`Merchant::shop`]: crate::identity::Merchant::shop
    #[must_use]
    pub const fn of_shops(mut self) -> Self {
        self.is_of_shops = true;
        self
    }

    /// Sets the refusal codes beyond those that every endpoint of this kind has.
    #[must_use]
    pub const fn problems(mut self, codes: &'static [Code]) -> Self {
        self.problems = codes;
        self
    }

    /// Adds a refusal code with its condition.
    #[must_use]
    pub const fn when(mut self, code: Code, condition: &'static str) -> Self {
        self.conditions = with_one_more(self.conditions, (code, condition));
        self
    }

    /// Adds a code whose responses may carry `Retry-After`, beside those that always do.
    #[must_use]
    pub const fn waits_with(mut self, code: Code) -> Self {
        self.waits = Some(code);
        self
    }
}

impl Endpoint {
    /// Requires an idempotency key, scoped to an operation.
    #[must_use]
    pub const fn keyed(self, operation: Operation) -> Keyed {
        Keyed { endpoint: self, operation }
    }

    /// Returns the path with its variable segments filled in.
    #[must_use]
    pub fn path(&self, segments: &[Segment<'_>]) -> String {
        filled(self.path, segments)
    }

    /// Returns the route of a handler.
    pub fn on<H: Handler<T, App>, T: 'static>(&self, handler: H) -> Route {
        self.route(Erased::new(handler), None)
    }

    fn route(&self, handler: Erased, operation: Option<Operation>) -> Route {
        let (filter, routes) = (self.method.filter(), MethodRouter::new());
        let routes = match self.access {
            Access::Permission(permission) => {
                routes.on(filter, Checked { handler, permission, is_of_shops: self.is_of_shops })
            }
            Access::Own => routes.on(filter, handler),
            Access::Anonymous => routes.on(filter, Limited(handler)),
        };
        Route::new(*self, operation, routes)
    }

    fn face(&self) -> Face {
        match self.path.split('/').nth(2) {
            Some("me") => Face::Customer,
            Some("merchant") => Face::Merchant,
            Some("terminal") => Face::Terminal,
            Some("webhooks") => Face::Stripe,
            Some(_) | None => Face::Admin,
        }
    }
}

impl Keyed {
    /// The operation that the idempotency keys are scoped to.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        self.operation
    }

    /// Returns the path with its variable segments filled in.
    #[must_use]
    pub fn path(&self, segments: &[Segment<'_>]) -> String {
        self.endpoint.path(segments)
    }

    /// Returns the route of a handler.
    pub fn on<H: Handler<T, App>, T: 'static>(&self, handler: H) -> Route {
        self.endpoint.route(Erased::new(handler), Some(self.operation))
    }

    /// Builds a caller's claim as [`App::claim`].
    ///
    /// The key is bound to the method, the path with these values of its variable segments, and the fields.
    ///
    /// # Errors
    /// As [`App::claim`].
    pub fn claim<'a, C: Caller>(
        &self,
        app: &'a App,
        caller: &'a C,
        key: RequestKey,
        segments: &[Segment<'_>],
        fields: Fields,
    ) -> impl Future<Output = Result<(Claim, Admission), Problem>> + use<'a, C> {
        app.claim(caller, self.operation, key, self.request(segments, fields))
    }

    /// Returns the request that a key is bound to.
    #[must_use]
    pub fn request(&self, segments: &[Segment<'_>], fields: Fields) -> CanonicalRequest {
        CanonicalRequest { method: self.endpoint.method.name(), path: self.path(segments), fields }
    }
}

/// Returns a path with its variable segments filled in.
fn filled(path: &str, segments: &[Segment<'_>]) -> String {
    let mut segments = segments.iter();
    let filled = path.split('/').map(|segment| match segment.strip_prefix('{') {
        Some(_) => segments.next().map_or_else(|| segment.to_owned(), ToString::to_string),
        None => segment.to_owned(),
    });
    let filled = filled.collect::<Vec<_>>().join("/");
    debug_assert!(segments.next().is_none() && !filled.contains('{'), "{path} has other variable segments");
    filled
}

/// Returns the slots with `one` in the first free one.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic,
    reason = "declarations are constants: too many do not compile"
)]
const fn with_one_more<T: Copy, const N: usize>(slots: [Option<T>; N], one: T) -> [Option<T>; N] {
    let mut slots = slots;
    let mut at = 0;
    while at < N {
        if slots[at].is_none() {
            slots[at] = Some(one);
            return slots;
        }
        at += 1;
    }
    panic!("too much is declared of one endpoint");
}

#[cfg(test)]
mod tests;
