//! `/v1/admin/terminals`: registers, shows and freezes terminals, and issues enrolment codes.

use crate::approvals;
use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::approvals::Command;
use ledger_core::customers::profile::Status;
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Claim, Fields};
use ledger_core::ids::{MerchantId, TerminalId, TerminalOwner};
use ledger_core::keys::Partition;
use ledger_core::operation::Operation;
use ledger_core::plan::{Context, PlanRefusal};
use ledger_core::terminals::{self, EnrolmentReceipt, TerminalReceipt, TerminalRecord};
use ledger_core::transaction::Planned;
use ledger_runtime::app::App;
use ledger_runtime::approvals::Requested;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError, created, ok, with_secret};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, Empty, KeyedJson, PathId, SentText, StatusBody};
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request to register a terminal.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TerminalOpenBody {
    /// The terminal's id; a new id is made if absent.
    terminal_id: Option<String>,
    /// `till`, which belongs to a merchant, or `counter`, which is the operator's own; `till` if absent. It never changes.
    #[schema(value_type = words::TerminalKind, required = false)]
    kind: Option<String>,
    /// The merchant that a till belongs to, for ever; a counter has none.
    merchant_id: Option<String>,
}

/// A terminal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TerminalView {
    /// The terminal's id.
    terminal_id: String,
    /// The merchant that the terminal belongs to.
    merchant_id: String,
    /// The shop of the merchant that it is assigned to; absent if it is to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    shop_id: Option<String>,
    /// `active`, `frozen` or `closed`.
    #[schema(value_type = words::TerminalStatus)]
    status: &'static str,
    /// The number of its enrolments; 0 before the first.
    epoch: u32,
    /// The time at which it was closed; absent if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<String>,
    /// The time of the registration.
    created_at: String,
}

/// A terminal that was registered or changed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TerminalChangeView {
    /// The terminal's id.
    terminal_id: String,
    /// The time of the change.
    updated_at: String,
}

/// A one-time enrolment code. A new code replaces the one before.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EnrolmentView {
    /// The terminal's id.
    terminal_id: String,
    /// The code to type into the terminal, which sends it with its public key.
    code: String,
    /// The time at which the code expires.
    expires_at: String,
}

/// A counter of the operator.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CounterView {
    /// The terminal's id.
    terminal_id: String,
    /// `active`, `frozen` or `closed`.
    #[schema(value_type = words::TerminalStatus)]
    status: &'static str,
    /// The number of its enrolments; 0 before the first.
    epoch: u32,
    /// The time at which it was closed; absent if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<String>,
    /// The time of the registration.
    created_at: String,
}

/// The kind of a terminal that is registered.
#[derive(Clone, Copy)]
enum Registered {
    Till(MerchantId),
    Counter,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/terminals")
    .summary("Registers a terminal: a till of a merchant, or a counter of the operator.")
    .about(
        "A counter takes cash onto cards and reverses that. It takes no payments and refunds none. Only a counter needs \
         approval.",
    )
    .permission(Permission::TerminalsManage)
    .body::<TerminalOpenBody>()
    .created::<TerminalChangeView>("Registered")
    .approvable()
    .problems(&[Code::AlreadyExists])
    .when(Code::WrongState, "the merchant is closed, or being closed")
    .when(Code::NotFound, "no such merchant")
    .keyed(Operation::TerminalOpen);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<TerminalOpenBody>,
) -> Result<Outcome, Problem> {
    let id = body.terminal_id.as_deref().map(|id| request::id("terminal_id", id, TerminalId::parse)).transpose()?;
    let registered = match (body.kind.as_deref(), &body.merchant_id) {
        (None | Some("till"), Some(merchant)) => {
            Registered::Till(request::id("merchant_id", merchant, MerchantId::parse)?)
        }
        (None | Some("till"), None) => return Err(Problem::invalid_field("merchant_id", "is missing")),
        (Some("counter"), None) => Registered::Counter,
        (Some("counter"), Some(_)) => return Err(Problem::invalid_field("merchant_id", "is not a field of a counter")),
        (Some(_), _) => return Err(Problem::invalid_field("kind", "must be till or counter")),
    };
    let fields = Fields::new().with_some("terminal_id", id);
    let fields = match registered {
        Registered::Till(merchant) => fields.with("merchant_id", merchant),
        Registered::Counter => fields.with("kind", "counter"),
    };
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], fields).await?;
    let plan = async |cx| plan_open((&app, &who, &claim), id, registered, &cx).await;
    let opened =
        |receipt: &TerminalReceipt| created(GET.path(&[&receipt.terminal]), &TerminalChangeView::from(receipt));
    let render = |requested: &Requested<TerminalReceipt>| requested.answer(&approvals::GET, opened);
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

