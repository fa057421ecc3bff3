//! `POST /v1/terminal/enrolments`: a terminal sends its one-time code and its public key. This is the only unsigned
//! route: the code is the proof, and it works once.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use ledger_core::keys::Partition;
use ledger_core::operation::Operation;
use ledger_core::terminal_state::TerminalState;
use ledger_core::terminals::{self, EnrolmentCode, TerminalRecord};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::Endpoint;
use ledger_runtime::notes::RequestNotes;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::Json as Body;
use ledger_runtime::signature;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request to enrol a terminal.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"code": "enr_demo", "public_key": "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE...\n-----END PUBLIC KEY-----\n"}))]
pub(crate) struct EnrolmentBody {
    /// The enrolment code that the operator issued.
    code: String,
    /// The terminal's P-256 public key, PEM (SubjectPublicKeyInfo).
    public_key: String,
}

/// An enrolled terminal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EnrolledView {
    /// The terminal's id.
    terminal_id: String,
    /// The number of the enrolment; the terminal's idempotency keys contain it.
    epoch: u32,
    /// The `keyid` of the terminal's signatures.
    key_id: String,
}

pub(crate) const CREATE: Endpoint = Endpoint::post("/v1/terminal/enrolments")
    .summary("Enrols a terminal: its public key is accepted from now on, and a new epoch begins.")
    .anonymous()
    .body::<EnrolmentBody>()
    .created_without_path::<EnrolledView>("Enrolled")
    .when(Code::WrongState, "the code is used or expired")
    .when(Code::NotFound, "no such code, or a newer code has replaced it");

pub(crate) async fn create(
    State(app): State<App>,
    notes: Option<Extension<RequestNotes>>,
    Body(body): Body<EnrolmentBody>,
) -> Result<(StatusCode, Json<EnrolledView>), Problem> {
    let code =
        EnrolmentCode::parse(&body.code).ok_or_else(|| Problem::invalid_field("code", "is not an enrolment code"))?;
    signature::check_public_key(&body.public_key)
        .map_err(|_| Problem::invalid_field("public_key", "is not a P-256 public key in PEM"))?;
    let key = Partition::terminal(&code.tenant, code.terminal).profile();
    let item = app.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?;
    let record = TerminalRecord::read(&item)?;
    if record.state == TerminalState::Closed {
        return Err(Problem::not_found());
    }
    let (cx, request_id) = (app.ledger().context(app.now())?, notes.and_then(|Extension(notes)| notes.request_id()));
    let enrol = terminals::enrol(&code, &body.public_key, record.epoch, request_id.as_deref(), &cx)
        .map_err(|_| Problem::internal())?;
    let epoch = match app.ledger().apply(&code.tenant, Operation::Enrol, &enrol).await {
        Ok(()) => record.epoch.saturating_add(1),
        Err(error) => already(&app, &code, &body.public_key).await?.ok_or(error)?,
    };
    app.records().forget_terminal(&code.tenant, code.terminal);
    let key_id = format!("{}/{}/{epoch}", code.tenant, code.terminal);
    let view = EnrolledView { terminal_id: code.terminal.to_string(), epoch, key_id };
    Ok((StatusCode::CREATED, Json(view)))
}

/// The epoch that this code has started with this key, if the terminal retries after a lost response.
async fn already(app: &App, code: &EnrolmentCode, public_key: &str) -> Result<Option<u32>, Problem> {
    let profile = Partition::terminal(&code.tenant, code.terminal).profile();
    let items = app.dynamo().get_many(&[code.slot(), profile]).await?;
    let [Some(slot), Some(profile)] = items.as_slice() else { return Ok(None) };
    let record = TerminalRecord::read(profile)?;
    Ok(code.was_answered(slot, &record, public_key)?.then_some(record.epoch))
}
