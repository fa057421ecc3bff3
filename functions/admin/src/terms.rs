//! `/v1/admin/terms`: the versions of the tenant's terms. A change holds from a stated time on; nothing is retroactive.

use crate::approvals;
use axum::Json;
use axum::extract::State;
use ledger_core::approvals::{Approval, Command};
use ledger_core::dynamo::Item;
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Claim, Fields};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::reads;
use ledger_core::tenants::TermsRecord;
use ledger_core::terms::{
    NextTerms, TERMS_LEAD, TenantTerms, TermsChanges, TermsFieldError, TermsSchedule, TermsVersion, is_ahead,
    percent_of,
};
use ledger_core::time::Timestamp;
use ledger_core::transaction::Planned;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError, Refusal};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, SentText};
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The most fields that one change may have.
const FIELDS_MAX: usize = 50;
/// The most versions that are shown.
const VERSIONS_MAX: usize = 100;

/// The versions of the tenant's terms.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TermsView {
    /// The last 100 versions, the latest first. A tenant whose terms were never changed has version 1 alone.
    versions: Vec<TermsVersionView>,
    /// The earliest time from which a change that is made now can hold.
    earliest_from: String,
}

/// A version of the tenant's terms.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TermsVersionView {
    /// Its number. Journal entries that were planned under it have the same.
    version: u32,
    /// `in_force` at present, `scheduled` until its time, `past` after that of a later one, or `cancelled`.
    #[schema(value_type = words::TermsStatus)]
    status: &'static str,
    /// The time from which it holds, or would have; absent for version 1, which holds from the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// The terms that are set, by field.
    terms: BTreeMap<String, String>,
    /// Those of the terms that are shares of money, in per cent, by field.
    percents: BTreeMap<String, String>,
    /// The staff member who requested it; absent for version 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_by: Option<String>,
    /// The staff member who approved it; absent for version 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    approved_by: Option<String>,
    /// The reason; absent if none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The time at which it was stored; absent for the only version of a tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    /// The time at which it was cancelled; absent unless it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    cancelled_at: Option<String>,
    /// The staff member who requested the cancellation; absent unless it was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    cancelled_by: Option<String>,
}

/// A change of the tenant's terms. Fields that are not named keep their value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"changes": {"points_rate": "0.02", "assets.POINT.cap": null}, "from": "2026-12-01T00:00:00Z", "reason": "winter campaign"}))]
pub(crate) struct TermsChangeBody {
    /// By field: the new value as text, or null to clear it. Fields: `points_rate`, `card.cap`, `card.bonus_rate`,
    /// `card.pin_above`, `display_name`, `spent_points`, `co2.kg_per_yen`, `co2.source`, `co2.version`, `topup.points_rate`,
    /// `topup.abandoned_after_s`, `settlement.fee_rate`, `settlement.tax_rate`, `settlement.schedule`,
    /// `settlement.bank_lead_days`, `settlement.bank_cut_off`, `settlement.bank_file_cut`, `settlement.bank_ahead_days`,
    /// `settlement.registration_number`, `refund_ceiling`, `cash_ceiling`, `cash_bonus`, `hold_hours`, `requests_per_second`, `assets.<asset>.cap`, `.transferable` and `.spendable`, of a regional currency also `.scale`, `.budgeted` and
    /// `.state`, `grant_limits.<asset>`, `limits.suspend` and `limits.<holder>.<asset>.<rule>`.
    changes: BTreeMap<String, Option<String>>,
    /// The time from which the changed terms hold, at least ten minutes ahead.
    from: String,
    /// The reason for the change; at most 140 characters, no card number.
    reason: Option<String>,
}

/// The cancellation of a scheduled version.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"version": 2, "reason": "the campaign begins later"}))]
pub(crate) struct TermsCancelBody {
    /// The number of the version.
    version: u32,
    /// The reason for the cancellation; at most 140 characters, no card number.
    reason: Option<String>,
}

/// A field that differs from the version before it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TermsFieldView {
    /// The field.
    field: String,
    /// Its value before; absent if it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<String>,
    /// Its value after; absent if it is cleared.
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<String>,
    /// The value before in per cent; absent unless it is a share of money.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_percent: Option<String>,
    /// The value after in per cent; absent unless it is a share of money.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_percent: Option<String>,
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/terms")
    .summary("Returns the tenant's terms: in force, past and scheduled.")
    .permission(Permission::TermsRead)
    .ok::<TermsView>("The versions");

