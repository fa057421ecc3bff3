//! The command line, and what it means as configuration.
//! Without a sub-command the stack runs.

use crate::audit_command::{Place, VerifyCommand};
use crate::engine::{Data, EngineConfig};
use crate::legacy::{self, Legacy};
use crate::migrate_command::{MigrateCommand, Step};
use crate::stack::{StackConfig, Store, StripeChoice, TABLE_DEFAULT};
use crate::tenant_command::{OpenCommand, ShardsCommand};
use crate::terminal_command::{EnrolCommand, SendCommand};
use clap::{Args, Parser, Subcommand};
use ledger_core::migration::Model;
use ledger_core::rate::RequestRate;
use ledger_runtime::config::{self, ConfigError, StripeConfig};
use reqwest::Method;
use std::path::{Path, PathBuf};
use std::time::Duration;

const DATA_DEFAULT: &str = "target/ecopay/ledger.db";
const PORT_DEFAULT: u16 = 3000;
const ENDPOINT_WAIT_S: u64 = 30;
const TERMINAL_FILE: &str = "terminal.json";
/// Apart from the other: the stack with a data file keeps its terminal.
const TERMINAL_FILE_IN_MEMORY: &str = "terminal-in-memory.json";

/// The whole ledger in one process.
#[derive(Debug, Clone, Parser)]
#[command(name = "ledger-local", version, about, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// What to do instead of running the stack.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to run the stack.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Sub-commands.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Sign and send one request as a storefront terminal.
    Terminal(TerminalArgs),
    /// Open a tenant in a table, deployed or local.
    #[command(subcommand)]
    Tenant(TenantSub),
    /// Look whether the audit trail still is what was sealed.
    #[command(subcommand)]
    Audit(AuditSub),
    /// Take a tenant from a legacy model to split records, phase by phase.
    Migrate(MigrateArgs),
    /// Print the OpenAPI document, as it is kept in openapi.json.
    Openapi,
    /// Reconcile a table's export to S3, and print for each tenant a line of JSON, and one for each break.
    Reconcile {
        /// The export's directory: the one that holds manifest-files.json and data.
        #[arg(long, value_name = "DIR")]
        export: PathBuf,
        /// Into how many parts the work is divided, 512 at most: memory holds a 64th of one.
        #[arg(long, default_value_t = 64)]
        parts: u16,
    },
    /// Print the state machine of settlements, as it is kept in functions/settlement/saga.asl.json.
    Saga,
}

