//! Serves the simulator alone, on this machine only: `cargo run -p stripe-simulator`.

use clap::Parser;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use stripe_simulator::{API_KEY_DEFAULT, API_PATH, Simulator, SimulatorConfig, WEBHOOK_SECRET_DEFAULT};
use tokio::net::TcpListener;

/// Simulates Stripe: its API, its webhooks and its failures. No money moves.
#[derive(Parser)]
#[command(version, after_help = "Example: stripe-simulator --port 0 --webhook-url http://127.0.0.1:4000/webhook")]
struct Args {
    /// Port on 127.0.0.1; 0 selects a free port
    #[arg(long, default_value_t = 12111)]
    port: u16,
    /// API key that requests must have
    #[arg(long, default_value = API_KEY_DEFAULT)]
    api_key: String,
    /// Secret that signs deliveries; repeat the option to sign with several, as during a rotation
    #[arg(long, default_value = WEBHOOK_SECRET_DEFAULT)]
    webhook_secret: Vec<String>,
    /// http:// URL that events are delivered to (default: events are only listed)
    #[arg(long)]
    webhook_url: Option<String>,
    /// File that keeps the state across restarts (default: memory)
    #[arg(long)]
    state_file: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, there is nowhere to report it.
            let _ = writeln!(io::stderr(), "stripe-simulator: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until the process is killed. Every change is saved before its response is sent.
async fn serve(args: Args) -> Result<(), Box<dyn std::error::Error>> {
    let Args { port, api_key, webhook_secret, webhook_url, state_file } = args;
    let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(|error| format!("port {port}: {error}"))?;
    let url = format!("http://{}", listener.local_addr()?);
    let shown = format!(
        "API base       {url}{API_PATH}\nAPI key        {api_key}\nwebhook secret {}\ncontrols       {url}/dev/stripe",
        webhook_secret.join(" ")
    );
    let simulator = Simulator::start(SimulatorConfig { api_key, webhook_secrets: webhook_secret, state_file })?;
    simulator.deliver_to(webhook_url);
    // `println!` would panic on a closed pipe.
    let _ = writeln!(io::stdout(), "{shown}");
    Ok(axum::serve(listener, simulator.router()).await?)
}
