//! The routes of a function: each handler with its endpoint's declaration.

use super::{Endpoint, Method};
use crate::app::App;
use axum::Router;
use axum::routing::{MethodFilter, MethodRouter};
use ledger_core::operation::Operation;
use utoipa::openapi::{ComponentsBuilder, OpenApi};

/// A handler with its endpoint's declaration.
#[derive(Debug)]
pub struct Route {
    declared: Declared,
    handler: MethodRouter<App>,
}

/// The routes of a function, and the declarations of their endpoints.
#[derive(Debug, Default)]
pub struct Routes {
    router: Router<App>,
    declarations: Declarations,
}

/// The declarations of routes. Their OpenAPI operations are made on request only: a function in Lambda never needs
/// them.
#[derive(Clone, Debug, Default)]
pub struct Declarations(Vec<Declared>);

#[derive(Clone, Copy, Debug)]
struct Declared {
    endpoint: Endpoint,
    operation: Option<Operation>,
}

impl Route {
    pub(super) fn new(endpoint: Endpoint, operation: Option<Operation>, handler: MethodRouter<App>) -> Self {
        Self { declared: Declared { endpoint, operation }, handler }
    }
}

impl Routes {
    /// No routes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a route.
    #[must_use]
    pub fn route(mut self, route: Route) -> Self {
        let Route { declared, handler } = route;
        self.router = self.router.route(declared.endpoint.path, handler);
        self.declarations.0.push(declared);
        self
    }

    /// Adds the routes of another.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.declarations.0.extend(other.declarations.0);
        self
    }

    /// Changes the router, such as by a layer around the routes so far.
    #[must_use]
    pub fn map_router(mut self, change: impl FnOnce(Router<App>) -> Router<App>) -> Self {
        self.router = change(self.router);
        self
    }

    /// The router and the declarations.
    pub fn into_parts(self) -> (Router<App>, Declarations) {
        (self.router, self.declarations)
    }
}

impl Declarations {
    /// The method and path of each endpoint.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.0.iter().map(|declared| (declared.endpoint.method.name(), declared.endpoint.path))
    }

    /// Adds the operations and their schemas to a document.
    #[must_use]
    pub fn document(&self, base: OpenApi) -> OpenApi {
        let mut document = base;
        let mut schemas = Vec::new();
        for Declared { endpoint, operation } in &self.0 {
            let method = vec![endpoint.method.documented()];
            document.paths.add_path_operation(endpoint.path, method, endpoint.document(*operation));
            schemas.extend(endpoint.schemas());
        }
        document.components = Some(ComponentsBuilder::new().schemas_from_iter(schemas).build());
        document
    }
}

impl Method {
    pub(super) const fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Patch => MethodFilter::PATCH,
        }
    }
}
