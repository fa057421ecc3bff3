//! `migrate`: an operator migrates a tenant from a legacy model to split records through the API: shows the state,
//! changes the phase, and runs passes over all customers and waits for them.

use crate::admin_api::{AdminApi, AdminApiError, text};
use reqwest::Method;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// The interval at which the progress of a pass is read.
const PROGRESS_READ_EVERY: Duration = Duration::from_secs(2);

/// The action of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Show the state of the migration.
    Status,
    /// Enter the next phase.
    Next,
    /// Return to the previous phase.
    Back,
    /// Run a pass of this kind with at most this number of customers per second, and wait for its end.
    Pass(&'static str, Option<u32>),
}

/// The arguments of the `migrate` command.
#[derive(Debug, Clone)]
pub struct MigrateCommand {
    /// The base URL of the API.
    pub url: String,
    /// The file with an operator's token; `None` gets a token from a local stack.
    pub token_file: Option<PathBuf>,
    /// The tenant, on a local stack; elsewhere the token contains it.
    pub tenant: String,
    /// The action.
    pub step: Step,
}

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// The API could not be called, or it refused the request.
    #[error(transparent)]
    Api(#[from] AdminApiError),
    /// The step is not possible.
    #[error("{0}")]
    Impossible(String),
    /// The pass was requested and its worker continues it, but its progress could not be read.
    #[error("the pass was requested and continues without this command; `migrate status` shows how far it is. {cause}")]
    OutOfSight {
        /// Why the progress could not be read.
        cause: Box<MigrateError>,
    },
}

/// Runs the command. Returns the text to print, and `false` if a pass left customers unfinished.
///
/// # Errors
/// [`MigrateError`], whose text says what to do.
pub async fn run(command: &MigrateCommand, progress: impl Fn(&str)) -> Result<(String, bool), MigrateError> {
    let api = Api(AdminApi::connect(&command.url, command.token_file.as_deref(), &command.tenant).await?);
    let seen = api.call(Method::GET, "", None).await?;
    let number = |step: &str| seen.pointer(step).and_then(Value::as_u64);
    match command.step {
        Step::Status => Ok((status(&seen), true)),
        Step::Next => api.enter(number("/next/phase"), "the last phase is entered").await,
        Step::Back => api.enter(number("/back/phase"), "this is the first phase").await,
        Step::Pass(kind, per_second) => {
            let body = json!({ "customers_per_second": per_second });
            api.call(Method::POST, kind, Some(body)).await?;
            let watched = api.watch(kind, progress).await;
            watched.map_err(|cause| MigrateError::OutOfSight { cause: Box::new(cause) })
        }
    }
}

struct Api(AdminApi);

impl Api {
    async fn call(&self, method: Method, what: &str, body: Option<Value>) -> Result<Value, MigrateError> {
        let path = if what.is_empty() { String::new() } else { format!("/{what}") };
        Ok(self.0.send(method, &format!("/v1/admin/migration{path}"), body).await?)
    }

    /// Waits until the pass has ended, and reports its progress.
    async fn watch(&self, kind: &str, progress: impl Fn(&str)) -> Result<(String, bool), MigrateError> {
        loop {
            let seen = self.call(Method::GET, "", None).await?;
            let pass = pass(&seen, kind);
            match pass.map(|pass| (text(pass, "status"), pass)) {
                Some(("waiting" | "running", pass)) => progress(&pass_line(pass)),
                Some((_, pass)) => {
                    let left = pass.get("failed").and_then(Value::as_u64).unwrap_or_default();
                    return Ok((status(&seen), left == 0 && text(pass, "status") == "done"));
                }
                None => return Err(MigrateError::Impossible("the pass no longer exists".to_owned())),
            }
            tokio::time::sleep(PROGRESS_READ_EVERY).await;
        }
    }

    async fn enter(&self, phase: Option<u64>, none: &str) -> Result<(String, bool), MigrateError> {
        let phase = phase.ok_or_else(|| MigrateError::Impossible(none.to_owned()))?;
        let entered = self.call(Method::PUT, "phase", Some(json!({ "phase": phase }))).await?;
        Ok((status(&entered), true))
    }
}

fn pass<'a>(seen: &'a Value, kind: &str) -> Option<&'a Value> {
    seen.get("passes")?.as_array()?.iter().find(|pass| text(pass, "kind") == kind)
}

/// The state of the migration as a table.
fn status(seen: &Value) -> String {
    let number = |value: &Value, name: &str| value.get(name).and_then(Value::as_u64).map(|n| n.to_string());
    let mut out = match (text(seen, "status"), number(seen, "phase"), number(seen, "last_phase")) {
        ("split", ..) => "customers have split records\n".to_owned(),
        (word, Some(phase), Some(last)) => {
            format!("{word} from {}: phase {phase} of {last}, since {}\n", text(seen, "model"), text(seen, "since"))
        }
        (word, ..) => format!("{word}\n"),
    };
    let of = |kind: &str, concern: &str| {
        let count = pass(seen, kind).and_then(|pass| pass.pointer(&format!("/concerns/{concern}"))?.as_u64());
        count.map_or_else(|| "-".to_owned(), |count| count.to_string())
    };
    let stages = seen.get("stages").and_then(Value::as_array).cloned().unwrap_or_default();
    if !stages.is_empty() {
        let _ = writeln!(out, "\n{:<10} {:<12} {:>8}", "concern", "stage", "differ");
        for stage in &stages {
            let concern = text(stage, "concern");
            let _ = writeln!(out, "{concern:<10} {:<12} {:>8}", text(stage, "stage"), of("verify", concern));
        }
    }
    for (name, step) in [("next", seen.get("next")), ("back", seen.get("back"))] {
        if let Some(step) = step {
            let phase = number(step, "phase").unwrap_or_default();
            let why = match text(step, "why") {
                "" => "may be entered".to_owned(),
                why => format!("not yet: {why}"),
            };
            let _ = write!(out, "\n{name}: phase {phase}, {} {}: {why}", text(step, "concern"), text(step, "stage"));
        }
    }
    let passes = seen.get("passes").and_then(Value::as_array).cloned().unwrap_or_default();
    for pass in &passes {
        let _ = write!(out, "\n{}", pass_line(pass));
        for example in pass.get("examples").and_then(Value::as_array).into_iter().flatten() {
            let _ = write!(out, "\n    {} {}", text(example, "customer_id"), text(example, "what"));
        }
    }
    out
}

fn pass_line(pass: &Value) -> String {
    let count = |name: &str| pass.get(name).and_then(Value::as_u64).unwrap_or_default();
    format!(
        "{} in phase {}: {}, {} customers, {} changed, {} left",
        text(pass, "kind"),
        count("phase"),
        text(pass, "status"),
        count("done"),
        count("changed"),
        count("failed"),
    )
}
