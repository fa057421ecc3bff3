//! `cargo run`: runs the local stack until Ctrl-C, or one of its commands. A start that fails prints one line on
//! standard error.

use clap::Parser;
use ledger_local::banner::{self, Banner};
use ledger_local::cli::{
    self, AuditCommand, AuditSub, Cli, Command, DemoChoice, MigrateArgs, RunArgs, ShowArgs, TenantCommand, TenantSub,
    TerminalArgs, TerminalCommand,
};
use ledger_local::export::{self, ExportCommand};
use ledger_local::stack::{Stack, StackConfig, StripeChoice};
use ledger_local::token_command::TokenArgs;
use ledger_local::year::{self, YearError};
use ledger_local::{
    audit_command, expand_command, faces, migrate_command, recover_command, seed, show_command, tenant_command,
    terminal_command, terms_command, terms_file, token_command, worker_failures,
};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use tracing_subscriber::filter::{FilterExt, dynamic_filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// The log filter. Expected warnings are off: the engine's of each refused condition, and the SDK's of each place
/// without credentials. On is one line per request.
const LOG_DEFAULT: &str =
    "warn,dynoxide=error,aws_config=error,ledger_runtime::logging=info,ledger_local::worker_failures=info";

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOG_DEFAULT));
    let filter = filter.and(dynamic_filter_fn(|line, _| !worker_failures::is_repeated(line)));
    let lines = tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(std::io::stderr);
    tracing_subscriber::registry().with(lines.with_filter(filter)).init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    runtime.block_on(async {
        match cli.command {
            None => Box::pin(run(cli.run)).await,
            Some(Command::Terminal(args)) => Box::pin(terminal(args)).await,
            Some(Command::Token(args)) => Box::pin(token(args)).await,
            Some(Command::Tenant(sub)) => Box::pin(tenant(sub)).await,
            Some(Command::Audit(sub)) => Box::pin(audit(sub)).await,
            Some(Command::Migrate(args)) => Box::pin(migrate(args)).await,
            Some(Command::Expand) => expand(),
            Some(Command::Show(args)) => Box::pin(show(args)).await,
            Some(Command::Openapi) => {
                print(faces::openapi_json().trim_end());
                ExitCode::SUCCESS
            }
            Some(Command::Reconcile { export, parts }) => Box::pin(reconcile(export, parts)).await,
            Some(Command::Saga) => {
                print(ledger_core::settlements::definition(ledger_core::events::SOURCE).trim_end());
                ExitCode::SUCCESS
            }
        }
    })
}

async fn run(args: RunArgs) -> ExitCode {
    let variable = |name: &str| std::env::var(name).ok();
    let settings = (cli::stripe_choice(variable), cli::tenant_requests(variable), cli::callers(variable));
    let (stripe, tenant_requests, callers) = match settings {
        (Ok(stripe), Ok(tenant_requests), Ok(callers)) => (stripe, tenant_requests, callers),
        (Err(error), _, _) | (_, Err(error), _) | (_, _, Err(error)) => return failed(&error),
    };
    let given = match &stripe {
        StripeChoice::Simulator => None,
        StripeChoice::Given(access) => Some(access.base_url.clone()),
    };
    let config = StackConfig { stripe, tenant_requests, callers, on_wait: print_to_stderr, ..args.config() };
    let table = config.table.clone();
    let started = match args.demo {
        None => Stack::start(config).await.map(|stack| (stack, None)).map_err(YearError::from),
        Some(DemoChoice::Year) => {
            Box::pin(year::start(config, print_to_stderr)).await.map(|(stack, year)| (stack, Some(year)))
        }
    };
    let (stack, year) = match started {
        Ok(started) => started,
        Err(error) => return failed(&error),
    };
    let url = stack.url();
    let stripe = match given {
        Some(base_url) => format!("at {base_url}; its webhook is {url}/v1/webhooks/stripe"),
        None => format!("simulated at {url}/stripe"),
    };
    print(&banner::text(&Banner {
        url: &url,
        dynamodb_url: stack.dynamodb_url(),
        table: &table,
        data: &args.data_in_words(),
        stripe: &stripe,
        simulated: stack.simulator().is_some(),
        terminal_options: &args.terminal_options(&url),
        demo: stack.demo(),
    }));
    if let Some(year) = year {
        let (owner, days) = (&year.owners[0], [year.days.0, year.days.1].map(|day| day.to_string()));
        print(&banner::figures_text(&url, (year.tenant.as_str(), owner), (&days[0], &days[1])));
    }
    if let Err(error) = interrupted().await {
        return failed(&error);
    }
    print("stopping");
    stack.stop().await;
    ExitCode::SUCCESS
}

