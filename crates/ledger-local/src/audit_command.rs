//! `audit verify`: verifies a tenant's audit trail in a table, deployed or local. It reads only.

use crate::engine::{Data, Engine, EngineConfig, EngineError};
use crate::operator::{self, CredentialsError};
use ledger_core::dynamo::ItemError;
use ledger_core::ids::{IdError, Tenant};
use ledger_core::keys;
use ledger_core::terms::TenantTerms;
use ledger_core::time::UtcDay;
use ledger_runtime::clock::Clock;
use ledger_runtime::dynamo::{self, Dynamo, ReadError};
use ledger_runtime::entropy::Entropy;
use ledger_runtime::sealing::{Verified, Verify, verify};
use std::fmt::Write;
use std::path::PathBuf;

/// The arguments of `audit verify`.
#[derive(Debug, Clone)]
pub struct VerifyCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The first day; `None` begins with the first sealed day.
    pub from: Option<String>,
    /// The last day, included; `None` ends with the last sealed day.
    pub to: Option<String>,
    /// The hash of a segment or binding that must be in the chain.
    pub head: Option<String>,
    /// The table.
    pub place: Place,
}

/// The place of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The local stack's data file. The stack must not run meanwhile.
    File {
        /// The file.
        data: PathBuf,
        /// The table's name.
        table: String,
    },
    /// A table on AWS, or at an endpoint.
    Table {
        /// The table's name.
        name: String,
        /// The endpoint URL; `None` for the AWS SDK's Region.
        endpoint_url: Option<String>,
    },
}

/// Why a trail could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The slug is malformed.
    #[error("{0} is not a slug: use 1 to 32 of a-z, 0-9 and -")]
    Slug(String, #[source] IdError),
    /// A day is malformed.
    #[error("{0} is not a day: write it like 2026-11-21")]
    Day(String),
    /// The data file does not exist.
    #[error("the data file {} does not exist: name the table with --table, or the file with --data", .0.display())]
    NoFile(PathBuf),
    /// The engine could not open the data file.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The tenant does not exist in this table.
    #[error("{0} is not open in this table")]
    NoTenant(String),
    /// The tenant's terms cannot be read.
    #[error("the tenant's terms cannot be read: {0}")]
    Terms(#[from] ItemError),
    /// No AWS credentials were found.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The table could not be read.
    #[error("{0}")]
    Store(#[from] ReadError),
}

/// Verifies a trail. Returns the findings as lines of text, and `true` if the trail is whole.
///
/// # Errors
/// [`VerifyError`] if the trail could not be verified; its text says what to do.
pub async fn run(command: &VerifyCommand) -> Result<(String, bool), VerifyError> {
    match &command.place {
        Place::Table { name, endpoint_url } => in_table(command, name, endpoint_url.as_deref()).await,
        Place::File { data, .. } if !data.exists() => Err(VerifyError::NoFile(data.clone())),
        Place::File { data, table } => {
            let engine = Engine::start(&EngineConfig { data: Data::File(data.clone()), port: None })?;
            let done = in_table(command, table, Some(&engine.url())).await;
            engine.stop().await;
            done
        }
    }
}

async fn in_table(
    command: &VerifyCommand,
    table: &str,
    endpoint_url: Option<&str>,
) -> Result<(String, bool), VerifyError> {
    let slug = &command.slug;
    let tenant = Tenant::parse(slug).map_err(|error| VerifyError::Slug(slug.clone(), error))?;
    let day = |text: &Option<String>, otherwise| match text {
        Some(text) => UtcDay::parse(text).map_err(|_| VerifyError::Day(text.clone())),
        None => Ok(otherwise),
    };
    let (from, to) = (day(&command.from, UtcDay::MIN)?, day(&command.to, UtcDay::MAX)?);
    let sdk = operator::sdk_config(endpoint_url).await?;
    let store = Dynamo::from_client(dynamo::client(&sdk, endpoint_url), table, Entropy::system());
    let terms = store.get(&keys::config(&tenant)).await?.ok_or_else(|| VerifyError::NoTenant(slug.clone()))?;
    let now = Clock::system().now();
    let shards = TenantTerms::read(&terms, now)?.due_shards;
    let request = Verify { tenant, from, to, head: command.head.clone(), shards, now };
    let verified = verify(&store, &request).await?;
    Ok((text(&verified), verified.findings.is_empty()))
}

/// A line for each finding, then the heads to record elsewhere, and a summary.
fn text(verified: &Verified) -> String {
    let mut text = String::new();
    for finding in &verified.findings {
        let _ = writeln!(text, "{finding}");
    }
    for head in &verified.heads {
        let _ = writeln!(text, "day {head}");
    }
    for lane in &verified.lanes {
        let _ = writeln!(text, "lane {lane}");
    }
    if let Some(last) = &verified.last {
        let _ = writeln!(text, "head {last}");
    }
    let verdict = match verified.findings.len() {
        0 => "nothing is wrong".to_owned(),
        some => format!("{some} findings"),
    };
    let _ = write!(text, "{} segments, {} records: {verdict}", verified.segments, verified.records);
    text
}
