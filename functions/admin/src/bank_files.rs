//! `/v1/admin/bank-files`: the files that ask the bank to pay merchants, and what people record that the bank did with them.

use crate::approvals;
use axum::Json;
use axum::extract::State;
use ledger_core::approvals::Command;
use ledger_core::bank_files::{
    self, BankFile, BankTransfer, FileAcceptance, FileChange, FileDebit, FileEnd, FileStart,
};
use ledger_core::calendar::{BankDeadline, PaymentWindow};
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Claim, Fields};
use ledger_core::ids::{BankFileId, SettlementId, Tenant};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::plan::{Context, PlanRefusal};
use ledger_core::reads;
use ledger_core::terms::TenantTerms;
use ledger_core::time::BusinessDate;
use ledger_core::transaction::Planned;
use ledger_runtime::app::App;
use ledger_runtime::cursor::PlacedCursor;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter, Permission};
use ledger_runtime::execute::{Outcome, PlanError, accepted, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, Empty, KeyedJson, Params, PathId};
use ledger_runtime::views::{BankFileContentView, BankFileView, BankTransferView, Page};
use serde::Deserialize;
use utoipa::ToSchema;

/// The most transfers of a day that are read at once.
const TRANSFERS_PAGE: usize = 100;

/// The path's variable segment.
const ID: Parameter = Parameter::in_path(
    "bank_file_id",
    "The file's id: its payment day and its number on that day.",
    Kind::Form("^[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{2}$", "2026-12-10-01"),
);

/// The day of a file.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"pay_on": "2026-12-10"}))]
pub(crate) struct BankFileCutBody {
    /// The day whose booked transfers the file takes: one on which the bank can pay.
    pay_on: String,
}

/// The day of a superseding file.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"pay_on": "2026-12-11"}))]
pub(crate) struct BankFileSupersedeBody {
    /// The day on which the bank is to pay; the first possible one if absent.
    pay_on: Option<String>,
}

/// What the bank said when it accepted a file.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reference": "receipt 20261209-0042"}))]
pub(crate) struct BankFileAcceptBody {
    /// What the bank calls the file; at most 140 characters, no card number.
    reference: String,
}

