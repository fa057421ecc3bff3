//! `GET /v1/admin/audit`: who did what, when and why, and how far the audit trail is sealed.

use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::{AttributeKind, Attributes, Item, ItemError, Value};
use ledger_core::keys::attr;
use ledger_core::sealing::{Link, SealedDay, segment_of};
use ledger_core::time::UtcDay;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::Params;
use ledger_runtime::trail::Resource;
use ledger_runtime::views::{Page, words};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Attributes that are not shown as details: those with a field of their own, technical ones, and personal ones.
const NO_DETAIL: [&str; 18] = [
    "actor",
    "attempt",
    "created_at",
    "due_pk",
    "due_sk",
    "heard",
    "idempotency_key",
    "memo",
    "operation",
    "postings",
    "principal",
    "sealed",
    "states",
    "transaction_id",
    "type",
    "uuid",
    "what",
    "why",
];

/// A record of the audit trail: an act of the operator's staff, a journal entry, or a step of what went outside.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditView {
    /// `act`, `entry` or `step`.
    #[schema(value_type = words::AuditKind)]
    kind: &'static str,
    /// The id of an act.
    #[serde(skip_serializing_if = "Option::is_none")]
    audit_id: Option<String>,
    /// The id of an entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<String>,
    /// Who.
    actor: String,
    /// CustomerRef operation it is, if it is no act of the staff.
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<String>,
    /// What: the operation. Of a step, what was done for it: `topup.claimed`.
    action: String,
    /// To whom or what.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// How much, from what to what, or which.
    details: BTreeMap<String, String>,
    /// Of a step: the how many-th sending of its holder comes after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<String>,
    /// Of a step: what was heard from outside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    heard: Vec<BTreeMap<String, String>>,
    /// Of a step: what became of which record.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    states: BTreeMap<String, String>,
    /// When.
    created_at: String,
    /// The segment that it is sealed in: `2026-11-21/3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
}

/// How far the audit trail is sealed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SealsView {
    /// How many segments the chain has.
    segments: i64,
    /// The last of them, whatever its day.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<HeadView>,
    /// Days, newest first.
    days: Vec<HeadView>,
}

/// A segment of the chain.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeadView {
    /// The day of its records, in UTC.
    day: String,
    /// Its number: so many segments this day has.
    number: u32,
    /// Its hash, which covers it and every segment that was written before it. Note it down elsewhere.
    hash: String,
    /// How many records the segments of the day seal.
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<u32>,
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/audit")
    .summary(
        "The audit trail: acts of the staff, newest first; or everything that was done for one resource, in \
         order.",
    )
    .permission(Permission::AuditRead)
    .pages_of::<AuditView>()
    .parameter(Parameter::in_query("day", "Acts of this day in UTC, and those before.", Kind::Day))
    .parameter(Parameter::in_query(
        "resource",
        "`payment:<id>`, `topup:<id>` or `settlement:<merchant>/<id>`: its entries and steps, in order.",
        Kind::Form("^(payment|topup|settlement):[0-9a-f/-]{36,73}$", "topup:019aa7fe-3c00-7000-8000-000000000001"),
    ))
    .when(Code::NotFound, "there is no such resource");

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
    .summary("How far the audit trail is sealed, day by day.")
    .permission(Permission::AuditRead)
    .parameter(Parameter::in_query("day", "This day in UTC only; else the last hundred.", Kind::Day))
    .ok::<SealsView>("The heads of the chain");

pub(crate) async fn seals(State(app): State<App>, who: Admin, mut params: Params) -> Result<Json<SealsView>, Problem> {
    let of = day(&mut params)?;
    params.finish()?;
    let seals = app.seals(who.tenant(), of).await?;
    Ok(Json(SealsView {
        segments: seals.chain.as_ref().map_or(0, |chain| chain.segments),
        last: seals.chain.and_then(|chain| chain.last).map(HeadView::of),
        days: seals.days.into_iter().map(HeadView::of_day).collect(),
    }))
}

fn day(params: &mut Params) -> Result<Option<UtcDay>, Problem> {
    let day = params.take("day")?;
    day.map(|day| UtcDay::parse(&day).map_err(|_| Problem::invalid_field("day", "must be a date: 2026-11-21")))
        .transpose()
}

impl HeadView {
    fn of(link: Link) -> Self {
        Self { day: link.day.to_string(), number: link.number, hash: link.hash, records: None }
    }

    fn of_day(day: SealedDay) -> Self {
        Self { records: Some(day.records), ..Self::of(day.last) }
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
            reason: item.opt_string("reason")?,
            details: item.opt_map("details")?.map(texts).unwrap_or_default(),
            attempt: None,
            heard: Vec::new(),
            states: BTreeMap::new(),
            created_at: item.string(attr::CREATED_AT)?,
            sealed: segment_of(item)?.map(str::to_owned),
        })
    }

    fn of_resource(item: &Item) -> Result<Self, ItemError> {
        let (operation, what) = (item.text("operation")?, item.opt_string("what")?);
        let mut details = texts(item);
        details.retain(|name, _| !NO_DETAIL.contains(&name.as_str()));
        let heard = item.list("heard")?.iter().map(|heard| match heard {
            Value::M(map) => Ok(texts(map)),
            Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) => {
                Err(ItemError::wrong_type("heard", AttributeKind::Map))
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
            reason: item.opt_string("why")?.or(item.opt_string("reason")?),
            details,
            attempt: item.opt_number("attempt")?.map(str::to_owned),
            heard: heard.collect::<Result<_, _>>()?,
            states: item.opt_map("states")?.map(texts).unwrap_or_default(),
            created_at: item.string(attr::CREATED_AT)?,
            sealed: segment_of(item)?.map(str::to_owned),
        })
    }
}

/// The text and number attributes of a map.
fn texts(map: &Item) -> BTreeMap<String, String> {
    let text = |(name, value): (&String, &Value)| match value {
        Value::S(text) | Value::N(text) => Some((name.clone(), text.clone())),
        Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
    };
    map.iter().filter_map(text).collect()
}