/// What the `tenant` command does.
#[derive(Debug, Clone, Subcommand)]
pub enum TenantSub {
    /// Print the demo's terms, to begin a file with.
    Terms,
    /// Write a tenant's terms into a table. A tenant that stands is not touched.
    Open {
        /// The tenant's slug: a-z, 0-9 and -.
        slug: String,
        /// The file with its terms.
        #[arg(long, value_name = "FILE")]
        terms: PathBuf,
        /// The legacy model that its customers stand in, in this table: god_record or half_way.
        #[arg(long, value_name = "MODEL", value_parser = legacy_model)]
        legacy: Option<Model>,
        /// Name of the table.
        #[arg(long)]
        table: String,
        /// Another DynamoDB than that of the Region that AWS's own settings name.
        #[arg(long, value_name = "URL")]
        endpoint_url: Option<String>,
    },
    /// Raise the shards of an open tenant: for example `tenant shards aoba --due 64 --table ledger`.
    Shards {
        /// The tenant's slug.
        slug: String,
        /// Over how many shards its due work is to be spread: more than now, at most 64.
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

/// What the `tenant` command was asked to do.
#[derive(Debug, Clone)]
pub enum TenantCommand {
    /// Print terms to begin with.
    Terms,
    /// Open a tenant.
    Open(OpenCommand),
    /// Raise its shards.
    Shards(ShardsCommand),
}

/// What the `audit` command does.
#[derive(Debug, Clone, Subcommand)]
pub enum AuditSub {
    /// Read a tenant's trail and its chain, and name whatever was changed, or is missing or not sealed.
    Verify {
        /// The tenant's slug.
        #[arg(long, value_name = "SLUG")]
        tenant: String,
        /// From this day on, in UTC: 2026-11-21.
        #[arg(long, value_name = "DAY")]
        from: Option<String>,
        /// Up to this day, in UTC.
        #[arg(long, value_name = "DAY")]
        to: Option<String>,
        /// The hash of a segment that must be in the chain: one that was noted down elsewhere.
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
        /// Name of a table on AWS, or at the endpoint; the local stack's file if absent.
        #[arg(long, conflicts_with = "data")]
        table: Option<String>,
        /// Another DynamoDB than that of the Region that AWS's own settings name.
        #[arg(long, value_name = "URL", requires = "table")]
        endpoint_url: Option<String>,
        /// File of the local stack, which must not run meanwhile.
        #[arg(long, value_name = "PATH", default_value = DATA_DEFAULT)]
        data: PathBuf,
    },
}

/// A step of a migration.
#[derive(Debug, Clone, Args)]
pub struct MigrateArgs {
    /// What to do.
    #[command(subcommand)]
    pub step: MigrateSub,
    /// Base URL of the API.
    #[arg(long, global = true, default_value_t = format!("http://127.0.0.1:{PORT_DEFAULT}"))]
    pub url: String,
    /// File with an operator's token; the local stack gives one out when absent.
    #[arg(long, global = true, value_name = "PATH")]
    pub token_file: Option<PathBuf>,
    /// The tenant, on a local stack; elsewhere the token names it.
    #[arg(long, global = true, default_value = legacy::TENANT)]
    pub tenant: String,
}

/// What the `migrate` command does.
#[derive(Debug, Clone, Subcommand)]
pub enum MigrateSub {
    /// Show where it stands: concerns, stages, what may be done next, the last passes.
    Status,
    /// Enter the next phase.
    Next,
    /// Go back to the phase before.
    Back,
    /// Bring every customer where the phase needs them.
    Backfill(PassArgs),
    /// Compare both models of every customer.
    Verify(PassArgs),
    /// In the last phase: empty the legacy records. From here there is no way back.
    Contract(PassArgs),
}

/// How a pass goes about it.
#[derive(Debug, Clone, Args)]
pub struct PassArgs {
    /// How many customers a second it may look at.
    #[arg(long, value_name = "N")]
    pub per_second: Option<u32>,
}

/// How to run the stack.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Port of the API on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = PORT_DEFAULT)]
    pub port: u16,
    /// Keep the table in memory: everything is gone at the end.
    #[arg(long, conflicts_with = "endpoint_url")]
    pub in_memory: bool,
    /// File of the table; keys and the demo terminal's credential lie beside it.
    #[arg(long, value_name = "PATH", default_value = DATA_DEFAULT)]
    pub data: PathBuf,
    /// Use this DynamoDB instead of the embedded one.
    #[arg(long, value_name = "URL", conflicts_with = "dynamodb_port")]
    pub endpoint_url: Option<String>,
    /// Seconds to wait for the DynamoDB at --endpoint-url if it does not answer yet.
    #[arg(long, value_name = "SECONDS", requires = "endpoint_url", default_value_t = ENDPOINT_WAIT_S)]
    pub endpoint_wait: u64,
    /// Port of the embedded DynamoDB on 127.0.0.1; a free one when absent.
    #[arg(long, value_name = "PORT")]
    pub dynamodb_port: Option<u16>,
    /// Name of the table.
    #[arg(long, default_value = TABLE_DEFAULT)]
    pub table: String,
    /// Begin with a second tenant, `legacy`, and so many customers of it in a legacy model.
    #[arg(long, value_name = "CUSTOMERS")]
    pub legacy: Option<u32>,
    /// Which: god_record or half_way.
    #[arg(long, value_name = "MODEL", value_parser = legacy_model, default_value = "god_record")]
    pub legacy_model: Model,
}

/// One request of a terminal, or its enrolment.
#[derive(Debug, Clone, Args)]
#[command(subcommand_negates_reqs = true)]
pub struct TerminalArgs {
    /// What to do instead of sending a request.
    #[command(subcommand)]
    pub command: Option<TerminalSub>,
    /// Where the API is, and who the terminal is.
    #[command(flatten)]
    pub target: TerminalTarget,
    /// Method of the request.
    #[arg(required = true)]
    pub method: Option<Method>,
    /// Its path, with query.
    #[arg(required = true)]
    pub path: Option<String>,
    /// Its JSON body.
    pub json: Option<String>,
    /// The idempotency key; `<terminal>-<epoch>-<sequence>` when absent.
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Print an equivalent curl line and send nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// What else the `terminal` command does.
#[derive(Debug, Clone, Subcommand)]
pub enum TerminalSub {
    /// Enrol a terminal of the local stack with a fresh key, which starts its next epoch.
    Enrol {
        /// The terminal's id; the demo's first terminal when absent.
        #[arg(long, value_name = "ID")]
        terminal: Option<String>,
    },
}

/// Where the API is, and who the terminal is.
#[derive(Debug, Clone, Args)]
pub struct TerminalTarget {
    /// Base URL of the API.
    #[arg(long, global = true, default_value_t = format!("http://127.0.0.1:{PORT_DEFAULT}"))]
    pub url: String,
    /// The terminal's credential file; the one beside the default data file when absent.
    #[arg(long, global = true, value_name = "PATH")]
    pub key_file: Option<PathBuf>,
}

/// What the `terminal` command was asked to do.
#[derive(Debug, Clone)]
pub enum TerminalCommand {
    /// Send a request.
    Send(SendCommand),
    /// Enrol.
    Enrol(EnrolCommand),
}

/// Which Stripe the environment asks for: the simulator unless there are a key and a webhook secret.
///
/// # Errors
/// [`ConfigError`] says which variable to set to what.
pub fn stripe_choice(variable: impl Fn(&str) -> Option<String>) -> Result<StripeChoice, ConfigError> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    Ok(StripeConfig::from_vars(set)?.map_or(StripeChoice::Simulator, StripeChoice::Given))
}

fn legacy_model(text: &str) -> Result<Model, &'static str> {
    Model::parse(text).ok_or("use god_record or half_way")
}