/// Why a file ends, or is taken back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"note": "the bank rejected it: the account has too little"}))]
pub(crate) struct BankFileEndBody {
    /// How that is known; at most 140 characters, no card number.
    note: String,
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/bank-files")
    .summary("Lists bank files, the latest payment day first.")
    .about("One that was just begun may be missing.")
    .permission(Permission::BankFilesRead)
    .pages_of::<BankFileView>();

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<BankFileView>>, Problem> {
    let page = params.placed_page()?;
    params.finish()?;
    let (files, next_cursor) = app.bank_files(who.tenant(), page).await?;
    Ok(Json(Page { items: files.iter().map(BankFileView::from).collect(), next_cursor }))
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/bank-files/{bank_file_id}")
    .summary("Returns a bank file.")
    .permission(Permission::BankFilesRead)
    .parameter(ID)
    .ok::<BankFileView>("The file")
    .when(Code::NotFound, "no such file");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<BankFileId>,
) -> Result<Json<BankFileView>, Problem> {
    Ok(Json(BankFileView::from(&app.bank_file(who.tenant(), id).await?)))
}

pub(crate) const TRANSFERS: Endpoint = Endpoint::get("/v1/admin/bank-files/{bank_file_id}/transfers")
    .summary("Lists the transfers of a bank file, in its order.")
    .permission(Permission::BankFilesRead)
    .parameter(ID)
    .pages_of::<BankTransferView>()
    .when(Code::NotFound, "no such file");

pub(crate) async fn transfers(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<BankFileId>,
    mut params: Params,
) -> Result<Json<Page<BankTransferView>>, Problem> {
    let (limit, cursor) = params.placed_page()?;
    params.finish()?;
    let from = cursor.map_or(Ok(0), |cursor| cursor.place().parse::<usize>());
    let from = from.map_err(|_| Problem::invalid_field("cursor", "is not one of this list"))?;
    let file = app.bank_file(who.tenant(), id).await?;
    let mut found = app.transfers_of(who.tenant(), &file, (from, limit.saturating_add(1))).await?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = from.saturating_add(limit).to_string();
    let next_cursor = has_more.then(|| PlacedCursor::after(&next).to_string());
    Ok(Json(Page { items: found.iter().map(BankTransferView::from).collect(), next_cursor }))
}

pub(crate) const CONTENT: Endpoint = Endpoint::get("/v1/admin/bank-files/{bank_file_id}/content")
    .summary("Returns the content of a bank file.")
    .about("It has the accounts of merchants, so each reading is on the audit trail. A bank pays a file as often as it gets it.")
    .permission(Permission::BankFilesRead)
    .parameter(ID)
    .ok::<BankFileContentView>("The content")
    .when(Code::WrongState, "the content is not fixed yet, the file is empty, or it was rejected or withdrawn")
    .when(Code::NotFound, "no such file");

pub(crate) async fn content(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<BankFileId>,
) -> Result<Json<BankFileContentView>, Problem> {
    let (tenant, file) = (who.tenant(), app.bank_file(who.tenant(), id).await?);
    // What another file pays must not be given to the bank.
    let sha256 = file.sha256.clone().filter(|_| !file.is_over());
    let Some(sha256) = sha256 else { return Err(Problem::refused(Failure::WrongState)) };
    let content = app.bank_file_content(tenant, &file).await?;
    let cx = app.ledger().context(app.now())?;
    let reading = bank_files::reading(tenant, who.actor(), &file, &cx).map_err(|error| {
        tracing::error!(%error, "a reading cannot be put on record");
        Problem::internal()
    })?;
    // Without the record the content is not shown.
    app.ledger().apply(tenant, Operation::BankFileRead, &reading).await?;
    Ok(Json(BankFileContentView::new(id, sha256, &content)))
}

pub(crate) const CUT: Keyed = Endpoint::post("/v1/admin/bank-files")
    .summary("Begins the file of a payment day before its cut.")
    .about("It takes what is booked for the day so far, in the background. What is booked later goes into the next file of the day.")
    .permission(Permission::BankFilesMark)
    .body::<BankFileCutBody>()
    .accepted::<BankFileView>("Begun")
    .when(Code::InvalidRequest, "the request is not valid, or the bank cannot pay on the day")
    .when(Code::WrongState, "nothing is booked for the day, or another file of the day takes transfers")
    .keyed(Operation::BankFileCut);

pub(crate) async fn cut(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<BankFileCutBody>,
) -> Result<Outcome, Problem> {
    let pay_on = date(&body.pay_on)?;
    let fields = Fields::new().with("pay_on", pay_on);
    let (claim, admission) = CUT.claim(&app, &who, key, &[], fields).await?;
    let plan = async |cx: Context| {
        let (tenant, terms) = (who.tenant(), app.terms_at(who.tenant(), cx.now).await?);
        let deadline = deadline(&terms);
        window(&deadline, &cx)?.check(pay_on).map_err(refused_day)?;
        let booked = first_booked(&app, tenant, pay_on).await?.ok_or(Failure::WrongState)?;
        let days = [pay_on];
        let start = Start { id: next_id(&app, tenant, pay_on).await?, deadline, days: &days };
        start.plan((&who, &booked.from), None, &cx)
    };
    Ok(app.perform(claim.clone(), admission, plan, begun).await)
}

pub(crate) const SUPERSEDE: Keyed = Endpoint::post("/v1/admin/bank-files/{bank_file_id}/supersede")
    .summary("Puts the transfers of a rejected or withdrawn file into another one.")
    .about("Those that were returned stay out. Transfers whose merchants cannot be paid are recorded as returned before.")
    .permission(Permission::BankFilesMark)
    .parameter(ID)
    .body::<BankFileSupersedeBody>()
    .accepted::<BankFileView>("Begun: the superseding file")
    .when(Code::InvalidRequest, "the request is not valid, or the bank cannot pay on the day")
    .when(
        Code::WrongState,
        "the file is not rejected or withdrawn, is superseded, or has no transfers left, or another file of the day takes transfers",
    )
    .when(Code::NotFound, "no such file")
    .keyed(Operation::BankFileSupersede);

pub(crate) async fn supersede(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<BankFileId>,
    KeyedJson(key, body): KeyedJson<BankFileSupersedeBody>,
) -> Result<Outcome, Problem> {
    let pay_on = body.pay_on.as_deref().map(date).transpose()?;
    let fields = Fields::new().with_some("pay_on", pay_on);
    let (claim, admission) = SUPERSEDE.claim(&app, &who, key, &[&id], fields).await?;
    let plan = async |cx: Context| {
        let (tenant, terms) = (who.tenant(), app.terms_at(who.tenant(), cx.now).await?);
        let file = read(&app, &who, id, &claim).await?;
        let deadline = deadline(&terms);
        let window = window(&deadline, &cx)?;
        let pay_on = pay_on.unwrap_or(window.first);
        window.check(pay_on).map_err(refused_day)?;
        let start = Start { id: next_id(&app, tenant, pay_on).await?, deadline, days: &[] };
        start.plan((&who, &file.from), Some(&file), &cx)
    };
    Ok(app.perform(claim.clone(), admission, plan, begun).await)
}

pub(crate) const ACCEPT: Keyed = Endpoint::post("/v1/admin/bank-files/{bank_file_id}/accept")
    .summary("Records that the bank has accepted a file.")
    .about("From its day on its transfers count as paid. Another person records that the bank has debited it.")
    .permission(Permission::BankFilesMark)
    .parameter(ID)
    .body::<BankFileAcceptBody>()
    .ok::<BankFileView>("Recorded")
    .when(Code::WrongState, "the file is not written, or was accepted before")
    .when(Code::NotFound, "no such file")
    .keyed(Operation::BankFileAccept);

pub(crate) async fn accept(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<BankFileId>,
    KeyedJson(key, body): KeyedJson<BankFileAcceptBody>,
) -> Result<Outcome, Problem> {
    let reference = request::memo("reference", &body.reference);
    let fields = Fields::new().with("reference", reference.as_sent());
    let (claim, admission) = ACCEPT.claim(&app, &who, key, &[&id], fields).await?;
    let plan = async |cx: Context| {
        let file = read(&app, &who, id, &claim).await?;
        let of = FileAcceptance { tenant: who.tenant(), by: who.staff_id(), reference: &reference.text()? };
        Ok(bank_files::plan_accept(&of, &file, &cx)?)
    };
    Ok(app.perform(claim.clone(), admission, plan, |file: &BankFile| ok(&BankFileView::from(file))).await)
}

pub(crate) const DEBIT: Keyed = Endpoint::post("/v1/admin/bank-files/{bank_file_id}/debit")
    .summary("Records that the bank has debited a file's sum.")
    .about("The sum is that of its transfers, less what was returned before. Another person than the one who recorded the acceptance does it.")
    .permission(Permission::BankFilesMark)
    .parameter(ID)
    .body::<Empty>()
    .ok::<BankFileView>("Recorded")
    .when(Code::FourEyesRequired, "the caller recorded that the file was accepted")
    .when(Code::WrongState, "the file is not accepted, or was debited before")
    .when(Code::NotFound, "no such file")
    .keyed(Operation::BankFileDebit);

pub(crate) async fn debit(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<BankFileId>,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let (claim, admission) = DEBIT.claim(&app, &who, key, &[&id], Fields::new()).await?;
    let plan = async |cx: Context| {
        let file = read(&app, &who, id, &claim).await?;
        let terms = app.terms_at(who.tenant(), cx.now).await?;
        let of = FileDebit { tenant: who.tenant(), by: who.staff_id() };
        Ok(bank_files::plan_debit(&of, &file, &terms, &cx)?)
    };
    Ok(app.perform(claim.clone(), admission, plan, |file: &BankFile| ok(&BankFileView::from(file))).await)
}

pub(crate) const REJECT: Keyed = Endpoint::post("/v1/admin/bank-files/{bank_file_id}/reject")
    .summary("Requests that a file is recorded as rejected by the bank.")
    .about("Its transfers then go into a superseding file, or are returned one by one.")
    .permission(Permission::BankFilesMark)
    .parameter(ID)
    .body::<BankFileEndBody>()
    .approvable()
    .when(Code::WrongState, "the file is not written or accepted")
    .when(Code::NotFound, "no such file")
    .keyed(Operation::BankFileReject);

pub(crate) async fn reject(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<BankFileId>,
    KeyedJson(key, body): KeyedJson<BankFileEndBody>,
) -> Result<Outcome, Problem> {
    change(&app, &who, (&REJECT, FileChange::Reject), (id, key, &body)).await
}

pub(crate) const WITHDRAW: Keyed = Endpoint::post("/v1/admin/bank-files/{bank_file_id}/withdraw")
    .summary("Requests that a file is recorded as taken back from the bank, or as never given to it.")
    .about("Its transfers then go into a superseding file, or are returned one by one.")
    .permission(Permission::BankFilesMark)
    .parameter(ID)
    .body::<BankFileEndBody>()
    .approvable()
    .when(Code::WrongState, "the file was debited, or is over")
    .when(Code::NotFound, "no such file")
    .keyed(Operation::BankFileWithdraw);

pub(crate) async fn withdraw(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<BankFileId>,
    KeyedJson(key, body): KeyedJson<BankFileEndBody>,
) -> Result<Outcome, Problem> {
    change(&app, &who, (&WITHDRAW, FileChange::Withdraw), (id, key, &body)).await
}

pub(crate) const REOPEN: Keyed = Endpoint::post("/v1/admin/bank-files/{bank_file_id}/reopen")
    .summary("Requests that the record of a file's acceptance is taken back.")
    .permission(Permission::BankFilesMark)
    .parameter(ID)
    .body::<BankFileEndBody>()
    .approvable()
    .when(Code::WrongState, "the file is not accepted")
    .when(Code::NotFound, "no such file")
    .keyed(Operation::BankFileReopen);

pub(crate) async fn reopen(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<BankFileId>,
    KeyedJson(key, body): KeyedJson<BankFileEndBody>,
) -> Result<Outcome, Problem> {
    change(&app, &who, (&REOPEN, FileChange::Reopen), (id, key, &body)).await
}

async fn change(
    app: &App,
    who: &Admin,
    (endpoint, change): (&Keyed, FileChange),
    (id, key, body): (BankFileId, request::RequestKey, &BankFileEndBody),
) -> Result<Outcome, Problem> {
    let note = request::memo("note", &body.note);
    let fields = Fields::new().with("note", note.as_sent());
    let (claim, admission) = endpoint.claim(app, who, key, &[&id], fields).await?;
    let place = keys::bank_file(who.tenant(), id);
    let plan = async |cx: Context| {
        let terms = app.terms_at(who.tenant(), cx.now).await?;
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&place)).await?;
        let file = BankFile::read(items.iter().flatten().next().ok_or(PlanError::Missing)?)?;
        let command = Command::BankFile(FileEnd { file: id, change, seen: file.version });
        app.request_approval((&claim, &who.member()), (command, Some(&note.text()?)), &terms, &items, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

/// The start of a file by a person.
struct Start<'a> {
    id: BankFileId,
    deadline: BankDeadline,
    days: &'a [BusinessDate],
}

impl Start<'_> {
    fn plan(
        &self,
        (who, from): (&Admin, &ledger_core::bank::Sender),
        source: Option<&BankFile>,
        cx: &Context,
    ) -> Result<Planned<BankFile>, PlanError> {
        let times = self.deadline.file_times(self.id.pay_on).map_err(|why| refused_day(why.into()))?;
        let start = FileStart {
            tenant: who.tenant(),
            id: self.id,
            from,
            days: self.days,
            source,
            by: Some(who.staff_id()),
            accept_by: times.accept_by,
        };
        Ok(bank_files::plan_start(&start, cx)?)
    }
}

