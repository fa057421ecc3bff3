//! The arguments of the `tenant` command.

use super::legacy_model;
use crate::member_args;
use crate::recover_command::RecoverCommand;
use crate::tenant_command::{HomeCommand, ListCommand, OpenCommand, ReindexCommand, ShardsCommand};
use crate::terms_command::TermsCommand;
use clap::Subcommand;
use ledger_core::migration::Model;
use ledger_core::staff::Founder;
use std::path::PathBuf;

/// The sub-commands of `tenant`.
#[derive(Debug, Clone, Subcommand)]
pub enum TenantSub {
    /// Print the demo's terms, as a start for the file of `tenant open`. With a file of changes, request them as a member of
    /// the staff, for another one to approve: for example `tenant terms changes.json --from 2026-12-01T15:00:00Z`.
    Terms {
        /// File with the changes: a JSON object of fields, each with its value as text, or null to clear it.
        #[arg(value_name = "FILE", requires = "from")]
        changes: Option<PathBuf>,
        /// Time from which the changes hold, at least ten minutes ahead.
        #[arg(long, value_name = "TIME", requires = "changes")]
        from: Option<String>,
        /// Reason of the change.
        #[arg(long, value_name = "TEXT", requires = "changes")]
        reason: Option<String>,
        /// Base URL of the API.
        #[arg(long, default_value_t = super::url_default())]
        url: String,
        /// File with the member's token (default: a token of an owner from the local stack).
        #[arg(long, value_name = "PATH", requires = "changes")]
        token_file: Option<PathBuf>,
        /// Tenant, on a local stack; elsewhere the token contains it.
        #[arg(long, value_name = "SLUG", default_value = "demo")]
        tenant: String,
    },
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
        /// Owner of the tenant, as the identity provider names the person: give at least two.
        #[arg(long = "owner", value_name = "ID:EMAIL", value_parser = member_args::founder)]
        owners: Vec<Founder>,
        /// File with the text of the secret of the keys of markers.
        #[arg(long, value_name = "FILE")]
        marker_keys: PathBuf,
        /// Name of the table.
        #[arg(long)]
        table: String,
        /// Name of the registry (default: the table's name and `-registry`).
        #[arg(long, value_name = "TABLE")]
        registry: Option<String>,
        /// DynamoDB endpoint URL (default: the AWS SDK's Region).
        #[arg(long, value_name = "URL")]
        endpoint_url: Option<String>,
    },
    /// List the tenants of a registry: name, state, since when, Region and table, epoch.
    List {
        /// Name of the table.
        #[arg(long)]
        table: String,
        /// Name of the registry (default: the table's name and `-registry`).
        #[arg(long, value_name = "TABLE")]
        registry: Option<String>,
        /// DynamoDB endpoint URL (default: the AWS SDK's Region).
        #[arg(long, value_name = "URL")]
        endpoint_url: Option<String>,
    },
    /// Record in the registry that a tenant's money is in another table, after a restore: for example `tenant home aoba
    /// --table ledger-restored --registry ledger-registry`. It copies nothing.
    Home {
        /// Slug of the tenant.
        slug: String,
        /// Name of the restored table.
        #[arg(long)]
        table: String,
        /// Name of the registry.
        #[arg(long, value_name = "TABLE")]
        registry: String,
        /// DynamoDB endpoint URL (default: the AWS SDK's Region).
        #[arg(long, value_name = "URL")]
        endpoint_url: Option<String>,
    },
    /// Write what lists and searches find records by, where it is missing or was made with an earlier key: for
    /// example `tenant reindex aoba --marker-keys keys.json --table ledger`. It may be stopped and run again.
    Reindex {
        /// Slug of the tenant.
        slug: String,
        /// File with the text of the secret of the keys of markers.
        #[arg(long, value_name = "FILE")]
        marker_keys: PathBuf,
        /// Report what differs, and write nothing. Exits with 1 if something does.
        #[arg(long)]
        verify: bool,
        /// Read units of the table per second.
        #[arg(long, value_name = "UNITS", default_value_t = 1000)]
        units_per_second: u32,
        /// Name of the table.
        #[arg(long)]
        table: String,
        /// DynamoDB endpoint URL (default: the AWS SDK's Region).
        #[arg(long, value_name = "URL")]
        endpoint_url: Option<String>,
    },
    /// Name two owners for a tenant whose owners are lost: for example `tenant recover aoba --owner <id>:<e-mail> --owner
    /// <id>:<e-mail> --table ledger`; 72 hours later `tenant recover aoba --finish --marker-keys keys.json --table ledger` makes them owners. An
    /// alarm rings, and an owner can cancel it.
    Recover {
        /// Slug of the tenant.
        slug: String,
        /// Person who becomes an owner and has no record yet: give it twice.
        #[arg(long = "owner", value_name = "ID:EMAIL")]
        owners: Vec<String>,
        /// Finish the recovery that was requested.
        #[arg(long, requires = "marker_keys")]
        finish: bool,
        /// File with the text of the secret of the keys of markers.
        #[arg(long, value_name = "FILE", requires = "finish")]
        marker_keys: Option<PathBuf>,
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
    TermsToBeginWith,
    /// Request a change of a tenant's terms.
    TermsChange(TermsCommand),
    /// Open a tenant.
    Open(OpenCommand),
    /// List the tenants.
    List(ListCommand),
    /// Record a tenant's table.
    Home(HomeCommand),
    /// Add a tenant's records to lists and searches.
    Reindex(ReindexCommand),
    /// Raise a tenant's shards.
    Shards(ShardsCommand),
    /// Recover a tenant whose owners are lost.
    Recover(RecoverCommand),
}

impl TenantSub {
    /// Converts the arguments.
    pub fn command(self) -> TenantCommand {
        match self {
            Self::Terms { changes: Some(changes), from: Some(from), reason, url, token_file, tenant } => {
                TenantCommand::TermsChange(TermsCommand { changes, from, reason, url, token_file, tenant })
            }
            Self::Terms { .. } => TenantCommand::TermsToBeginWith,
            Self::Open { slug, terms, legacy, owners, marker_keys, table, registry, endpoint_url } => {
                TenantCommand::Open(OpenCommand {
                    slug,
                    terms,
                    legacy,
                    owners,
                    marker_keys,
                    table,
                    registry_name: registry,
                    endpoint_url,
                })
            }
            Self::List { table, registry, endpoint_url } => {
                TenantCommand::List(ListCommand { table, registry_name: registry, endpoint_url })
            }
            Self::Home { slug, table, registry, endpoint_url } => {
                TenantCommand::Home(HomeCommand { slug, table, registry_name: registry, endpoint_url })
            }
            Self::Recover { slug, owners, finish, marker_keys, table, endpoint_url } => {
                TenantCommand::Recover(RecoverCommand { slug, owners, finish, marker_keys, table, endpoint_url })
            }
            Self::Reindex { slug, marker_keys, verify, units_per_second, table, endpoint_url } => {
                TenantCommand::Reindex(ReindexCommand {
                    slug,
                    marker_keys,
                    verify,
                    units_per_second,
                    table,
                    endpoint_url,
                })
            }
            Self::Shards { slug, due, table, endpoint_url } => {
                TenantCommand::Shards(ShardsCommand { slug, due, table, endpoint_url })
            }
        }
    }
}