pub(crate) async fn get(State(app): State<App>, who: Admin) -> Result<Json<TermsView>, Problem> {
    let now = app.now();
    let config = app.dynamo().get(&keys::config(who.tenant())).await?.ok_or_else(Problem::tenant_unknown)?;
    let schedule = TermsSchedule::read(&config)?;
    let stored = app.dynamo().query(&reads::terms(who.tenant()).limit(VERSIONS_MAX)).await?;
    let read = |item: &Item| Ok(TermsVersionView::of(&TermsRecord::read(item, &config)?, &schedule, now));
    let mut versions = stored.iter().map(read).collect::<Result<Vec<_>, Problem>>()?;
    if versions.is_empty() {
        versions.push(TermsVersionView::only(&schedule, now));
    }
    Ok(Json(TermsView { versions, earliest_from: now.plus(TERMS_LEAD).to_string() }))
}

pub(crate) const CHANGE: Keyed = Endpoint::post("/v1/admin/terms/changes")
    .summary("Changes the tenant's terms from a stated time on.")
    .about(
        "The change is checked whole, and a refusal names each invalid field. It is a version that holds from `from` on: \
         what is planned before that is planned under the version before. One version is scheduled at most.",
    )
    .permission(Permission::TermsChange)
    .body::<TermsChangeBody>()
    .approvable()
    .when(Code::WrongState, "a version is scheduled or has just begun, or the tenant migrates from a legacy model")
    .keyed(Operation::TermsChange);

