//! What a worker is asked to do, and how its work ends: for each tenant of a batch once, and of a batch only what did
//! not succeed comes again.

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

/// What a worker is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// For whom.
    pub tenant: Tenant,
    /// What has come or changed in the table, as it was right after that; nothing where a schedule or a
    /// person asks for everything that is due.
    pub changed: Vec<Item>,
    /// What a person names, to be looked after once more.
    pub named: Vec<Key>,
}

impl Due {
    /// Everything that is due for a tenant.
    #[must_use]
    pub fn everything(tenant: Tenant) -> Self {
        Self { tenant, changed: Vec::new(), named: Vec::new() }
    }
}

/// A record of a batch, as a queue or the table's stream hands it over.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The id under which it is reported.
    pub id: String,
    /// What it asks for, if that can be read.
    pub due: Option<Due>,
}

/// The message of a schedule; of a person, who may name an item; or a dead letter, which names one and says why.
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
    /// What is due; `None` if the tenant is malformed, or the item another's.
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

/// Does what is due, tenant by tenant.
pub struct Worker<F> {
    app: App,
    run: F,
    /// Tenants that were asked for and are not open: each is logged once.
    not_open: Mutex<BTreeSet<Tenant>>,
}

impl<F> Worker<F> {
    /// A worker that does the work of one tenant by `run`. Two runs at once must do nothing twice: a queue and a
    /// stream deliver at least once.
    pub fn new(app: App, run: F) -> Self {
        Self { app, run, not_open: Mutex::default() }
    }

    /// Runs once for each tenant of a batch, and says which records did not succeed.
    pub async fn failed<R>(&self, records: Vec<Record>) -> Vec<String>
    where
        F: AsyncFn(&App, &Due) -> Result<R, Problem>,
    {
        let mut failed = Vec::new();
        // In the order in which they came.
        let mut batch: Vec<(Due, Vec<String>)> = Vec::new();
        for Record { id, due } in records {
            let Some(asked) = due else {
                tracing::error!("a record names no tenant, or another's item");
                failed.push(id);
                continue;
            };
            match batch.iter_mut().find(|(due, _)| due.tenant == asked.tenant) {
                Some((due, ids)) => {
                    due.changed.extend(asked.changed);
                    due.named.extend(asked.named);
                    ids.push(id);
                }
                None => batch.push((asked, vec![id])),
            }
        }
        for (due, ids) in batch {
            if self.run(&due).await.is_err() {
                failed.extend(ids);
            }
        }
        failed
    }

    /// Does what is due; `None` if all is asked for of a tenant that is not open. Schedules are deployed before
    /// their tenants are opened.
    ///
    /// # Errors
    /// A code, if the work did not end well; its problem is counted and logged here.
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
            tracing::warn!(tenant = %due.tenant, code = failed.code, "a run did not end well");
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
