//! `/v1/admin/attention`: what needs review. These are parked operations, and events of Stripe that contradict our
//! records.

use axum::Json;
use axum::extract::State;
use ledger_core::idempotency::{Fields, Flight, Parked};
use ledger_core::ids::parse_uuid;
use ledger_core::operation::Operation;
use ledger_core::ops::topup::attention::{self, Decider, KeptEvent};
use ledger_core::psp::EventId;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter, Permission};
use ledger_runtime::execute::{Outcome, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathOf};
use ledger_runtime::topups::{self, Resolution, Resolved};
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What waits for a person, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AttentionView {
    /// Operations that nobody tries again.
    operations: Vec<ParkedView>,
    /// Events that had no effect.
    events: Vec<KeptEventView>,
}

/// An operation that was parked.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ParkedView {
    /// What it makes: a top-up or a refund.
    resource_id: String,
    /// `topup` or `topup_refund`.
    #[schema(value_type = words::ProviderOperation)]
    operation: String,
    topup_id: String,
    /// `attempts`: refused too often; `not_found`: too old to be sent again; `contradiction`.
    #[schema(value_type = words::ParkedReason)]
    why: &'static str,
    /// How often Stripe has refused.
    attempts: u32,
    claimed_at: String,
    parked_at: String,
}

/// An event that was kept.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeptEventView {
    event_id: String,
    /// Its type.
    kind: String,
    /// `no_record`, `amount`, `object`, `livemode`, `state`.
    why: String,
    /// Stripe's object, to look it up with.
    #[serde(skip_serializing_if = "Option::is_none")]
    object_id: Option<String>,
    received_at: String,
}

/// What is to become of a parked operation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"action": "retry", "reason": "Stripe was down"}))]
pub(crate) struct ResolveBody {
    /// `retry`, or `give_up`: it ends as refused and what it reserved is given back.
    #[schema(value_type = words::ResolveAction)]
    action: String,
    /// Why; at most 140 characters.
    reason: String,
}

/// What became of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ResolvedView {
    resource_id: String,
    #[schema(value_type = words::ProviderOperation)]
    operation: String,
    /// `retrying` or `given_up`.
    #[schema(value_type = words::ResolvedStatus)]
    status: &'static str,
    resolved_at: String,
}

/// Why an event needs nothing more.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "it belongs to a test"}))]
pub(crate) struct DismissBody {
    /// Why; at most 140 characters.
    reason: String,
}

/// An event that has been dismissed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DismissedView {
    event_id: String,
    dismissed_at: String,
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/attention")
    .summary("What waits for a person.")
    .permission(Permission::AttentionRead)
    .ok::<AttentionView>("Oldest first");

pub(crate) async fn list(State(app): State<App>, who: Admin) -> Result<Json<AttentionView>, Problem> {
    let (flights, events) =
        topups::needs_review(app.dynamo(), who.tenant(), app.terms(who.tenant()).await?.due_shards).await?;
    let operations = flights.iter().map(ParkedView::from).collect();
    let events = events.iter().map(KeptEventView::from).collect();
    Ok(Json(AttentionView { operations, events }))
}

pub(crate) const RESOLVE: Keyed = Endpoint::post("/v1/admin/attention/operations/{resource_id}/resolve")
    .summary("Decides on a parked operation.")
    .about(
        "Stripe is asked first: if it has the effect after all, the books follow it, and the answer is \
         `wrong_state`.",
    )
    .permission(Permission::AttentionResolve)
    .id("resource_id", "The top-up or refund.")
    .body::<ResolveBody>()
    .ok::<ResolvedView>("Decided")
    .when(Code::Unavailable, "Stripe does not say yet: try again with the same key")
    .problems(&[Code::WrongState])
    .when(Code::NotFound, "nothing is parked under this id")
    .keyed(Operation::ParkedResolve);

pub(crate) async fn resolve(
    State(app): State<App>,
    who: Admin,
    PathOf(resource): PathOf<String>,
    KeyedJson(key, body): KeyedJson<ResolveBody>,
) -> Result<Outcome, Problem> {
    let resource = parse_uuid(&resource).map_err(|_| Problem::not_found())?;
    let resolution = match body.action.as_str() {
        "retry" => Resolution::Retry,
        "give_up" => Resolution::GiveUp,
        _ => return Err(Problem::invalid_field("action", "must be retry or give_up")),
    };
    let reason = request::reason("reason", &body.reason)?;
    let fields = Fields::new().with("action", &body.action).with("reason", reason.expose());
    let (claim, admission) = RESOLVE.claim(&app, &who, key, &[&resource], fields).await?;
    let decider = Decider { actor: who.actor(), reason: &reason };
    let plan = async |cx| {
        let (psp_executor, terms) = (app.psp_executor().await?, app.terms(who.tenant()).await?);
        psp_executor.resolve_parked(&claim, (resource, terms.due_shards), resolution, &decider, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, |resolved| ok(&ResolvedView::from(resolved))).await)
}

pub(crate) const DISMISS: Keyed = Endpoint::post("/v1/admin/attention/events/{event_id}/dismiss")
    .summary("Takes a kept event from the list: a person has looked at it.")
    .permission(Permission::AttentionResolve)
    .parameter(Parameter::in_path(
        "event_id",
        "The event of Stripe.",
        Kind::Form("^[A-Za-z0-9_]{1,255}$", "evt_1QYxZ2LkdIwHu7ix"),
    ))
    .body::<DismissBody>()
    .ok::<DismissedView>("Dismissed")
    .problems(&[Code::WrongState])
    .when(Code::NotFound, "no such event")
    .keyed(Operation::EventDismiss);

pub(crate) async fn dismiss(
    State(app): State<App>,
    who: Admin,
    PathOf(event): PathOf<String>,
    KeyedJson(key, body): KeyedJson<DismissBody>,
) -> Result<Outcome, Problem> {
    let event = EventId::parse(&event).ok_or_else(Problem::not_found)?;
    let reason = request::reason("reason", &body.reason)?;
    let fields = Fields::new().with("reason", reason.expose());
    let (claim, admission) = DISMISS.claim(&app, &who, key, &[&event], fields).await?;
    let decider = Decider { actor: who.actor(), reason: &reason };
    let plan = async |cx| Ok(attention::dismiss(who.tenant(), &event, &decider, &cx)?);
    let render = |at: &ledger_core::time::Timestamp| {
        ok(&DismissedView { event_id: event.to_string(), dismissed_at: at.to_string() })
    };
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

impl From<&Flight> for ParkedView {
    fn from(flight: &Flight) -> Self {
        Self {
            resource_id: flight.resource.to_string(),
            operation: flight.operation.to_string(),
            topup_id: flight.topup.to_string(),
            why: flight.parked.map_or("", Parked::name),
            attempts: flight.attempts,
            claimed_at: flight.claimed_at.to_string(),
            parked_at: flight.lease_until.to_string(),
        }
    }
}

impl From<&KeptEvent> for KeptEventView {
    fn from(event: &KeptEvent) -> Self {
        Self {
            event_id: event.id.to_string(),
            kind: event.kind.clone(),
            why: event.why.clone(),
            object_id: event.object.clone(),
            received_at: event.received_at.to_string(),
        }
    }
}

impl From<&Resolved> for ResolvedView {
    fn from(resolved: &Resolved) -> Self {
        Self {
            resource_id: resolved.resource.to_string(),
            operation: resolved.operation.to_string(),
            status: match resolved.resolution {
                Resolution::Retry => "retrying",
                Resolution::GiveUp => "given_up",
            },
            resolved_at: resolved.at.to_string(),
        }
    }
}