pub(crate) async fn change(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<TermsChangeBody>,
) -> Result<Outcome, Problem> {
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields = Fields::new()
        .with("changes", sent_changes(&body.changes))
        .with("from", &body.from)
        .with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = CHANGE.claim(&app, &who, key, &[], fields).await?;
    let plan = async |cx| plan_change(&app, &who, (&body, reason.as_ref()), &claim, &cx).await;
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

async fn plan_change(
    app: &App,
    who: &Admin,
    (body, reason): (&TermsChangeBody, Option<&SentText>),
    claim: &Claim,
    cx: &Context,
) -> Result<Planned<Approval>, PlanError> {
    let reason = request::text_of(reason)?;
    let (config, schedule) = config_of(app, who, claim).await?;
    let present = schedule.at(cx.now);
    let from = Timestamp::parse(&body.from).ok();
    let changes = TermsChanges::plan(present, &body.changes);
    let mut errors = changes.as_ref().err().cloned().unwrap_or_default();
    if body.changes.len() > FIELDS_MAX {
        errors = vec![wrong("changes", format!("must have at most {FIELDS_MAX} fields"))];
    }
    match from {
        None => errors.push(wrong("from", "must be a time such as 2026-12-01T00:00:00Z")),
        Some(from) if !is_ahead(from, cx.now) => errors.push(wrong(
            "from",
            format!("must be {} or later: every function must have read the change by then", cx.now.plus(TERMS_LEAD)),
        )),
        Some(_) => {}
    }
    let (Ok(changes), Some(from), true) = (changes, from, errors.is_empty()) else {
        let errors = errors.into_iter().map(|error| (error.field, error.why));
        return Err(Problem::invalid_fields(errors.collect()).into());
    };
    if let Some(next) = schedule.unsettled(cx.now) {
        return Err(unsettled(next, cx.now).into());
    }
    let command = Command::TermsChange { changes, from, seen: schedule.last() };
    app.request_approval((claim, &who.member()), (command, reason.as_ref()), present, &[Some(config)], cx).await
}

pub(crate) const CANCEL: Keyed = Endpoint::post("/v1/admin/terms/cancellation")
    .summary("Cancels the scheduled version of the tenant's terms.")
    .about("Until ten minutes before its time. Its number is not given again.")
    .permission(Permission::TermsChange)
    .body::<TermsCancelBody>()
    .approvable()
    .when(Code::WrongState, "the version is not scheduled, or begins within ten minutes")
    .keyed(Operation::TermsCancel);

pub(crate) async fn cancel(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<TermsCancelBody>,
) -> Result<Outcome, Problem> {
    let version = TermsVersion::new(body.version);
    let version = version.ok_or_else(|| Problem::invalid_field("version", "must be a whole number from 1"))?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields = Fields::new().with("version", version).with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = CANCEL.claim(&app, &who, key, &[], fields).await?;
    let plan = async |cx| plan_cancel(&app, &who, (version, reason.as_ref()), &claim, &cx).await;
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

async fn plan_cancel(
    app: &App,
    who: &Admin,
    (version, reason): (TermsVersion, Option<&SentText>),
    claim: &Claim,
    cx: &Context,
) -> Result<Planned<Approval>, PlanError> {
    let reason = request::text_of(reason)?;
    let (config, schedule) = config_of(app, who, claim).await?;
    let next = schedule.scheduled(cx.now).filter(|next| next.terms.version == version);
    let next = next.ok_or_else(|| PlanError::Refused(Refusal::new(Failure::WrongState)))?;
    if !next.can_be_cancelled(cx.now) {
        let why =
            format!("Version {version} begins at {}: it can no longer be cancelled. Schedule another one.", next.from);
        return Err(Problem::not_yet(why).into());
    }
    let present = schedule.at(cx.now);
    let of = (Command::TermsCancel { version }, reason.as_ref());
    app.request_approval((claim, &who.member()), of, present, &[Some(config)], cx).await
}

/// What a key's fingerprint has of the changes.
pub(crate) fn sent_changes(changes: &BTreeMap<String, Option<String>>) -> String {
    let sent = changes.iter().map(|(field, to)| match to {
        Some(to) => format!("{field}={to}"),
        None => field.clone(),
    });
    sent.collect::<Vec<_>>().join("\n")
}

pub(crate) async fn config_of(app: &App, who: &Admin, claim: &Claim) -> Result<(Item, TermsSchedule), PlanError> {
    let items = app.ledger().read_for(claim, &[keys::config(who.tenant())]).await?;
    let config = items.into_iter().flatten().next().ok_or(PlanError::Missing)?;
    let schedule = TermsSchedule::read(&config)?;
    Ok((config, schedule))
}

fn unsettled(next: &NextTerms, now: Timestamp) -> Problem {
    let version = next.terms.version;
    Problem::not_yet(if now < next.from {
        format!("Version {version} is scheduled for {}: cancel it first, or wait until it has begun.", next.from)
    } else {
        format!("Version {version} has just begun: repeat the request after {}.", next.from.plus(TERMS_LEAD))
    })
}

fn wrong(field: &str, why: impl Into<String>) -> TermsFieldError {
    TermsFieldError { field: field.to_owned(), why: why.into() }
}

/// The shares of money in a tenant's terms, in per cent, by field.
fn percents(terms: &TenantTerms) -> BTreeMap<String, String> {
    let percent = |(field, text): (String, String)| percent_of(&field, &text).map(|percent| (field, percent));
    terms.fields().into_iter().filter_map(percent).collect()
}

/// What the changes look like: field, value before and value after of each.
pub(crate) fn field_views(changes: &[(String, Option<String>, Option<String>)]) -> Vec<TermsFieldView> {
    let view = |(field, old, new): &(String, Option<String>, Option<String>)| TermsFieldView {
        field: field.clone(),
        old_percent: old.as_deref().and_then(|text| percent_of(field, text)),
        new_percent: new.as_deref().and_then(|text| percent_of(field, text)),
        old: old.clone(),
        new: new.clone(),
    };
    changes.iter().map(view).collect()
}

impl TermsVersionView {
    fn of(record: &TermsRecord, schedule: &TermsSchedule, now: Timestamp) -> Self {
        let status = if record.cancelled_at.is_some() {
            "cancelled"
        } else if record.version == schedule.at(now).version {
            "in_force"
        } else if record.version > schedule.at(now).version {
            "scheduled"
        } else {
            "past"
        };
        Self {
            version: record.version.number(),
            status,
            from: record.from.map(|from| from.to_string()),
            percents: percents(&record.terms),
            terms: record.terms.fields(),
            requested_by: record.requested_by.map(|id| id.to_string()),
            approved_by: record.approved_by.map(|id| id.to_string()),
            reason: record.reason.as_ref().map(|reason| reason.expose().to_owned()),
            created_at: Some(record.created_at.to_string()),
            cancelled_at: record.cancelled_at.map(|at| at.to_string()),
            cancelled_by: record.cancelled_by.map(|id| id.to_string()),
        }
    }

    /// The only version of a tenant whose terms were never changed.
    fn only(schedule: &TermsSchedule, now: Timestamp) -> Self {
        Self {
            version: schedule.at(now).version.number(),
            status: "in_force",
            from: None,
            percents: percents(schedule.at(now)),
            terms: schedule.at(now).fields(),
            requested_by: None,
            approved_by: None,
            reason: None,
            created_at: None,
            cancelled_at: None,
            cancelled_by: None,
        }
    }
}
