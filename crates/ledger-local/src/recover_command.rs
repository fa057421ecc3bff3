//! `tenant recover`: names two owners for a tenant whose owners are lost, and makes them owners after a delay.

use crate::marker_keys::{self, MarkerKeysTextError};
use crate::member_args::{self, MemberError};
use crate::operator::{CredentialsError, ledger};
use ledger_core::dynamo::ItemError;
use ledger_core::failure::Failure;
use ledger_core::idempotency::MarkerKeys;
use ledger_core::ids::{IdError, Tenant};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::staff::{self, Founders, FoundersError, Recovery, RecoveryState};
use ledger_core::time::Timestamp;
use ledger_core::transaction::BuildError;
use ledger_runtime::entropy::EntropyError;
use ledger_runtime::execute::Ledger;
use ledger_runtime::problem::Problem;
use std::path::PathBuf;

/// The arguments of `tenant recover`.
#[derive(Debug, Clone)]
pub struct RecoverCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The persons who become owners: `<id>:<e-mail>`. Empty with `finish`.
    pub owners: Vec<String>,
    /// Whether the recovery that was requested is finished.
    pub finish: bool,
    /// The file with the keys of markers, with `finish`.
    pub marker_keys: Option<PathBuf>,
    /// The table.
    pub table: String,
    /// The endpoint URL; `None` for the AWS SDK's Region.
    pub endpoint_url: Option<String>,
}

/// Why a recovery was not requested or finished. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The slug is malformed.
    #[error("{0} is not a slug: use 1 to 32 of a-z, 0-9 and -")]
    Slug(String, #[source] IdError),
    /// An owner is malformed.
    #[error("owner {0} {1}; nothing was changed")]
    Owner(usize, #[source] MemberError),
    /// Too few owners, or one of them twice.
    #[error("{0}; nothing was changed")]
    Owners(#[from] FoundersError),
    /// Owners were given with `--finish`.
    #[error("give either --owner twice or --finish; nothing was changed")]
    Both,
    /// `--finish` was given without the keys.
    #[error("give --marker-keys with --finish; nothing was changed")]
    NoKeys,
    /// The keys of markers cannot be read.
    #[error("{0}; nothing was changed")]
    Keys(#[from] MarkerKeysTextError),
    /// The tenant does not exist in this table.
    #[error("{0} is not open in this table")]
    NotOpen(String),
    /// A recovery is pending.
    #[error("a recovery of {0} is pending: finish it, or let an owner cancel it; nothing was changed")]
    Pending(String),
    /// No recovery is pending.
    #[error("no recovery of {0} is pending; nothing was changed")]
    NotPending(String),
    /// The delay has not passed.
    #[error("the recovery of {0} can be finished from {1}; nothing was changed")]
    TooEarly(String, Timestamp),
    /// A person has a record.
    #[error("one of the persons has a record of {0}'s staff already: name two who have none; nothing was changed")]
    HasRecord(String),
    /// The stored recovery cannot be read.
    #[error(transparent)]
    Stored(#[from] ItemError),
    /// No AWS credentials were found.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The system provides no randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The write cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The store rejected the write, or its outcome is unknown.
    #[error("{}: {}; run the same command again", .0.code(), .0.detail())]
    Store(Problem),
}

/// Requests a recovery, or finishes the one that was requested.
///
/// # Errors
/// [`RecoverError`], whose text says what to do.
pub async fn run(command: &RecoverCommand) -> Result<String, RecoverError> {
    let RecoverCommand { slug, owners, finish, marker_keys, table, endpoint_url } = command;
    let tenant = Tenant::parse(slug).map_err(|error| RecoverError::Slug(slug.clone(), error))?;
    if *finish != owners.is_empty() {
        return Err(RecoverError::Both);
    }
    let mut persons = Vec::with_capacity(owners.len());
    for (at, text) in owners.iter().enumerate() {
        let person = member_args::founder(text);
        persons.push(person.map_err(|error| RecoverError::Owner(at.saturating_add(1), error))?);
    }
    let keys = marker_keys.as_deref().map(marker_keys::from_file).transpose()?;
    let ledger = ledger(table, endpoint_url.as_deref()).await?;
    match keys {
        Some(keys) if *finish => finished(&ledger, (&tenant, &keys)).await,
        None if *finish => Err(RecoverError::NoKeys),
        Some(_) | None => requested(&ledger, &tenant, &Founders::new(persons)?).await,
    }
}

async fn requested(ledger: &Ledger, tenant: &Tenant, owners: &Founders) -> Result<String, RecoverError> {
    let cx = ledger.context(ledger.clock().now())?;
    let (recovery, write) = staff::request_recovery(tenant, owners, &cx)?;
    match ledger.apply(tenant, Operation::OwnerRecovery, &write).await {
        Ok(()) => Ok(format!(
            "{tenant}: the two persons can be made owners from {}, by `tenant recover {tenant} --finish`. An alarm rings, and \
             an owner can cancel it until then.",
            recovery.ready_at
        )),
        Err(error) if error.failure() == Some(Failure::AccountMissing) => {
            Err(RecoverError::NotOpen(tenant.to_string()))
        }
        Err(error) if error.failure() == Some(Failure::AlreadyExists) => Err(RecoverError::Pending(tenant.to_string())),
        Err(error) => Err(RecoverError::Store(error.into())),
    }
}

async fn finished(ledger: &Ledger, (tenant, keys): (&Tenant, &MarkerKeys)) -> Result<String, RecoverError> {
    let item = ledger.dynamo().get(&keys::owner_recovery(tenant)).await;
    let item = item.map_err(|error| RecoverError::Store(error.into()))?;
    let none = || RecoverError::NotPending(tenant.to_string());
    let recovery = Recovery::read(&item.ok_or_else(none)?)?;
    match recovery.state {
        RecoveryState::Pending => {}
        RecoveryState::Done | RecoveryState::Cancelled => return Err(none()),
    }
    let cx = ledger.context(ledger.clock().now())?;
    if cx.now < recovery.ready_at {
        return Err(RecoverError::TooEarly(tenant.to_string(), recovery.ready_at));
    }
    let write = staff::finish_recovery(tenant, (&recovery, keys), &cx)?;
    match ledger.apply(tenant, Operation::OwnerRecovery, &write).await {
        Ok(()) => Ok(format!("{tenant}: the two persons are owners, everywhere within a minute")),
        Err(error) if error.failure() == Some(Failure::AlreadyExists) => {
            Err(RecoverError::HasRecord(tenant.to_string()))
        }
        Err(error) if error.failure() == Some(Failure::WrongState) => Err(none()),
        Err(error) => Err(RecoverError::Store(error.into())),
    }
}