/// Plans the registration of a till, or the request for that of a counter.
async fn plan_open(
    (app, who, claim): (&App, &Admin, &Claim),
    id: Option<TerminalId>,
    registered: Registered,
    cx: &Context,
) -> Result<Planned<Requested<TerminalReceipt>>, PlanError> {
    let (tenant, actor) = (who.tenant(), who.actor());
    let terms = app.terms(tenant).await?;
    match registered {
        Registered::Till(merchant) => match app.merchant(tenant, merchant).await {
            Ok(terms) if terms.closing => Err(PlanRefusal::Refused(Failure::WrongState).into()),
            // One that does not exist is refused by the transaction.
            Err(problem) if problem.code() != Code::NotFound.name() => Err(problem.into()),
            Ok(_) | Err(_) => Ok(Requested::executed(terminals::plan_open(tenant, id, merchant, actor, cx)?)),
        },
        Registered::Counter => {
            let command = Command::CounterOpen { terminal: id };
            let keys = command.keys(tenant, &terms);
            let items = if keys.is_empty() { Vec::new() } else { app.ledger().read_for(claim, &keys).await? };
            let stored = app.request_approval((claim, &who.member()), (command, None), &terms, &items, cx).await?;
            Ok(Requested::pending(stored))
        }
    }
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/terminals/{terminal_id}")
    .summary("Returns a till of a merchant.")
    .permission(Permission::TerminalsRead)
    .id("terminal_id", "The terminal's id.")
    .ok::<TerminalView>("The terminal")
    .when(Code::NotFound, "no such till");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<TerminalId>,
) -> Result<Json<TerminalView>, Problem> {
    let key = Partition::terminal(who.tenant(), id).profile();
    let item = app.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?;
    TerminalView::read(&item)?.map(Json).ok_or_else(Problem::not_found)
}

pub(crate) const GET_COUNTER: Endpoint = Endpoint::get("/v1/admin/counters/{terminal_id}")
    .summary("Returns a counter of the operator.")
    .permission(Permission::TerminalsRead)
    .id("terminal_id", "The terminal's id.")
    .ok::<CounterView>("The counter")
    .when(Code::NotFound, "no such counter");

pub(crate) async fn get_counter(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<TerminalId>,
) -> Result<Json<CounterView>, Problem> {
    let key = Partition::terminal(who.tenant(), id).profile();
    let item = app.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?;
    CounterView::read(&item)?.map(Json).ok_or_else(Problem::not_found)
}

pub(crate) const PATCH: Keyed = Endpoint::patch("/v1/admin/terminals/{terminal_id}")
    .summary("Freezes or unfreezes a terminal.")
    .about("Takes effect within a minute.")
    .permission(Permission::TerminalsManage)
    .id("terminal_id", "The terminal's id.")
    .body::<StatusBody>()
    .ok::<TerminalChangeView>("Changed")
    .when(Code::WrongState, "the terminal is closed")
    .when(Code::NotFound, "no such terminal")
    .asks_ties()
    .keyed(Operation::TerminalPatch);

pub(crate) async fn patch(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<TerminalId>,
    KeyedJson(key, body): KeyedJson<StatusBody>,
) -> Result<Outcome, Problem> {
    let status = request::word("status", &body.status, Status::parse, "active or frozen")?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields =
        Fields::new().with("status", status.name()).with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = PATCH.claim(&app, &who, key, &[&id], fields).await?;
    let profile = Partition::terminal(who.tenant(), id).profile();
    let plan = async |cx| {
        let reason = request::text_of(reason.as_ref())?;
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&profile)).await?;
        let record = TerminalRecord::read(items.iter().flatten().next().ok_or(PlanError::Missing)?)?;
        let planned = terminals::plan_status(who.tenant(), id, status, (who.actor(), reason.as_ref()), &cx)?;
        let of = (record.owner.merchant().map(Account::Merchant).into_iter().collect(), Permission::TerminalsManage);
        app.alone((&claim, &who.member()), of, planned).await
    };
    let outcome = app.perform(claim.clone(), admission, plan, |receipt| ok(&TerminalChangeView::from(receipt))).await;
    app.records().forget_terminal(who.tenant(), id);
    Ok(outcome)
}

