//! AWS between the functions and their store: each call is held against the role of the function that
//! makes it, as the template has it, and against DynamoDB's own rules. What the role does not allow, and what
//! DynamoDB would refuse although the embedded engine takes it, is refused as AWS refuses it.

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
    /// Who makes the calls of this task.
    static CALLER: Caller;
}

#[derive(Clone, Copy, Debug)]
enum Caller {
    /// The function of this name.
    Function(&'static str),
    /// The test itself.
    Test,
}

/// What functions did through gated clients.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// What IAM was asked, by function.
    pub asked: BTreeMap<&'static str, BTreeSet<Request>>,
    /// What it refused.
    pub refused: BTreeSet<String>,
    /// What DynamoDB would refuse: operation, rule and message.
    pub invalid: BTreeSet<String>,
    /// Function, method and path of the requests that were answered with a success.
    pub served: BTreeSet<(&'static str, String, String)>,
}

struct Roles {
    by_function: BTreeMap<String, Policy>,
    boundary: Policy,
}

static RECORD: Mutex<Record> = Mutex::new(Record {
    asked: BTreeMap::new(),
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

/// Does some work as the function of this name: the calls in it need its role.
pub async fn as_function<F: Future>(name: &'static str, work: F) -> F::Output {
    CALLER.scope(Caller::Function(name), work).await
}

/// Does some work of the test's own with what belongs to a function: nothing is held against a role.
pub async fn as_test<F: Future>(work: F) -> F::Output {
    CALLER.scope(Caller::Test, work).await
}

/// Every function's router over its state, completed as in Lambda, each request under the name of the function
/// whose path it asks for.
pub fn router((app, counting): (App, Counting)) -> Router {
    let metrics: Arc<dyn MetricSource> = Arc::new(counting);
    let paths = |&(name, face): &(&'static str, Face)| {
        face(&app, &metrics).into_openapi().paths.paths.into_keys().map(move |path| (path, name))
    };
    let functions: Arc<BTreeMap<String, &'static str>> = Arc::new(FACES.iter().flat_map(paths).collect());
    let (router, _) = faces::routes(&app, &metrics).split_for_parts();
    let named = from_fn(move |request, next| serve(Arc::clone(&functions), request, next));
    routing::finish(router, app).layer(named)
}

/// What has been done in this process.
#[must_use]
pub fn record() -> Record {
    lock().clone()
}

/// A client whose calls pass the gate. One that nobody makes is a mistake of the test, and panics.
#[must_use]
pub fn over(inner: impl HttpClient + 'static) -> SharedHttpClient {
    http_client_fn(move |settings, components| {
        SharedHttpConnector::new(Gate { inner: inner.http_connector(settings, components) })
    })
}

async fn serve(functions: Arc<BTreeMap<String, &'static str>>, request: HttpIn, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let Some((path, name)) = path.and_then(|path| functions.get(&path).map(|name| (path, *name))) else {
        // No function is called where there is no route.
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
        let caller = CALLER.try_with(|caller| *caller).expect("a function's call is made as some function");
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

/// DynamoDB's answer to a request that it refuses; none if it executes it.
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
    // Whoever reads of a 500 wants to know.
    eprintln!("IAM refuses {refused}");
    lock().refused.insert(refused);
    false
}

fn decide(function: &'static str, operation: &str, body: &Value) -> Result<(), String> {
    let role = ROLES.by_function.get(function).ok_or("the template has no such function")?;
    for request in requests::of(operation, body).map_err(|unknown| unknown.to_string())? {
        // The template stays as it is while tests run: what it has allowed, it allows.
        if lock().asked.get(function).is_some_and(|allowed| allowed.contains(&request)) {
            continue;
        }
        iam::authorise(role, &ROLES.boundary, &request).map_err(|why| format!("{request}: {why:?}"))?;
        lock().asked.entry(function).or_default().insert(request);
    }
    Ok(())
}

fn lock() -> MutexGuard<'static, Record> {
    RECORD.lock().expect("nobody panics with it")
}