/// The answer of a file that was begun.
fn begun(file: &BankFile) -> ledger_core::idempotency::Answer {
    accepted(GET.path(&[&file.id]), &BankFileView::from(file))
}

async fn read(app: &App, who: &Admin, id: BankFileId, claim: &Claim) -> Result<BankFile, PlanError> {
    let items = app.ledger().read_for(claim, &[keys::bank_file(who.tenant(), id)]).await?;
    Ok(BankFile::read(items.iter().flatten().next().ok_or(PlanError::Missing)?)?)
}

/// The first transfer of a day that no file has.
async fn first_booked(app: &App, tenant: &Tenant, day: BusinessDate) -> Result<Option<BankTransfer>, PlanError> {
    let mut after: Option<SettlementId> = None;
    loop {
        let query = reads::bank_transfers(tenant, day, after).limit(TRANSFERS_PAGE);
        let found = app.dynamo().query(&query).await.map_err(Problem::from)?;
        for item in &found {
            let transfer = BankTransfer::read(item)?;
            if transfer.file.is_none() && transfer.returned_at.is_none() {
                return Ok(Some(transfer));
            }
            after = Some(transfer.settlement);
        }
        if found.len() < TRANSFERS_PAGE {
            return Ok(None);
        }
    }
}

async fn next_id(app: &App, tenant: &Tenant, day: BusinessDate) -> Result<BankFileId, PlanError> {
    let id = app.next_bank_file(tenant, day).await?;
    Ok(id.ok_or(Failure::WrongState)?)
}

fn deadline(terms: &TenantTerms) -> BankDeadline {
    terms.settlement.as_ref().map(|terms| terms.deadline).unwrap_or_default()
}

fn window(deadline: &BankDeadline, cx: &Context) -> Result<PaymentWindow, PlanError> {
    Ok(PaymentWindow::of_bank(cx.now, deadline).map_err(|why| refused_day(why.into()))?)
}

fn refused_day(why: ledger_core::calendar::PaymentDayError) -> PlanRefusal {
    PlanRefusal::PaymentDay { field: "pay_on", why }
}

fn date(text: &str) -> Result<BusinessDate, Problem> {
    BusinessDate::parse(text).map_err(|_| Problem::invalid_field("pay_on", "is not a date"))
}
