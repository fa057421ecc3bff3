//! The command line, and its conversion to configuration. Without a sub-command the stack runs.

mod audit;
mod place;
mod show;
mod tenant;

pub use audit::{AuditCommand, AuditSub};
pub use place::PlaceArgs;
pub use show::ShowArgs;
pub use tenant::{TenantCommand, TenantSub};

use crate::engine::{Data, EngineConfig};
use crate::legacy::{self, Legacy};
use crate::migrate_command::{MigrateCommand, Step};
use crate::stack::{StackConfig, Store, StripeChoice, TABLE_DEFAULT};
use crate::terminal_command::{EnrolCommand, SendCommand};
use crate::token_command::TokenArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use ledger_core::migration::Model;
use ledger_core::rate::RequestRate;
use ledger_runtime::clock::Clock;
use ledger_runtime::config::{self, CallerConfig, ConfigError, StripeConfig};
use reqwest::Method;
use std::path::{Path, PathBuf};
use std::time::Duration;

const DATA_DEFAULT: &str = "target/ecopay/ledger.db";
const PORT_DEFAULT: u16 = 3000;
const ENDPOINT_WAIT_S: u64 = 30;
const TERMINAL_FILE: &str = "terminal.json";
/// A file of its own, so that the credential of the stack with a data file is kept.
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
    /// Sign a person in, and print the access token: at the local stack or at a deployed issuer.
    Token(TokenArgs),
    /// Open a tenant in a table, deployed or local.
    #[command(subcommand)]
    Tenant(TenantSub),
    /// Verify that the audit trail has not changed since it was sealed.
    #[command(subcommand)]
    Audit(AuditSub),
    /// Migrate a tenant from a legacy model to split records, phase by phase.
    Migrate(MigrateArgs),
    /// Read items as the AWS CLI prints them from standard input, and print them with journal entries expanded:
    /// aws dynamodb query ... | ledger-local expand.
    Expand,
    /// Print items of the table with the meaning of each attribute: show demo#payment#<id> PAYMENT.
    Show(ShowArgs),
    /// Print the OpenAPI document, as it is stored in openapi.json.
    Openapi,
    /// Reconcile a table's export to S3, and print for each tenant a summary and its breaks, as lines of JSON.
    Reconcile {
        /// Directory of the export: the one that holds manifest-files.json and data.
        #[arg(long, value_name = "DIR")]
        export: PathBuf,
        /// Number of parts that the work is divided into, at most 512: memory holds a 64th of one.
        #[arg(long, default_value_t = 64)]
        parts: u16,
    },
    /// Print the state machine of settlements, as it is stored in functions/settlement/saga.asl.json.
    Saga,
}

/// The arguments of `migrate`.
#[derive(Debug, Clone, Args)]
pub struct MigrateArgs {
    /// The step.
    #[command(subcommand)]
    pub step: MigrateSub,
    /// Base URL of the API.
    #[arg(long, global = true, default_value_t = url_default())]
    pub url: String,
    /// File with an operator's token (default: a token from the local stack).
    #[arg(long, global = true, value_name = "PATH")]
    pub token_file: Option<PathBuf>,
    /// Tenant, on a local stack; elsewhere the token contains it.
    #[arg(long, global = true, default_value = legacy::TENANT)]
    pub tenant: String,
}

/// The sub-commands of `migrate`.
#[derive(Debug, Clone, Subcommand)]
pub enum MigrateSub {
    /// Show the state of the migration: concerns, stages, next steps and the last passes.
    Status,
    /// Enter the next phase.
    Next,
    /// Return to the previous phase.
    Back,
    /// Bring every customer to the layout that the phase requires.
    Backfill(PassArgs),
    /// Compare both models of every customer.
    Verify(PassArgs),
    /// Empty the legacy records, in the last phase; this cannot be undone.
    Contract(PassArgs),
}

/// The arguments of a pass.
#[derive(Debug, Clone, Args)]
pub struct PassArgs {
    /// Largest number of customers per second.
    #[arg(long, value_name = "N")]
    pub per_second: Option<u32>,
}

