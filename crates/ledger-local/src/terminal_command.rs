//! The `terminal` sub-command: enrols a terminal, or signs and sends a request and prints the response. It replaces
//! curl, with which a signature is hard to make.

use crate::clock;
use crate::credential::{Credential, next_sequence};
use crate::terminal_client::{Answer, TerminalClient, TerminalRequest, exchange, http_client};
use crate::terminal_error::TerminalError;
use reqwest::{Method, Url};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The printed headers; others concern transport.
const SHOWN_HEADERS: [&str; 5] = ["content-type", "idempotent-replayed", "location", "retry-after", "www-authenticate"];

/// The arguments of a request.
#[derive(Debug, Clone)]
pub struct SendCommand {
    /// The base URL of the API.
    pub url: String,
    /// The credential file.
    pub key_file: PathBuf,
    /// The method.
    pub method: Method,
    /// The path, with query.
    pub path: String,
    /// The JSON body.
    pub body: Option<String>,
    /// The idempotency key; `None` makes one from the terminal's sequence for a request that is not a GET.
    pub idempotency_key: Option<String>,
    /// Print a curl line and send nothing.
    pub dry_run: bool,
}

/// The arguments of an enrolment.
#[derive(Debug, Clone)]
pub struct EnrolCommand {
    /// The base URL of the local stack.
    pub url: String,
    /// The file that the credential is saved to.
    pub key_file: PathBuf,
    /// The terminal's id; `None` for the demo's first terminal.
    pub terminal: Option<String>,
}

/// Signs and sends a request, or prints the curl line. Returns the text to print, and `false` for a status of 400 or
/// above.
///
/// # Errors
/// If there is no credential, no signature or no response.
pub async fn send(command: &SendCommand) -> Result<(String, bool), TerminalError> {
    let credential = Credential::load(&command.key_file)?;
    let idempotency_key = match &command.idempotency_key {
        None if command.method != Method::GET => Some(fresh_key(&credential, &command.key_file)?),
        given => given.clone(),
    };
    let client = TerminalClient::new(&command.url, credential)?;
    let request = client.request(command.method.clone(), &command.path, command.body.clone(), idempotency_key)?;
    if command.dry_run {
        return Ok((curl_line(&request, &client.sign(&request)?), true));
    }
    let answer = client.send(&request).await?;
    Ok((shown(&request, &answer), answer.status < 400))
}

/// Enrols a terminal of the local stack's demo: gets a code as two operators, sends the public key as the terminal, and
/// saves the credential.
///
/// # Errors
/// If a step is refused or the credential cannot be saved.
pub async fn enrol(command: &EnrolCommand) -> Result<String, TerminalError> {
    let steps = Steps { http: http_client(&command.url)?, base: command.url.trim_end_matches('/') };
    let demo = steps.call("the demo's ids", Method::GET, "/dev/demo", None, None).await?;
    let tenant = text(&demo, "/tenant");
    let terminal = command.terminal.clone().unwrap_or_else(|| text(&demo, "/terminals/0"));
    let [first, second] = [steps.token(&demo, "/staff/0").await?, steps.token(&demo, "/staff/1").await?];

    let path = format!("/v1/admin/terminals/{terminal}/enrolment");
    let code = || steps.call("an enrolment code", Method::POST, &path, Some(&first), Some(json!({})));
    let requested = code().await?;
    let approval = format!("/v1/admin/approvals/{}/approve", text(&requested, "/approval_id"));
    steps.call("the approval", Method::POST, &approval, Some(&second), Some(json!({}))).await?;
    // The code is shown to the person who requested it.
    let enrolment = code().await?;
    let (private_key, public_key) = Credential::key_pair()?;
    let body = json!({"code": text(&enrolment, "/code"), "public_key": public_key});
    let enrolled = steps.call("the enrolment", Method::POST, "/v1/terminal/enrolments", None, Some(body)).await?;

    let epoch = enrolled.get("epoch").and_then(|epoch| epoch.as_u64().or_else(|| epoch.as_str()?.parse().ok()));
    let Some(epoch) = epoch else {
        return Err(TerminalError::Refused { what: "the enrolment", status: 200, body: enrolled.to_string() });
    };
    let credential = Credential { tenant, terminal_id: text(&enrolled, "/terminal_id"), epoch, private_key };
    credential.save(&command.key_file)?;
    Ok(format!("enrolled as {}, credential in {}", credential.key_id(), command.key_file.display()))
}

/// A fresh idempotency key of a terminal, `<terminal>-<epoch>-<sequence>`.
fn fresh_key(credential: &Credential, key_file: &Path) -> Result<String, TerminalError> {
    let sequence = next_sequence(key_file)?;
    Ok(format!("{}-{}-{sequence}", credential.terminal_id, credential.epoch))
}

struct Steps<'a> {
    http: reqwest::Client,
    base: &'a str,
}

