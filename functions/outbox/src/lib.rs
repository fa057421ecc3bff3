//! What leaves the ledger: publishes journal entries as events, and recovers operations in flight with the
//! payment provider: claims whose holder is gone, top-ups that nobody paid, refunds whose events were lost. A
//! schedule calls it for a tenant, the table's stream as soon as there is an entry, and anybody at any time:
//! two runs at once move nothing twice, and keep each account's events in order.

use ledger_core::ids::Tenant;
use ledger_runtime::app::App;
use ledger_runtime::problem::Problem;
use ledger_runtime::publishing::{self, Published, Publisher};
use ledger_runtime::topups::{self, Recovered};
use ledger_runtime::worker::Due;
use serde::Serialize;

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Done {
    /// Operations in flight.
    pub recovered: Recovered,
    /// Events of journal entries.
    pub events: Published,
}

/// Does what is due for a tenant. What fails of the two does not keep the other from its work.
///
/// # Errors
/// 503 if the store did not tell, or events were not taken; a later run goes on where this one stopped. 500
/// if there is something to do and nobody to ask or to tell.
pub async fn run(app: &App, publisher: Option<&Publisher>, due: &Due) -> Result<Done, Problem> {
    // What the stream or a person names is an entry; claims are looked for by schedule.
    if !due.changed.is_empty() || !due.named.is_empty() {
        return Ok(Done { events: publish_due(app, publisher, due).await?, ..Done::default() });
    }
    let (events, recovered) = tokio::join!(publish_due(app, publisher, due), run_due(app, &due.tenant));
    Ok(Done { events: events?, recovered: recovered? })
}

/// Publishes the journal entries that are due: those of the accounts that the stream speaks of, those that a
/// person names, or all of them.
///
/// # Errors
/// 503 if the store did not tell, or if an event was not taken. 500 if there are events and no queue.
pub async fn publish_due(app: &App, publisher: Option<&Publisher>, due: &Due) -> Result<Published, Problem> {
    let shards = app.terms(&due.tenant).await?.due_shards;
    let Some(publisher) = publisher else {
        let waits = publishing::any_waits(app.dynamo(), &due.tenant, shards).await?;
        return if waits { Err(no_queue(&due.tenant)) } else { Ok(Published::default()) };
    };
    let mut done = Published::default();
    for key in &due.named {
        done.add(publisher.again(&due.tenant, shards, key).await?);
    }
    if !due.changed.is_empty() {
        done.add(publisher.changed(&due.tenant, shards, &due.changed).await?);
    } else if due.named.is_empty() {
        done.add(publisher.sweep(&due.tenant, shards).await?);
    }
    // It is told as a failure, so that it is tried again soon, and somebody hears of it if that goes on.
    if done.waiting > 0 { Err(Problem::unavailable()) } else { Ok(done) }
}

/// Takes on what is in flight for a tenant.
///
/// # Errors
/// 503 if the store did not tell; a later run goes on where this one stopped. 500 if there are claims and
/// no provider to ask.
pub async fn run_due(app: &App, tenant: &Tenant) -> Result<Recovered, Problem> {
    let shards = app.terms(tenant).await?.due_shards;
    match app.provider_if_any().await {
        Some(provider) => provider.desk().recover(tenant, shards).await,
        // A deployment may come before its Stripe account. But nobody may take the account from under claims.
        None if topups::any_waits(app.dynamo(), tenant, shards).await? => Err(no_provider(tenant)),
        None => Ok(Recovered::default()),
    }
}

fn no_provider(tenant: &Tenant) -> Problem {
    tracing::error!(%tenant, "claims wait for Stripe, which is not set up: put its secret back");
    Problem::internal()
}

fn no_queue(tenant: &Tenant) -> Problem {
    tracing::error!(%tenant, "journal entries wait for a queue: set EVENTS_QUEUE_URL and EVENTS_DEAD_LETTERS_URL");
    Problem::internal()
}