async fn token(args: TokenArgs) -> ExitCode {
    match token_command::run(&args, print_to_stderr).await {
        Ok(token) => {
            print(&token);
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error),
    }
}

async fn tenant(sub: TenantSub) -> ExitCode {
    let done = match sub.command() {
        TenantCommand::Open(command) => tenant_command::open(&command).await.map_err(|error| error.to_string()),
        TenantCommand::List(command) => tenant_command::list(&command).await.map_err(|error| error.to_string()),
        TenantCommand::Home(command) => tenant_command::record_home(&command).await.map_err(|error| error.to_string()),
        TenantCommand::Reindex(command) => {
            return match tenant_command::reindex(&command, print_to_stderr).await {
                Ok((text, is_whole)) => {
                    print(&text);
                    if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE }
                }
                Err(error) => failed(&error),
            };
        }
        TenantCommand::Recover(command) => recover_command::run(&command).await.map_err(|error| error.to_string()),
        TenantCommand::Shards(command) => {
            tenant_command::raise_shards(&command).await.map_err(|error| error.to_string())
        }
        TenantCommand::TermsToBeginWith => {
            seed::terms_to_begin_with().map(|terms| terms_file::text(&terms)).map_err(|error| error.to_string())
        }
        TenantCommand::TermsChange(command) => {
            terms_command::request(&command).await.map_err(|error| error.to_string())
        }
    };
    match done {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(why) => failed(&why),
    }
}

async fn show(args: ShowArgs) -> ExitCode {
    match show_command::run(&args.command(), print).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

async fn audit(sub: AuditSub) -> ExitCode {
    let done = match sub.command() {
        AuditCommand::Verify(command) => audit_command::run(&command).await,
        AuditCommand::Check(command) => audit_command::check(&command),
        AuditCommand::Prove(command) => audit_command::prove(&command).await.map(|proof| (proof, true)),
    };
    match done {
        Ok((text, whole)) => {
            print(&text);
            if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => failed(&error),
    }
}

/// Fails if a pass left customers unfinished, so that scripts can check it.
async fn migrate(args: MigrateArgs) -> ExitCode {
    match migrate_command::run(&args.command(), print).await {
        Ok((text, clean)) => {
            print(&text);
            if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => failed(&error),
    }
}

async fn terminal(args: TerminalArgs) -> ExitCode {
    let done = match args.command() {
        TerminalCommand::Send(command) => terminal_command::send(&command).await,
        TerminalCommand::Enrol(command) => terminal_command::enrol(&command).await.map(|text| (text, true)),
    };
    match done {
        Ok((text, good)) => {
            print(&text);
            if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => failed(&error),
    }
}

/// Fails if there is a break, so that scripts can check it.
async fn reconcile(directory: PathBuf, parts: u16) -> ExitCode {
    match export::reconcile(&ExportCommand { directory, parts, temporary: std::env::temp_dir() }).await {
        Ok(exported) => {
            for report in exported.reports.values() {
                print(String::from_utf8_lossy(report).trim_end());
            }
            print(&format!("{} items, {} breaks", exported.items, exported.breaks));
            if exported.breaks == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => failed(&error),
    }
}

fn expand() -> ExitCode {
    let text = match std::io::read_to_string(std::io::stdin()) {
        Ok(text) => text,
        Err(error) => return failed(&error),
    };
    match expand_command::expanded(&text) {
        Ok(full) => {
            print(&full);
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error),
    }
}

/// Waits for Ctrl-C, or SIGTERM from a process manager.
async fn interrupted() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            interrupt = tokio::signal::ctrl_c() => interrupt,
            _ = terminated.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}

fn failed(error: &dyn std::fmt::Display) -> ExitCode {
    print_to_stderr(&error.to_string());
    ExitCode::FAILURE
}

/// Writes a line to standard error.
fn print_to_stderr(line: &str) {
    // A closed standard error is ignored.
    let _ = writeln!(std::io::stderr(), "ledger-local: {line}");
}

/// Writes a line to standard output. A closed pipe is ignored: `println!` would panic.
fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
