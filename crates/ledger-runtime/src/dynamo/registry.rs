//! The registry of tenants: the only module that writes an item outside of a transaction, in a table that has no money.

use super::reads::ReadError;
use super::sending::Sending;
use super::{Answer, Dynamo, convert};
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::failure::Failure;
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, REGISTRY_SHARDS};
use ledger_core::reads;
use ledger_core::registry::{self, RegisteredTenant, RegistryWrite};
use std::sync::Arc;

/// The registry. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Registry {
    dynamo: Dynamo,
}

/// Why a write to the registry was not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryWriteError {
    /// Nothing was written: a condition failed.
    #[error("a condition failed")]
    Failed(Failure),
    /// Nothing was written: DynamoDB refused the request.
    #[error("the registry refused the write ({0}): check its name and the role's permissions")]
    Refused(String),
    /// It is not known whether it was written.
    #[error("the outcome of the write is not known: {0}")]
    Unknown(String),
    /// The stored item is not in the form that the ledger writes.
    #[error(transparent)]
    Unreadable(#[from] ItemError),
}

impl Registry {
    /// The registry of this name, with the client of the table of money. `None` if it is the name of that table.
    // INVARIANT: what the registry writes, which no transaction of money guards, is never in the table of money.
    #[must_use]
    pub fn named(name: &str, money: &Dynamo) -> Option<Self> {
        (name != money.table()).then(|| Self::with_table(name, money))
    }

    fn with_table(name: &str, money: &Dynamo) -> Self {
        Self { dynamo: Dynamo { table: Arc::from(name), ..money.clone() } }
    }

    /// The registry of a table of money.
    #[must_use]
    pub fn of(money: &Dynamo) -> Self {
        Self::with_table(&registry::table_name(money.table()), money)
    }

    /// The name of its table.
    #[must_use]
    pub fn table(&self) -> &str {
        self.dynamo.table()
    }

    /// Reads a tenant's item; `None` if its name is free.
    ///
    /// # Errors
    /// [`ReadError`] if the read fails.
    pub async fn get(&self, tenant: &Tenant) -> Result<Option<RegisteredTenant>, ReadError> {
        let item = self.dynamo.get_stored(&keys::registered_tenant(tenant)).await?;
        Ok(item.as_ref().map(RegisteredTenant::read).transpose()?)
    }

    /// Reads the items of one shard as far as they can be read, by the tenants' names.
    ///
    /// # Errors
    /// [`ReadError`] if a read fails.
    pub async fn shard(&self, shard: u8) -> Result<Vec<Result<RegisteredTenant, ItemError>>, ReadError> {
        let items = self.dynamo.query_readable(&reads::registered_tenants(shard, None)).await?;
        Ok(items.iter().map(|item| RegisteredTenant::read(&item.item)).collect())
    }

    /// Reads every tenant's item as far as it can be read, by the tenants' names.
    ///
    /// # Errors
    /// [`ReadError`] if a read fails.
    pub async fn tenants(&self) -> Result<Vec<Result<RegisteredTenant, ItemError>>, ReadError> {
        let mut tenants = Vec::new();
        for shard in 0..REGISTRY_SHARDS {
            tenants.extend(self.shard(shard).await?);
        }
        tenants.sort_by(|one, other| match (one, other) {
            (Ok(one), Ok(other)) => one.tenant.as_str().cmp(other.tenant.as_str()),
            (one, other) => one.is_err().cmp(&other.is_err()),
        });
        Ok(tenants)
    }

    /// Writes one item. A retry of the SDK may find what an earlier attempt wrote, so a failed condition does not show
    /// that nothing was written by this call: read the item.
    ///
    /// # Errors
    /// [`RegistryWriteError`] if the write is not acknowledged.
    #[expect(clippy::disallowed_methods, reason = "the registry is not the table of money")]
    pub async fn write(&self, write: &RegistryWrite) -> Result<(), RegistryWriteError> {
        let body = write.request_text(self.table()).map_err(|error| RegistryWriteError::Refused(error.to_string()))?;
        let sending = Sending::new(body);
        match sending.around(Box::pin(self.dynamo.client.update_item().table_name(self.table()).send())).await {
            Ok(_) => Ok(()),
            Err(SdkError::ConstructionFailure(_)) => Err(RegistryWriteError::Refused("ConstructionFailure".to_owned())),
            Err(SdkError::ServiceError(error)) => Err(service_error(error.into_err(), write)),
            Err(error) => Err(RegistryWriteError::Unknown(error.code().unwrap_or("NoAnswer").to_owned())),
        }
    }
}

fn service_error(error: UpdateItemError, write: &RegistryWrite) -> RegistryWriteError {
    if let UpdateItemError::ConditionalCheckFailedException(failed) = error {
        return match failed.item.map(convert::item_from_sdk).transpose() {
            Ok(stored) => failed_condition(stored.as_ref(), write),
            Err(error) => RegistryWriteError::Unreadable(error),
        };
    }
    let code = error.code().unwrap_or("Unlisted").to_owned();
    match Answer::of(error.code()) {
        // A throttled retry does not show that an earlier attempt was not applied.
        Answer::Throttled | Answer::Cancelled | Answer::Unlisted => RegistryWriteError::Unknown(code),
        Answer::Refused => RegistryWriteError::Refused(code),
    }
}

fn failed_condition(stored: Option<&Item>, write: &RegistryWrite) -> RegistryWriteError {
    match write.failure_on(stored) {
        Some(failure) => RegistryWriteError::Failed(failure),
        None => RegistryWriteError::Unknown("ConditionWithoutCause".to_owned()),
    }
}
