//! `GET /v1/admin/audit`: who did what, when and why, and how far the audit trail is sealed.

use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::{AttributeKind, Attributes, Item, ItemError, Value};
use ledger_core::keys::attr;
use ledger_core::memo;
use ledger_core::sealing::lanes::{Binding, BindingLink, LaneLink};
use ledger_core::sealing::segment_of;
use ledger_core::time::UtcDay;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::Params;
use ledger_runtime::trail::Resource;
use ledger_runtime::views::{Page, texts, words};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Attributes that are not shown as details: those with a field of their own, technical ones, and personal ones. Nor are
/// those outside the seal.
const NO_DETAIL: [&str; 14] = [
    "actor",
    "answers",
    "attempt",
    "created_at",
    "idempotency_key",
    "operation",
    "postings",
    "principal",
    "states",
    "transaction_id",
    "type",
    "uuid",
    "what",
    "why",
];

/// A record of the audit trail: an act of the operator's staff, a journal entry, or a step of an operation that calls
/// an external service.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditView {
    /// `act`, `entry` or `step`.
    #[schema(value_type = words::AuditKind)]
    kind: &'static str,
    /// The act's id; absent unless the record is an act.
    #[serde(skip_serializing_if = "Option::is_none")]
    audit_id: Option<String>,
    /// The journal entry's id; absent unless the record is an entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<String>,
    /// The actor, for example `staff:<id>`, `customer:<id>` or `system`.
    actor: String,
    /// The principal of the operation; absent for an act.
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<String>,
    /// The operation. For a step, the operation and the step, for example `topup.claimed`.
    action: String,
    /// What the act was done to, for example `customer:<id>`; absent unless the record is an act.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// The reason of an act or a step; absent if there is none, or if it was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The record's other attributes, as text by name.
    details: BTreeMap<String, String>,
    /// The number of the call that follows a step, counted for each lease holder; absent if none follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<String>,
    /// The answers of external services that a step recorded, each with its `outcome`; absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<BTreeMap<String, String>>,
    /// The states that a step wrote, by kind of record; absent if there is none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    states: BTreeMap<String, String>,
    /// The time of the act, entry or step.
    created_at: String,
    /// The segment of the audit chain that seals the record, by lane and number, for example `L0/12`; absent until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
}

/// How far the audit trail is sealed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SealsView {
    /// The number of segments of all lanes.
    segments: i64,
    /// The last binding; absent if nothing is sealed.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<HeadView>,
    /// The last binding of each day, newest day first.
    days: Vec<HeadView>,
    /// The last segment of each lane, of which the next binding covers those that `last` does not; absent if nothing is
    /// sealed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lanes: Vec<LaneView>,
}

/// A binding: the heads of all lanes of the audit chain, in one hash.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeadView {
    /// The UTC day of its writing.
    day: String,
    /// Its number, from 1 on through all days.
    number: u32,
    /// Its hash, 64 hexadecimal digits. It covers everything that was sealed before: keep a copy outside this system.
    hash: String,
    /// The number of records that the bindings of its day have bound; absent in `last`.
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<u32>,
}

/// The last segment of a lane of the audit chain.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LaneView {
    /// The lane, from 0.
    lane: u32,
    /// The segment's number in the lane, from 1.
    number: u64,
    /// Its hash, 64 hexadecimal digits. It covers every earlier segment of the lane.
    hash: String,
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/audit")
    .summary(
        "Lists the audit trail: acts of the staff, newest first; or, with `resource`, the entries and steps of one \
         resource, oldest first.",
    )
    .permission(Permission::AuditRead)
    .pages_of::<AuditView>()
    .parameter(Parameter::in_query("day", "Acts of this UTC day and earlier; not allowed with `resource`.", Kind::Day))
    .parameter(Parameter::in_query(
        "resource",
        "The resource: `payment:<id>`, `topup:<id>` or `settlement:<merchant>/<id>`.",
        Kind::Form("^(payment|topup|settlement):[0-9a-f/-]{36,73}$", "topup:019aa7fe-3c00-7000-8000-000000000001"),
    ))
    .when(Code::NotFound, "no such resource");

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<AuditView>>, Problem> {
    let (resource, until) = (params.take("resource")?, day(&mut params)?);
    if let Some(resource) = resource {
        params.finish()?;
        if until.is_some() {
            return Err(Problem::invalid_field("day", "does not go with a resource"));
        }
        let items = app.trail(who.tenant(), Resource::parse(&resource)?).await?;
        let items = items.iter().map(AuditView::of_resource).collect::<Result<_, ItemError>>()?;
        return Ok(Json(Page { items, next_cursor: None }));
    }
    let page = params.page()?;
    params.finish()?;
    let page = page.not_after(until);
    let (items, next_cursor) = app.audit_records(who.tenant(), page).await?;
    let items = items.iter().map(AuditView::of_act).collect::<Result<_, ItemError>>()?;
    Ok(Json(Page { items, next_cursor }))
}

