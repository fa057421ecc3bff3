//! What the functions and the workers of the local stack work on.

use crate::downloads::LocalDownloads;
use crate::engine::Activity;
use crate::events::LocalEvents;
use crate::legacy::Legacy;
use crate::reports::LocalReports;
use crate::settlement::LocalKyc;
use aws_sdk_dynamodb::Client;
use ledger_core::personal::Masked;
use ledger_core::rate::RequestRate;
use ledger_runtime::clock::Clock;
use ledger_runtime::config::{CallerConfig, StripeConfig};
use std::path::PathBuf;

/// The running store that the functions work on.
#[derive(Debug, Clone)]
pub struct Backend {
    /// A client of the store.
    pub dynamodb: Client,
    /// The store's endpoint.
    pub dynamodb_url: String,
    /// The table, which must exist and be active.
    pub table: String,
    /// The file for the demo terminal's credential; `None` writes none.
    pub terminal_file: Option<PathBuf>,
    /// How Stripe or its simulator is reached.
    pub stripe: StripeConfig,
    /// The rate of tenants whose terms have none.
    pub tenant_requests: RequestRate,
    /// How callers are limited, named in logs, and found behind a front end.
    pub callers: CallerConfig,
    /// The keys of markers.
    pub marker_keys: Masked<String>,
    /// The keys of cards' PINs.
    pub pin_keys: Masked<String>,
    /// The event lists.
    pub events: LocalEvents,
    /// The simulated KYC service.
    pub kyc: LocalKyc,
    /// The store of reconciliation reports.
    pub reports: LocalReports,
    /// The store of the files that staff fetch.
    pub downloads: LocalDownloads,
    /// A second tenant, to be migrated from a legacy model.
    pub legacy: Option<Legacy>,
    /// The counts of the embedded engine's requests; `None` for another store.
    pub activity: Option<Activity>,
    /// The functions' clock.
    pub clock: Clock,
}