impl Steps<'_> {
    /// A token of one of the demo's operators.
    async fn token(&self, demo: &Value, person: &str) -> Result<String, TerminalError> {
        let grant = json!({"tenant": text(demo, "/tenant"), "face": "admin", "sub": text(demo, person)});
        let token = self.call("an operator's token", Method::POST, "/dev/token", None, Some(grant)).await?;
        Ok(text(&token, "/token"))
    }

    async fn call(
        &self,
        what: &'static str,
        method: Method,
        path: &str,
        bearer: Option<&str>,
        body: Option<Value>,
    ) -> Result<Value, TerminalError> {
        let address = format!("{}{path}", self.base);
        let url = Url::parse(&address).map_err(|_| TerminalError::Url(address))?;
        let mut headers = Vec::new();
        if body.is_some() {
            headers.push(("content-type", "application/json".to_owned()));
            headers.push(("idempotency-key", uuid_v7()?));
        }
        if let Some(bearer) = bearer {
            headers.push(("authorization", format!("Bearer {bearer}")));
        }
        let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
        let answer = exchange(&self.http, method, url, headers, body.map(|body| body.to_string())).await?;
        let refused = || TerminalError::Refused { what, status: answer.status, body: answer.body.clone() };
        if answer.status >= 300 {
            return Err(refused());
        }
        serde_json::from_str(&answer.body).map_err(|_| refused())
    }
}

fn uuid_v7() -> Result<String, TerminalError> {
    let mut random = [0; 10];
    getrandom::fill(&mut random).map_err(|error| TerminalError::Key(error.to_string()))?;
    Ok(uuid::Builder::from_unix_timestamp_millis(clock::epoch_ms(), &random).into_uuid().to_string())
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn shown(request: &TerminalRequest, answer: &Answer) -> String {
    let mut lines = vec![format!("HTTP {}", answer.status)];
    if let Some(key) = &request.idempotency_key {
        lines.push(format!("(sent idempotency-key: {key})"));
    }
    for name in SHOWN_HEADERS {
        if let Some(value) = answer.header(name) {
            lines.push(format!("{name}: {value}"));
        }
    }
    lines.push(String::new());
    lines.push(answer.body.clone());
    lines.join("\n")
}

fn curl_line(request: &TerminalRequest, headers: &[(&'static str, String)]) -> String {
    let mut line = format!("curl -i -X {} {}", request.method, quoted(request.url.as_str()));
    for (name, value) in headers {
        line.push_str(&format!(" -H {}", quoted(&format!("{name}: {value}"))));
    }
    if let Some(body) = &request.body {
        line.push_str(&format!(" --data-raw {}", quoted(body)));
    }
    line
}

/// Quotes a text for a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::{Stack, StackConfig};
    use crate::testing::TempDir;

    #[tokio::test]
    async fn dry_run_prints_a_curl_line_and_numbers_the_operation() {
        let dir = TempDir::make();
        let key_file = dir.path().join("terminal.json");
        let (private_key, _) = Credential::key_pair().unwrap();
        let credential = Credential { tenant: "demo".to_owned(), terminal_id: "t1".to_owned(), epoch: 1, private_key };
        credential.save(&key_file).unwrap();
        let command = SendCommand {
            url: "http://127.0.0.1:3000".to_owned(),
            key_file,
            method: Method::POST,
            path: "/v1/terminal/cards/c/pay".to_owned(),
            body: Some(r#"{"memo":"it's"}"#.to_owned()),
            idempotency_key: None,
            dry_run: true,
        };
        let (line, good) = send(&command).await.unwrap();
        assert!(good);
        assert!(line.starts_with("curl -i -X POST 'http://127.0.0.1:3000/v1/terminal/cards/c/pay'"), "{line}");
        assert!(line.contains(" -H 'idempotency-key: t1-1-"), "{line}");
        assert!(line.ends_with(r#"--data-raw '{"memo":"it'\''s"}'"#), "{line}");
        let get = SendCommand { method: Method::GET, body: None, ..command };
        assert!(!send(&get).await.unwrap().0.contains("idempotency-key"));
    }

    #[tokio::test]
    async fn enrolled_terminal_is_accepted_and_its_replaced_key_refused() {
        let stack = Stack::start(StackConfig::in_memory()).await.unwrap();
        let dir = TempDir::make();
        let key_file = dir.path().join("terminal.json");
        let enrol_command = EnrolCommand { url: stack.url(), key_file: key_file.clone(), terminal: None };
        let terminal = stack.demo().terminals[0].clone();
        let output = enrol(&enrol_command).await.unwrap();
        assert!(output.starts_with(&format!("enrolled as demo/{terminal}/1")), "{output}");
        let card = stack.demo().cards[0].clone();
        let inquiry = SendCommand {
            url: stack.url(),
            key_file: key_file.clone(),
            method: Method::GET,
            path: format!("/v1/terminal/cards/{card}"),
            body: None,
            idempotency_key: None,
            dry_run: false,
        };
        let (output, good) = send(&inquiry).await.unwrap();
        assert!(good && output.starts_with("HTTP 200") && output.contains(&card), "{output}");
        let unknown = SendCommand { path: "/v1/terminal/x".to_owned(), ..inquiry.clone() };
        assert!(!send(&unknown).await.unwrap().1);

        let old = dir.path().join("old.json");
        std::fs::copy(&key_file, &old).unwrap();
        let output = enrol(&enrol_command).await.unwrap();
        assert!(output.starts_with(&format!("enrolled as demo/{terminal}/2")), "{output}");
        assert!(send(&inquiry).await.unwrap().1);
        let (output, good) = send(&SendCommand { key_file: old, ..inquiry }).await.unwrap();
        assert!(!good && output.starts_with("HTTP 401"), "{output}");
        stack.stop().await;
    }
}