pub(crate) const ENROLMENT: Keyed = Endpoint::post("/v1/admin/terminals/{terminal_id}/enrolment")
    .summary("Issues a one-time enrolment code, valid for 24 hours.")
    .about(
        "The first request is stored. After the approval the same staff member issues one code within 24 hours, by another \
         request.",
    )
    .permission(Permission::TerminalsManage)
    .id("terminal_id", "The terminal's id.")
    .created::<EnrolmentView>("Issued")
    .approvable()
    .when(Code::WrongState, "the terminal is closed")
    .when(Code::NotFound, "no such terminal")
    .keyed(Operation::EnrolmentCode);

pub(crate) async fn enrolment(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<TerminalId>,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let (claim, admission) = ENROLMENT.claim(&app, &who, key, &[&id], Fields::new()).await?;
    let plan = async |cx| plan_code(&app, &who, id, &claim, &cx).await;
    let issued = |receipt: &EnrolmentReceipt| {
        let view = EnrolmentView {
            terminal_id: id.to_string(),
            code: receipt.code.expose().to_owned(),
            expires_at: receipt.expires_at.to_string(),
        };
        with_secret(created(GET.path(&[&id]), &view))
    };
    let render = |requested: &Requested<EnrolmentReceipt>| requested.answer(&approvals::GET, issued);
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

/// Plans a code, or the request for one if the caller has no permit, which an approval gives.
async fn plan_code(
    app: &App,
    who: &Admin,
    id: TerminalId,
    claim: &Claim,
    cx: &Context,
) -> Result<Planned<Requested<EnrolmentReceipt>>, PlanError> {
    let terms = app.terms(who.tenant()).await?;
    let profile = Partition::terminal(who.tenant(), id).profile();
    let items = app.ledger().read_for(claim, &[profile]).await?;
    let record = TerminalRecord::read(items.iter().flatten().next().ok_or(PlanError::Missing)?)?;
    if !record.permits_code(who.staff_id(), cx.now) {
        let command = Command::EnrolmentCode { terminal: id, owner: record.owner };
        let stored = app.request_approval((claim, &who.member()), (command, None), &terms, &[], cx).await?;
        return Ok(Requested::pending(stored));
    }
    let by = (who.staff_id(), who.actor());
    let planned = terminals::plan_code(who.tenant(), id, by, cx)?;
    let of = (record.owner.merchant().map(Account::Merchant).into_iter().collect(), Permission::TerminalsManage);
    Ok(Requested::executed(app.alone((claim, &who.member()), of, planned).await?))
}

impl TerminalView {
    /// `None` for a counter.
    fn read(item: &Item) -> Result<Option<Self>, ItemError> {
        let record = TerminalRecord::read(item)?;
        Ok(record.owner.merchant().map(|merchant| Self {
            terminal_id: record.id.to_string(),
            merchant_id: merchant.to_string(),
            shop_id: record.shop.map(|shop| shop.to_string()),
            status: record.state.name(),
            epoch: record.epoch,
            closed_at: record.closed_at.map(|at| at.to_string()),
            created_at: record.created_at.to_string(),
        }))
    }
}

impl CounterView {
    /// `None` for a till.
    fn read(item: &Item) -> Result<Option<Self>, ItemError> {
        let record = TerminalRecord::read(item)?;
        Ok(match record.owner {
            TerminalOwner::Merchant(_) => None,
            TerminalOwner::Operator => Some(Self {
                terminal_id: record.id.to_string(),
                status: record.state.name(),
                epoch: record.epoch,
                closed_at: record.closed_at.map(|at| at.to_string()),
                created_at: record.created_at.to_string(),
            }),
        })
    }
}

impl From<&TerminalReceipt> for TerminalChangeView {
    fn from(receipt: &TerminalReceipt) -> Self {
        Self { terminal_id: receipt.terminal.to_string(), updated_at: receipt.at.to_string() }
    }
}
