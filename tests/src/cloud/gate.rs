//! Checks each call between the functions and their store as AWS would: against the calling function's role in the
//! template, and against DynamoDB's own rules. Calls that the role does not allow, or that DynamoDB would refuse
//! although the embedded engine accepts them, are refused with AWS's error.

use super::Template;
use super::iam::{self, Policy, Request};
use super::requests;
use crate::http::tap;
use crate::rules;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use axum::Router;
use axum::extract::{MatchedPath, Request as HttpIn};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use ledger_local::faces::{self, FACES, Face};
use ledger_runtime::app::App;
use ledger_runtime::metrics::Counting;
use ledger_runtime::readback::MetricSource;
use ledger_runtime::routing;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

tokio::task_local! {
    /// The caller of this task's requests.
    static CALLER: Caller;
}

#[derive(Clone, Copy, Debug)]
enum Caller {
    /// The function of this name.
    Function(&'static str),
    /// The test itself.
    Test,
}

/// What functions called through gated clients.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The IAM requests by function.
    pub requests: BTreeMap<&'static str, BTreeSet<Request>>,
    /// The refused IAM requests.
    pub refused: BTreeSet<String>,
    /// The requests that DynamoDB would refuse: operation, rule and message.
    pub invalid: BTreeSet<String>,
    /// Function, method and path of the requests that got a 2xx.
    pub served: BTreeSet<(&'static str, String, String)>,
}

struct Roles {
    by_function: BTreeMap<String, Policy>,
    boundary: Policy,
}

static RECORD: Mutex<Record> = Mutex::new(Record {
    requests: BTreeMap::new(),
    refused: BTreeSet::new(),
    invalid: BTreeSet::new(),
    served: BTreeSet::new(),
});

static ROLES: LazyLock<Roles> = LazyLock::new(|| {
    let template = Template::read();
    let policy = |role: &str| template.role(role).unwrap_or_else(|unknown| panic!("{role}: {unknown}"));
    let by_function = template.functions().into_iter().map(|function| (function.binary, policy(&function.role)));
    Roles { by_function: by_function.collect(), boundary: template.boundary().expect("a boundary") }
});

/// Runs a future as the function of this name: its calls need the function's role.
pub async fn as_function<F: Future>(name: &'static str, work: F) -> F::Output {
    CALLER.scope(Caller::Function(name), work).await
}

/// Runs a future as the test itself: its calls are not checked against a role.
pub async fn as_test<F: Future>(work: F) -> F::Output {
    CALLER.scope(Caller::Test, work).await
}

/// All functions' routers over one state, completed as in Lambda. Each request runs as the function that has its path.
pub fn router((app, counting): (App, Counting)) -> Router {
    let metrics: Arc<dyn MetricSource> = Arc::new(counting);
    let paths = |&(name, face): &(&'static str, Face)| {
        let (_, declarations) = face(&app, &metrics).into_parts();
        declarations.iter().map(|(_, path)| (path.to_owned(), name)).collect::<Vec<_>>()
    };
    let functions: Arc<BTreeMap<String, &'static str>> = Arc::new(FACES.iter().flat_map(paths).collect());
    let (router, _) = faces::routes(&app, &metrics).into_parts();
    let named = from_fn(move |request, next| serve(Arc::clone(&functions), request, next));
    routing::finish(router, app).layer(named)
}

/// The record of this process so far.
#[must_use]
pub fn record() -> Record {
    lock().clone()
}

/// A client whose calls pass the gate. Panics on a call outside of [`as_function`] and [`as_test`].
#[must_use]
pub fn over(inner: impl HttpClient + 'static) -> SharedHttpClient {
    http_client_fn(move |settings, components| {
        SharedHttpConnector::new(Gate { inner: inner.http_connector(settings, components) })
    })
}

async fn serve(functions: Arc<BTreeMap<String, &'static str>>, request: HttpIn, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let Some((path, name)) = path.and_then(|path| functions.get(&path).map(|name| (path, *name))) else {
        // An unknown path belongs to no function.
        return next.run(request).await;
    };
    let method = request.method().to_string();
    let response = as_function(name, next.run(request)).await;
    if response.status().is_success() {
        lock().served.insert((name, method, path));
    }
    response
}

#[derive(Debug)]
struct Gate {
    inner: SharedHttpConnector,
}

impl HttpConnector for Gate {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let caller =
            CALLER.try_with(|caller| *caller).expect("a call to the store is made in `as_function` or `as_test`");
        let (operation, body) = tap::operation(&request);
        if let Caller::Function(name) = caller
            && !admits(name, &operation, &body)
        {
            return HttpConnectorFuture::ready(Ok(tap::error(400, "AccessDeniedException", Vec::new())));
        }
        match invalid(&operation, &body) {
            Some(answer) => HttpConnectorFuture::ready(Ok(tap::answer(400, &answer))),
            None => self.inner.call(request),
        }
    }
}

/// DynamoDB's error for a request that it would refuse; `None` if it would execute it.
#[must_use]
pub fn invalid(operation: &str, body: &Value) -> Option<Value> {
    let refusal = rules::check(operation, body).err()?;
    let line = format!("{operation}: {:?}: {}", refusal.rule, refusal.message);
    eprintln!("DynamoDB refuses {line}");
    lock().invalid.insert(line);
    Some(refusal.body())
}

fn admits(function: &'static str, operation: &str, body: &Value) -> bool {
    let refused = match decide(function, operation, body) {
        Ok(()) => return true,
        Err(why) => format!("{function}: {operation}: {why}"),
    };
    // Explains the 500 that follows.
    eprintln!("IAM refuses {refused}");
    lock().refused.insert(refused);
    false
}

fn decide(function: &'static str, operation: &str, body: &Value) -> Result<(), String> {
    let role = ROLES.by_function.get(function).ok_or("the template has no such function")?;
    for request in requests::of(operation, body).map_err(|unknown| unknown.to_string())? {
        // The template does not change while tests run, so an allowed request stays allowed.
        if lock().requests.get(function).is_some_and(|allowed| allowed.contains(&request)) {
            continue;
        }
        iam::authorise(role, &ROLES.boundary, &request).map_err(|why| format!("{request}: {why:?}"))?;
        lock().requests.entry(function).or_default().insert(request);
    }
    Ok(())
}

fn lock() -> MutexGuard<'static, Record> {
    RECORD.lock().expect("the lock is not poisoned")
}