/// The arguments of the stack.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Port of the API on 127.0.0.1; 0 chooses a free one.
    #[arg(long, default_value_t = PORT_DEFAULT)]
    pub port: u16,
    /// Keep the table in memory: all data is lost at the end.
    #[arg(long, conflicts_with = "endpoint_url")]
    pub in_memory: bool,
    /// File of the table; keys and the demo terminal's credential are stored in its directory.
    #[arg(long, value_name = "PATH", default_value = DATA_DEFAULT)]
    pub data: PathBuf,
    /// Use this DynamoDB instead of the embedded one.
    #[arg(long, value_name = "URL", conflicts_with = "dynamodb_port")]
    pub endpoint_url: Option<String>,
    /// Seconds to wait for the DynamoDB at --endpoint-url to answer.
    #[arg(long, value_name = "SECONDS", requires = "endpoint_url", default_value_t = ENDPOINT_WAIT_S)]
    pub endpoint_wait: u64,
    /// Port of the embedded DynamoDB on 127.0.0.1 (default: a free one).
    #[arg(long, value_name = "PORT")]
    pub dynamodb_port: Option<u16>,
    /// Name of the table.
    #[arg(long, default_value = TABLE_DEFAULT)]
    pub table: String,
    /// Play this before the stack is ready, over HTTP and in memory: year, the fiscal year of a whole programme.
    #[arg(long, value_name = "NAME", value_enum, conflicts_with_all = ["data", "endpoint_url", "legacy"])]
    pub demo: Option<DemoChoice>,
    /// Seed the tenant `legacy` with this number of customers in a legacy model.
    #[arg(long, value_name = "CUSTOMERS")]
    pub legacy: Option<u32>,
    /// Legacy model of that tenant: god_record or half_way.
    #[arg(long, value_name = "MODEL", value_parser = legacy_model, default_value = "god_record")]
    pub legacy_model: Model,
    /// Redirect URI of an application that signs people in, such as http://localhost:5173/callback; may be repeated.
    #[arg(long, value_name = "URL", value_parser = callback_url)]
    pub callback_url: Vec<String>,
}

/// What the stack plays before it is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DemoChoice {
    /// A fiscal year of a programme with 200 customers and 20 merchants.
    Year,
}

/// The arguments of `terminal`.
#[derive(Debug, Clone, Args)]
#[command(subcommand_negates_reqs = true)]
pub struct TerminalArgs {
    /// What to do instead of sending a request.
    #[command(subcommand)]
    pub command: Option<TerminalSub>,
    /// The API and the terminal.
    #[command(flatten)]
    pub target: TerminalTarget,
    /// Method of the request.
    #[arg(required = true)]
    pub method: Option<Method>,
    /// Path of the request, with query.
    #[arg(required = true)]
    pub path: Option<String>,
    /// JSON body of the request.
    pub json: Option<String>,
    /// Idempotency key (default: `<terminal>-<epoch>-<sequence>`).
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Print an equivalent curl line and send nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// The sub-commands of `terminal`.
#[derive(Debug, Clone, Subcommand)]
pub enum TerminalSub {
    /// Enrol a terminal of the local stack with a fresh key, which starts its next epoch.
    Enrol {
        /// Id of the terminal (default: the demo's first terminal).
        #[arg(long, value_name = "ID")]
        terminal: Option<String>,
    },
}

/// The API and the terminal.
#[derive(Debug, Clone, Args)]
pub struct TerminalTarget {
    /// Base URL of the API.
    #[arg(long, global = true, default_value_t = url_default())]
    pub url: String,
    /// File of the terminal's credential (default: the one in the directory of the default data file).
    #[arg(long, global = true, value_name = "PATH")]
    pub key_file: Option<PathBuf>,
}

/// The arguments of the `terminal` command.
#[derive(Debug, Clone)]
pub enum TerminalCommand {
    /// Send a request.
    Send(SendCommand),
    /// Enrol a terminal.
    Enrol(EnrolCommand),
}

/// The Stripe that the environment chooses: the simulator if neither an API key nor a webhook secret is set.
///
/// # Errors
/// [`ConfigError`] says which variable to set to what.
pub fn stripe_choice(variable: impl Fn(&str) -> Option<String>) -> Result<StripeChoice, ConfigError> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    Ok(StripeConfig::from_vars(set)?.map_or(StripeChoice::Simulator, StripeChoice::Given))
}

