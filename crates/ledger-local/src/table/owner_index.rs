//! Adds the index [`INDEX_BY_OWNER_KEYS`] to a table of an earlier release, which has [`INDEX_BY_OWNER`] alone.
//!
//! DynamoDB fills an added index with what the table has, by itself, and serves no read from it before that is done.

use super::{BY_OWNER_KEYS, TableError, definition, has_shape, index_of, key_schema, refused};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata};
use aws_sdk_dynamodb::types::{
    CreateGlobalSecondaryIndexAction, GlobalSecondaryIndexUpdate, IndexStatus, Projection, TableDescription,
};
#[cfg(doc)]
use ledger_core::keys::{INDEX_BY_OWNER, INDEX_BY_OWNER_KEYS};

/// CloudFormation tags what it makes with names that begin like this.
const STACK_TAG_PREFIX: &str = "aws:cloudformation:";

/// The state of the index [`INDEX_BY_OWNER_KEYS`] of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// There is none.
    Absent,
    /// It is being added, and filled with what the table has.
    Building,
    /// It is being deleted.
    Deleting,
    /// It has everything that the table has.
    Active,
    /// It has other keys or another projection.
    OtherShape,
}

impl IndexState {
    pub(super) fn of(table: &TableDescription) -> Self {
        let Some(index) = index_of(table, &BY_OWNER_KEYS) else { return Self::Absent };
        if !has_shape(index, &BY_OWNER_KEYS) {
            return Self::OtherShape;
        }
        match index.index_status() {
            Some(IndexStatus::Deleting) => Self::Deleting,
            // An engine may leave the status out: its index is complete at once.
            Some(IndexStatus::Active) | None if index.backfilling() != Some(true) => Self::Active,
            Some(_) | None => Self::Building,
        }
    }
}

/// The state of the index. The SDK retries the call.
///
/// # Errors
/// [`TableError::Refused`] if DynamoDB refuses the call, for example because the table does not exist.
pub async fn owner_index_state(client: &Client, table: &str) -> Result<IndexState, TableError> {
    Ok(IndexState::of(&described(client, table).await?))
}

/// Adds the index, unless the table has it. Does not wait until it is built. Returns whether it was added.
///
/// # Errors
/// [`TableError::OfStack`] if a CloudFormation stack has to add it, or [`TableError::Refused`].
pub async fn add_owner_index(client: &Client, table: &str) -> Result<bool, TableError> {
    let description = described(client, table).await?;
    if IndexState::of(&description) != IndexState::Absent {
        return Ok(false);
    }
    refuse_table_of_stack(client, table, &description).await?;
    let added = client
        .update_table()
        .table_name(table)
        .attribute_definitions(definition(BY_OWNER_KEYS.partition).map_err(|error| unbuildable(table, &error))?)
        .attribute_definitions(definition(BY_OWNER_KEYS.sort).map_err(|error| unbuildable(table, &error))?)
        .global_secondary_index_updates(addition().map_err(|error| unbuildable(table, &error))?)
        .send()
        .await;
    match added {
        Ok(_) => Ok(true),
        // Another process may have added it in the meantime.
        Err(error) => match owner_index_state(client, table).await? {
            IndexState::Absent => Err(refused("UpdateTable", table, &error)),
            IndexState::Building | IndexState::Deleting | IndexState::Active | IndexState::OtherShape => Ok(false),
        },
    }
}

fn addition() -> Result<GlobalSecondaryIndexUpdate, BuildError> {
    let create = CreateGlobalSecondaryIndexAction::builder()
        .index_name(BY_OWNER_KEYS.name)
        .set_key_schema(Some(key_schema(BY_OWNER_KEYS.partition, BY_OWNER_KEYS.sort)?))
        .projection(Projection::builder().projection_type(BY_OWNER_KEYS.projection).build())
        .build()?;
    Ok(GlobalSecondaryIndexUpdate::builder().create(create).build())
}

/// An index that is added by hand to a stack's table makes the stack's next update fail, which would add it again.
async fn refuse_table_of_stack(client: &Client, table: &str, of: &TableDescription) -> Result<(), TableError> {
    let Some(arn) = of.table_arn() else { return Ok(()) };
    match client.list_tags_of_resource().resource_arn(arn).send().await {
        Ok(answer) => {
            let is_of_stack = answer.tags().iter().any(|tag| tag.key().starts_with(STACK_TAG_PREFIX));
            if is_of_stack { Err(TableError::OfStack(table.to_owned())) } else { Ok(()) }
        }
        // No stack has a table in an engine without tags.
        Err(error) if error.code() == Some("UnknownOperationException") => Ok(()),
        Err(error) => Err(refused("ListTagsOfResource", table, &error)),
    }
}

async fn described(client: &Client, table: &str) -> Result<TableDescription, TableError> {
    let described = client.describe_table().table_name(table).send().await;
    let described = described.map_err(|error| refused("DescribeTable", table, &error))?;
    // DynamoDB describes every table that exists.
    Ok(described.table.unwrap_or_else(|| TableDescription::builder().build()))
}

fn unbuildable(table: &str, error: &BuildError) -> TableError {
    TableError::Refused { call: "UpdateTable", table: table.to_owned(), cause: error.to_string() }
}