impl TenantSub {
    /// What was asked for.
    pub fn command(self) -> TenantCommand {
        match self {
            Self::Terms => TenantCommand::Terms,
            Self::Open { slug, terms, legacy, table, endpoint_url } => {
                TenantCommand::Open(OpenCommand { slug, terms, legacy, table, endpoint_url })
            }
            Self::Shards { slug, due, table, endpoint_url } => {
                TenantCommand::Shards(ShardsCommand { slug, due, table, endpoint_url })
            }
        }
    }
}

/// How many requests a tenant may make, by the environment's `TENANT_REQUESTS_PER_SECOND`.
///
/// # Errors
/// [`ConfigError`] if that is no such number.
pub fn tenant_requests(variable: impl Fn(&str) -> Option<String>) -> Result<RequestRate, ConfigError> {
    config::tenant_requests(|name| variable(name).filter(|value| !value.is_empty()))
}

impl MigrateArgs {
    /// What is to be done.
    pub fn command(self) -> MigrateCommand {
        let step = match self.step {
            MigrateSub::Status => Step::Status,
            MigrateSub::Next => Step::Next,
            MigrateSub::Back => Step::Back,
            MigrateSub::Backfill(pass) => Step::Pass("backfill", pass.per_second),
            MigrateSub::Verify(pass) => Step::Pass("verify", pass.per_second),
            MigrateSub::Contract(pass) => Step::Pass("contract", pass.per_second),
        };
        MigrateCommand { url: self.url, token_file: self.token_file, tenant: self.tenant, step }
    }
}

impl AuditSub {
    /// What is to be verified.
    pub fn verifying(self) -> VerifyCommand {
        let Self::Verify { tenant: slug, from, to, head, table, endpoint_url, data } = self;
        let place = match table {
            Some(name) => Place::Table { name, endpoint_url },
            None => Place::File { data, table: TABLE_DEFAULT.to_owned() },
        };
        VerifyCommand { slug, from, to, head, place }
    }
}

impl RunArgs {
    /// The stack that these arguments ask for.
    pub fn config(&self) -> StackConfig {
        let directory = directory_of(&self.data);
        let data = if self.in_memory { Data::Memory } else { Data::File(self.data.clone()) };
        let store = match &self.endpoint_url {
            Some(url) => Store::Endpoint(url.clone()),
            None => Store::Embedded(EngineConfig { data, port: self.dynamodb_port }),
        };
        let terminal_file = if self.in_memory { TERMINAL_FILE_IN_MEMORY } else { TERMINAL_FILE };
        StackConfig {
            port: self.port,
            store,
            table: self.table.clone(),
            state_directory: (!self.in_memory).then(|| directory.clone()),
            terminal_file: Some(directory.join(terminal_file)),
            stripe: StripeChoice::Simulator,
            tenant_requests: RequestRate::DEFAULT,
            legacy: self.legacy.map(|customers| Legacy { model: self.legacy_model, customers }),
            endpoint_wait: Duration::from_secs(self.endpoint_wait),
            on_wait: |_| {},
        }
    }

    /// Where the data is kept, in words.
    pub fn data_in_words(&self) -> String {
        match &self.endpoint_url {
            Some(url) => format!("in the DynamoDB at {url}"),
            None if self.in_memory => "in memory, gone at the end".to_owned(),
            None => self.data.display().to_string(),
        }
    }

    /// What the `terminal` command needs beyond its defaults to talk to this stack at `url`.
    pub fn terminal_options(&self, url: &str) -> String {
        let mut options = Vec::new();
        if self.port != PORT_DEFAULT {
            options.push(format!("--url {url}"));
        }
        let file = self.config().terminal_file.filter(|file| *file != default_terminal_file());
        if let Some(file) = file {
            options.push(format!("--key-file '{}'", file.display()));
        }
        options.join(" ")
    }
}

impl TerminalArgs {
    /// What was asked for.
    pub fn command(self) -> TerminalCommand {
        let TerminalTarget { url, key_file } = self.target;
        let key_file = key_file.unwrap_or_else(default_terminal_file);
        match self.command {
            Some(TerminalSub::Enrol { terminal }) => TerminalCommand::Enrol(EnrolCommand { url, key_file, terminal }),
            None => TerminalCommand::Send(SendCommand {
                url,
                key_file,
                // clap has seen to it that both are there.
                method: self.method.unwrap_or(Method::GET),
                path: self.path.unwrap_or_default(),
                body: self.json,
                idempotency_key: self.idempotency_key,
                dry_run: self.dry_run,
            }),
        }
    }
}

fn default_terminal_file() -> PathBuf {
    directory_of(Path::new(DATA_DEFAULT)).join(TERMINAL_FILE)
}

fn directory_of(file: &Path) -> PathBuf {
    file.parent().map(Path::to_owned).unwrap_or_default()
}

#[cfg(test)]
mod tests;
