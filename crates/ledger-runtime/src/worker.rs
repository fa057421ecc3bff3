//! Runs a worker for each tenant of a batch once, and reports the records that failed, so that only these are delivered
//! again.

mod ended;

pub(crate) use ended::ended;

use crate::app::App;
use crate::problem::Problem;
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_core::keys::Key;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The work that a worker is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// The tenant.
    pub tenant: Tenant,
    /// Items that were added or changed, as they were right after that; empty if a tick or an operator asks for
    /// everything that is due.
    pub changed: Vec<Item>,
    /// Items that an operator names, to be processed again.
    pub named: Vec<Key>,
}

impl Due {
    /// All due work of a tenant.
    #[must_use]
    pub fn everything(tenant: Tenant) -> Self {
        Self { tenant, changed: Vec::new(), named: Vec::new() }
    }
}

/// A record of a batch, from a queue or the table's stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The id under which a failure is reported.
    pub id: String,
    /// The work that it asks for; `None` if the record is malformed.
    pub due: Option<Due>,
}

/// A tick; an operator's message, which may name an item; or a dead letter, which names an item and the reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tick {
    tenant: String,
    entry: Option<Named>,
    #[serde(rename = "why")]
    _why: Option<String>,
}

/// An item by its key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    pk: String,
    sk: String,
}

impl Tick {
    /// The work that it asks for; `None` if the tenant is malformed, or the item is another tenant's.
    #[must_use]
    pub fn due(&self) -> Option<Due> {
        let tenant = Tenant::parse(&self.tenant).ok()?;
        let named = match &self.entry {
            Some(named) => vec![Key::stored(&tenant, &named.pk, &named.sk)?],
            None => Vec::new(),
        };
        Some(Due { named, ..Due::everything(tenant) })
    }
}

/// Runs the due work of one tenant after another.
pub struct Worker<F> {
    app: App,
    run: F,
    /// Tenants that ticks named and that are not open: each is logged once.
    not_open: Mutex<BTreeSet<Tenant>>,
}

impl<F> Worker<F> {
    /// Creates a worker that does the work of one tenant with `run`.
    ///
    /// INVARIANT: concurrent runs of `run` must have the effect of one, because queues and streams deliver at least
    /// once.
    pub fn new(app: App, run: F) -> Self {
        Self { app, run, not_open: Mutex::default() }
    }

    /// Runs once for each tenant of a batch, and returns the ids of the records that failed.
    pub async fn failed<R>(&self, records: Vec<Record>) -> Vec<String>
    where
        F: AsyncFn(&App, &Due) -> Result<R, Problem>,
    {
        let mut failed = Vec::new();
        // In the order in which the records arrived.
        let mut batch: Vec<(Due, Vec<String>)> = Vec::new();
        for Record { id, due } in records {
            let Some(requested) = due else {
                tracing::error!("a record has no tenant, or an item of another tenant");
                failed.push(id);
                continue;
            };
            match batch.iter_mut().find(|(due, _)| due.tenant == requested.tenant) {
                Some((due, ids)) => {
                    due.changed.extend(requested.changed);
                    due.named.extend(requested.named);
                    ids.push(id);
                }
                None => batch.push((requested, vec![id])),
            }
        }
        for (due, ids) in batch {
            if self.run(&due).await.is_err() {
                failed.extend(ids);
            }
        }
        failed
    }

    /// Does the due work of a tenant. `None` if a tick names a tenant that is not open: schedules are deployed before
    /// their tenants are opened.
    ///
    /// # Errors
    /// The code of the problem, which is counted and logged here.
    pub async fn run<R>(&self, due: &Due) -> Result<Option<R>, &'static str>
    where
        F: AsyncFn(&App, &Due) -> Result<R, Problem>,
    {
        let work = async {
            let is_tick = due.changed.is_empty() && due.named.is_empty();
            if is_tick && !self.app.is_open(&due.tenant).await? {
                self.warn_not_open(&due.tenant);
                return Ok(None);
            }
            (self.run)(&self.app, due).await.map(Some)
        };
        ended(&self.app, (&due.tenant, None), work).await.map_err(|failed| {
            tracing::warn!(tenant = %due.tenant, code = failed.code, "run failed");
            failed.code
        })
    }

    fn warn_not_open(&self, tenant: &Tenant) {
        let mut known = self.not_open.lock().unwrap_or_else(PoisonError::into_inner);
        if known.insert(tenant.clone()) {
            tracing::warn!(%tenant, "tenant is not open: run `tenant open`, or remove it from the deployment's tenants");
        }
    }
}

#[cfg(test)]
mod tests;
