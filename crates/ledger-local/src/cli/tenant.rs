//! The arguments of the `tenant` command.

use super::legacy_model;
use crate::tenant_command::{OpenCommand, RecordsCommand, ShardsCommand};
use clap::Subcommand;
use ledger_core::migration::Model;
use std::path::PathBuf;

/// The sub-commands of `tenant`.
#[derive(Debug, Clone, Subcommand)]
pub enum TenantSub {
    /// Print the demo's terms, as a start for a file of terms.
    Terms,
    /// Write a new tenant's terms into a table; an existing tenant is not changed.
    Open {
        /// Slug of the tenant: a-z, 0-9 and -.
        slug: String,
        /// File with the tenant's terms.
        #[arg(long, value_name = "FILE")]
        terms: PathBuf,
        /// Legacy model of the customers that the table holds for the tenant: god_record or half_way.
        #[arg(long, value_name = "MODEL", value_parser = legacy_model)]
        legacy: Option<Model>,
        /// Name of the table.
        #[arg(long)]
        table: String,
        /// DynamoDB endpoint URL (default: the AWS SDK's Region).
        #[arg(long, value_name = "URL")]
        endpoint_url: Option<String>,
    },
    /// Raise the version of the records that an open tenant's transactions write, once every environment reads it: for
    /// example `tenant records aoba --version 2 --table ledger`. It is never lowered. Waits until every function uses it.
    Records {
        /// Slug of the tenant.
        slug: String,
        /// Version of the records: above the present one.
        #[arg(long, value_name = "NUMBER")]
        version: u32,
        /// Name of the table.
        #[arg(long)]
        table: String,
        /// DynamoDB endpoint URL (default: the AWS SDK's Region).
        #[arg(long, value_name = "URL")]
        endpoint_url: Option<String>,
    },
    /// Raise the shards of an open tenant: for example `tenant shards aoba --due 64 --table ledger`.
    Shards {
        /// Slug of the tenant.
        slug: String,
        /// Number of shards for due work: more than now, at most 64.
        #[arg(long, value_name = "COUNT")]
        due: u32,
        /// Name of the table.
        #[arg(long)]
        table: String,
        /// DynamoDB endpoint URL (default: the AWS SDK's Region).
        #[arg(long, value_name = "URL")]
        endpoint_url: Option<String>,
    },
}

/// The arguments of the `tenant` command.
#[derive(Debug, Clone)]
pub enum TenantCommand {
    /// Print the demo's terms.
    Terms,
    /// Open a tenant.
    Open(OpenCommand),
    /// Raise the version of a tenant's records.
    Records(RecordsCommand),
    /// Raise a tenant's shards.
    Shards(ShardsCommand),
}

impl TenantSub {
    /// Converts the arguments.
    pub fn command(self) -> TenantCommand {
        match self {
            Self::Terms => TenantCommand::Terms,
            Self::Open { slug, terms, legacy, table, endpoint_url } => {
                TenantCommand::Open(OpenCommand { slug, terms, legacy, table, endpoint_url })
            }
            Self::Records { slug, version, table, endpoint_url } => {
                TenantCommand::Records(RecordsCommand { slug, version, table, endpoint_url })
            }
            Self::Shards { slug, due, table, endpoint_url } => {
                TenantCommand::Shards(ShardsCommand { slug, due, table, endpoint_url })
            }
        }
    }
}
