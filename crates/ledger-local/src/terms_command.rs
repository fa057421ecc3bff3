//! `tenant terms FILE`: requests a change of a tenant's terms through the API, as a member of the operator's staff. Another
//! member approves it.

use crate::admin_api::{AdminApi, AdminApiError, text};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The arguments of `tenant terms` with a file.
#[derive(Debug, Clone)]
pub struct TermsCommand {
    /// The file with the changes: a JSON object of fields, each with its value as text, or null to clear it.
    pub changes: PathBuf,
    /// The time from which they hold.
    pub from: String,
    /// The reason.
    pub reason: Option<String>,
    /// The base URL of the API.
    pub url: String,
    /// The file with the member's token; `None` gets one from a local stack.
    pub token_file: Option<PathBuf>,
    /// The tenant, on a local stack; elsewhere the token contains it.
    pub tenant: String,
}

/// Why no change was requested.
#[derive(Debug, thiserror::Error)]
pub enum TermsCommandError {
    /// The file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The file has other content.
    #[error(
        "{} has no changes of terms: {cause}; write an object such as {{\"points_rate\": \"0.02\", \"hold_hours\": null}}",
        path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: serde_json::Error,
    },
    /// The API could not be called, or it refused the request.
    #[error(transparent)]
    Api(#[from] AdminApiError),
}

/// Requests a change of terms. Returns the text to print: the values before and after, and who approves it.
///
/// # Errors
/// [`TermsCommandError`], whose text says what to do.
pub async fn request(command: &TermsCommand) -> Result<String, TermsCommandError> {
    let path = &command.changes;
    let file = std::fs::read_to_string(path);
    let file = file.map_err(|cause| TermsCommandError::Unreadable { path: path.clone(), cause })?;
    let changes: BTreeMap<String, Option<String>> =
        serde_json::from_str(&file).map_err(|cause| TermsCommandError::Malformed { path: path.clone(), cause })?;
    let api = AdminApi::connect(&command.url, command.token_file.as_deref(), &command.tenant).await?;
    let body = json!({"changes": changes, "from": command.from, "reason": command.reason});
    let requested = api.send(Method::POST, "/v1/admin/terms/changes", Some(body)).await?;
    let path = format!("/v1/admin/approvals/{}", text(&requested, "approval_id"));
    let approval = api.send(Method::GET, &path, None).await?;
    let changes = approval.get("changes").and_then(Value::as_array).into_iter().flatten();
    let values: Vec<String> = changes.map(change).collect();
    let values = values.join("; ");
    Ok(format!(
        "{values}\nhold from {}, if another person approves them at least ten minutes before:\nPOST {path}/approve",
        command.from
    ))
}

/// A change of one term, as `name from -> to`.
fn change(of: &Value) -> String {
    let value = |name: &str| of.get(name).and_then(Value::as_str).unwrap_or("none");
    format!("{} {} -> {}", text(of, "name"), value("from"), value("to"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::{Stack, StackConfig};
    use crate::testing::TempDir;
    use ledger_core::terms::TERMS_LEAD;
    use ledger_runtime::clock::Clock;

    /// The file with a token of one of the demo's owners.
    async fn token_file(stack: &Stack, dir: &TempDir, owner: usize) -> PathBuf {
        let api = AdminApi::connect(&stack.url(), None, "demo").await.unwrap();
        let grant = json!({"tenant": "demo", "face": "admin", "sub": stack.demo().staff[owner]});
        let token = api.send(Method::POST, "/dev/token", Some(grant)).await.unwrap();
        written(dir, &format!("owner-{owner}.token"), text(&token, "token"))
    }

    fn written(dir: &TempDir, name: &str, content: &str) -> PathBuf {
        let path = dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    #[tokio::test]
    async fn change_is_stored_once_another_owner_approves_it() {
        let (stack, dir) = (Stack::start(StackConfig::in_memory()).await.unwrap(), TempDir::make());
        let (first, second) = (token_file(&stack, &dir, 0).await, token_file(&stack, &dir, 1).await);
        let from = Clock::system().now().plus(2 * TERMS_LEAD).to_string();
        let changes = r#"{"limits.customer.ECOPAY.pay_day": "50000", "card.pin_above": "10000", "hold_hours": "48"}"#;
        let command = TermsCommand {
            changes: written(&dir, "changes.json", changes),
            from: from.clone(),
            reason: Some("limits for the spring".to_owned()),
            url: stack.url(),
            token_file: Some(first.clone()),
            tenant: "demo".to_owned(),
        };
        let shown = request(&command).await.unwrap();
        let (values, approve) = shown.split_once("\nPOST ").unwrap();
        let expected =
            "card.pin_above none -> 10000; hold_hours none -> 48; limits.customer.ECOPAY.pay_day none -> 50000";
        assert_eq!(values.lines().next(), Some(expected));
        assert!(values.contains(&from), "{values}");

        let versions = async || {
            let api = AdminApi::connect(&stack.url(), Some(&first), "demo").await.unwrap();
            let terms = api.send(Method::GET, "/v1/admin/terms", None).await.unwrap();
            terms["versions"].as_array().unwrap().clone()
        };
        let approving = async |token: &PathBuf| {
            let api = AdminApi::connect(&stack.url(), Some(token), "demo").await.unwrap();
            api.send(Method::POST, approve, Some(json!({}))).await
        };
        assert_eq!(versions().await.len(), 1);
        let refused = approving(&first).await.unwrap_err().to_string();
        assert!(refused.starts_with("403 four_eyes_required: "), "{refused}");
        assert_eq!(versions().await.len(), 1);
        approving(&second).await.unwrap();
        let stored = &versions().await[0];
        assert_eq!(
            (&stored["version"], &stored["status"], &stored["from"]),
            (&json!(2), &json!("scheduled"), &json!(from))
        );
        assert_eq!(stored["requested_by"], json!(stack.demo().staff[0]));
        assert_eq!(stored["approved_by"], json!(stack.demo().staff[1]));
        assert_eq!(stored["terms"]["limits.customer.ECOPAY.pay_day"], "50000");
        stack.stop().await;
    }

    #[tokio::test]
    async fn file_that_is_no_change_is_refused_before_or_by_the_api() {
        let (stack, dir) = (Stack::start(StackConfig::in_memory()).await.unwrap(), TempDir::make());
        let command = |changes: PathBuf| TermsCommand {
            changes,
            from: Clock::system().now().plus(2 * TERMS_LEAD).to_string(),
            reason: None,
            url: stack.url(),
            token_file: None,
            tenant: "demo".to_owned(),
        };
        let missing = request(&command(dir.path().join("none.json"))).await;
        assert!(matches!(missing, Err(TermsCommandError::Unreadable { .. })), "{missing:?}");
        let number = request(&command(written(&dir, "number.json", r#"{"hold_hours": 48}"#))).await;
        assert!(matches!(number, Err(TermsCommandError::Malformed { .. })), "{number:?}");
        let unknown = request(&command(written(&dir, "unknown.json", r#"{"colour": "red"}"#))).await;
        let unknown = unknown.unwrap_err().to_string();
        assert_eq!(unknown, "400 invalid_request: colour: is no term of the programme");
        stack.stop().await;
    }
}