pub(crate) const SEALS: Endpoint = Endpoint::get("/v1/admin/audit/seals")
    .summary("Returns how far the audit trail is sealed, day by day.")
    .permission(Permission::AuditRead)
    .parameter(Parameter::in_query(
        "day",
        "Returns this UTC day only; the days of the last 100 bindings if absent.",
        Kind::Day,
    ))
    .ok::<SealsView>("The last binding of the chain and of its days");

pub(crate) async fn seals(State(app): State<App>, who: Admin, mut params: Params) -> Result<Json<SealsView>, Problem> {
    let of = day(&mut params)?;
    params.finish()?;
    let seals = app.seals(who.tenant(), of).await?;
    Ok(Json(SealsView {
        segments: i64::try_from(seals.segments).unwrap_or(i64::MAX),
        last: seals.last.map(HeadView::of),
        days: seals.days.into_iter().map(HeadView::of_day).collect(),
        lanes: seals.lanes.into_iter().map(LaneView::of).collect(),
    }))
}

fn day(params: &mut Params) -> Result<Option<UtcDay>, Problem> {
    let day = params.take("day")?;
    day.map(|day| UtcDay::parse(&day).map_err(|_| Problem::invalid_field("day", "must be a date: 2026-11-21")))
        .transpose()
}

impl HeadView {
    fn of(link: BindingLink) -> Self {
        Self { day: link.day.to_string(), number: link.number, hash: link.hash, records: None }
    }

    fn of_day(last: Binding) -> Self {
        let records = u32::try_from(last.day_records).unwrap_or(u32::MAX);
        Self { records: Some(records), ..Self::of(last.link) }
    }
}

impl LaneView {
    fn of(link: LaneLink) -> Self {
        Self { lane: link.lane, number: link.number, hash: link.hash.to_string() }
    }
}

impl AuditView {
    fn of_act(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            kind: "act",
            audit_id: Some(item.string("audit_id")?),
            transaction_id: None,
            actor: item.string("actor")?,
            principal: None,
            action: item.string("action")?,
            subject: Some(item.string("subject")?),
            reason: memo::text_of(item)?,
            details: item.opt_map("details")?.map(texts).unwrap_or_default(),
            attempt: None,
            answers: Vec::new(),
            states: BTreeMap::new(),
            created_at: item.string(attr::CREATED_AT)?,
            sealed: segment_of(item)?.map(str::to_owned),
        })
    }

    fn of_resource(item: &Item) -> Result<Self, ItemError> {
        let (operation, what) = (item.text("operation")?, item.opt_string("what")?);
        let mut details = texts(item);
        details.retain(|name, _| !name.starts_with(attr::OUTSIDE_SEAL) && !NO_DETAIL.contains(&name.as_str()));
        let answers = item.list("answers")?.iter().map(|answer| match answer {
            Value::M(map) => Ok(texts(map)),
            Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) => {
                Err(ItemError::wrong_type("answers", AttributeKind::Map))
            }
        });
        Ok(Self {
            kind: if what.is_some() { "step" } else { "entry" },
            audit_id: None,
            transaction_id: item.opt_string("transaction_id")?,
            actor: item.string("actor")?,
            principal: item.opt_string("principal")?,
            action: what.map_or_else(|| operation.to_owned(), |what| format!("{operation}.{what}")),
            subject: None,
            reason: item.opt_string("why")?,
            details,
            attempt: item.opt_number("attempt")?.map(str::to_owned),
            answers: answers.collect::<Result<_, _>>()?,
            states: item.opt_map("states")?.map(texts).unwrap_or_default(),
            created_at: item.string(attr::CREATED_AT)?,
            sealed: segment_of(item)?.map(str::to_owned),
        })
    }
}