/// The base URL of a local stack that runs with its defaults.
fn url_default() -> String {
    format!("http://127.0.0.1:{PORT_DEFAULT}")
}

fn legacy_model(text: &str) -> Result<Model, &'static str> {
    Model::parse(text).ok_or("use god_record or half_way")
}

/// A redirect URI (RFC 6749, 3.1.2): absolute and without a fragment. It is kept as it is written.
fn callback_url(text: &str) -> Result<String, &'static str> {
    let url = reqwest::Url::parse(text).map_err(|_| "use an absolute URL")?;
    if url.fragment().is_some() { Err("use a URL without a fragment") } else { Ok(text.to_owned()) }
}

/// The requests that a tenant may make per second, from the environment's `TENANT_REQUESTS_PER_SECOND`.
///
/// # Errors
/// [`ConfigError`] if the value is not a valid rate.
pub fn tenant_requests(variable: impl Fn(&str) -> Option<String>) -> Result<RequestRate, ConfigError> {
    config::tenant_requests(|name| variable(name).filter(|value| !value.is_empty()))
}

/// How callers are limited, named and found, from the environment.
///
/// # Errors
/// [`ConfigError`] if a value is not valid.
pub fn callers(variable: impl Fn(&str) -> Option<String>) -> Result<CallerConfig, ConfigError> {
    CallerConfig::from_vars(variable)
}

impl MigrateArgs {
    /// Converts the arguments.
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

impl RunArgs {
    fn is_in_memory(&self) -> bool {
        self.in_memory || self.demo.is_some()
    }

    /// The configuration of the stack.
    pub fn config(&self) -> StackConfig {
        let directory = directory_of(&self.data);
        let data = if self.is_in_memory() { Data::Memory } else { Data::File(self.data.clone()) };
        let store = match &self.endpoint_url {
            Some(url) => Store::Endpoint(url.clone()),
            None => Store::Embedded(EngineConfig { data, port: self.dynamodb_port }),
        };
        let terminal_file = if self.is_in_memory() { TERMINAL_FILE_IN_MEMORY } else { TERMINAL_FILE };
        StackConfig {
            port: self.port,
            store,
            table: self.table.clone(),
            state_directory: (!self.is_in_memory()).then(|| directory.clone()),
            terminal_file: Some(directory.join(terminal_file)),
            stripe: StripeChoice::Simulator,
            tenant_requests: RequestRate::DEFAULT,
            callers: CallerConfig::default(),
            legacy: self.legacy.map(|customers| Legacy { model: self.legacy_model, customers }),
            endpoint_wait: Duration::from_secs(self.endpoint_wait),
            on_wait: |_| {},
            callbacks: self.callback_url.clone(),
            clock: Clock::system(),
        }
    }

    /// Where the data is kept, as a text.
    pub fn data_in_words(&self) -> String {
        match &self.endpoint_url {
            Some(url) => format!("in the DynamoDB at {url}"),
            None if self.is_in_memory() => "in memory, lost when the stack stops".to_owned(),
            None => self.data.display().to_string(),
        }
    }

    /// The options that the `terminal` command needs to call this stack at `url`; empty if its defaults fit.
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
    /// Converts the arguments.
    pub fn command(self) -> TerminalCommand {
        let TerminalTarget { url, key_file } = self.target;
        let key_file = key_file.unwrap_or_else(default_terminal_file);
        match self.command {
            Some(TerminalSub::Enrol { terminal }) => TerminalCommand::Enrol(EnrolCommand { url, key_file, terminal }),
            None => TerminalCommand::Send(SendCommand {
                url,
                key_file,
                // clap has checked that both are given.
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
