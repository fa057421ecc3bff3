//! `/v1/admin/attention`: what needs review. These are parked operations, and events of Stripe that contradict our
//! records.

use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::idempotency::{Fields, Flight, Parked};
use ledger_core::ids::{CustomerId, Tenant, parse_uuid};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::psp::EventId;
use ledger_core::topups::TopupRecord;
use ledger_core::topups::attention::{self, Decider, KeptEvent};
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
use uuid::Uuid;

/// Operations and events that need review, each oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AttentionView {
    /// Parked operations. They are not retried until an operator resolves them.
    operations: Vec<ParkedView>,
    /// Kept events. They were not applied to the books.
    events: Vec<KeptEventView>,
}

/// A parked operation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ParkedView {
    /// The id of the top-up or refund that the operation creates.
    resource_id: String,
    /// `topup` or `topup_refund`.
    #[schema(value_type = words::ProviderOperation)]
    operation: String,
    /// The top-up that the operation creates or refunds.
    topup_id: String,
    /// Why it was parked. `attempts`: Stripe refused it too often; `not_found`: it is too old to be sent again, and
    /// Stripe has no object of it; `contradiction`: Stripe's object contradicts our record.
    #[schema(value_type = words::ParkedReason)]
    why: &'static str,
    /// The number of times that Stripe has refused it.
    attempts: u32,
    /// The time at which the request arrived.
    claimed_at: String,
    /// The time at which it was parked.
    parked_at: String,
}

/// An event of Stripe that was kept for review, because it does not agree with our records.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeptEventView {
    /// Stripe's id of the event.
    event_id: String,
    /// Stripe's type of the event.
    kind: String,
    /// What does not agree: `no_record`, `amount`, `object`, `livemode`, `state` or `account`.
    why: String,
    /// The id of Stripe's object, for looking it up; absent if it is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    object_id: Option<String>,
    /// The time at which the event was first received.
    received_at: String,
}

/// The decision on a parked operation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"action": "retry", "reason": "Stripe was down"}))]
pub(crate) struct ResolveBody {
    /// `retry` sends it to Stripe again; `give_up` ends it as refused and releases what it reserved.
    #[schema(value_type = words::ResolveAction)]
    action: String,
    /// The reason for the decision; at most 140 characters, no card number.
    reason: String,
}

/// The result of a decision on a parked operation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ResolvedView {
    /// The id of the top-up or refund.
    resource_id: String,
    /// `topup` or `topup_refund`.
    #[schema(value_type = words::ProviderOperation)]
    operation: String,
    /// `retrying` or `given_up`.
    #[schema(value_type = words::ResolvedStatus)]
    status: &'static str,
    /// The time of the decision.
    resolved_at: String,
}

/// The dismissal of a kept event.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "it belongs to a test"}))]
pub(crate) struct DismissBody {
    /// Why the event needs no further action; at most 140 characters, no card number.
    reason: String,
}

/// A dismissed event.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DismissedView {
    /// Stripe's id of the event.
    event_id: String,
    /// The time of the dismissal.
    dismissed_at: String,
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/attention")
    .summary("Lists the operations and events that need review.")
    .permission(Permission::AttentionRead)
    .ok::<AttentionView>("Operations and events, each oldest first");

pub(crate) async fn list(State(app): State<App>, who: Admin) -> Result<Json<AttentionView>, Problem> {
    let (flights, events) = topups::needs_review(app.dynamo(), who.tenant()).await?;
    let operations = flights.iter().map(ParkedView::from).collect();
    let events = events.iter().map(KeptEventView::from).collect();
    Ok(Json(AttentionView { operations, events }))
}

pub(crate) const RESOLVE: Keyed = Endpoint::post("/v1/admin/attention/operations/{resource_id}/resolve")
    .summary("Resolves a parked operation.")
    .about(
        "Stripe is queried first. If Stripe has the operation's object after all, the object is applied to the books \
         and the request fails with `wrong_state`.",
    )
    .permission(Permission::AttentionResolve)
    .id("resource_id", "The id of the top-up or refund.")
    .body::<ResolveBody>()
    .ok::<ResolvedView>("Resolved")
    .when(Code::Unavailable, "the state at Stripe is not certain yet; retry with the same key")
    .problems(&[Code::WrongState])
    .when(Code::NotFound, "no parked operation has this id")
    .asks_ties()
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
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with("action", &body.action).with("reason", reason.as_sent());
    let (claim, admission) = RESOLVE.claim(&app, &who, key, &[&resource], fields).await?;
    let plan = async |cx| {
        let reason = reason.text()?;
        if let Some(customer) = customer_of(&app, who.tenant(), resource).await? {
            let of = (vec![Account::Customer(customer)], Permission::AttentionResolve);
            app.check_alone((&claim, &who.member()), of).await?;
        }
        let decider = Decider { actor: who.actor(), reason: &reason };
        app.psp_executor().await?.resolve_parked(&claim, resource, resolution, &decider, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, |resolved| ok(&ResolvedView::from(resolved))).await)
}

/// The customer of a parked operation; `None` if no parked one has the id.
async fn customer_of(app: &App, tenant: &Tenant, resource: Uuid) -> Result<Option<CustomerId>, Problem> {
    let (flights, _) = topups::needs_review(app.dynamo(), tenant).await?;
    let Some(flight) = flights.into_iter().find(|flight| flight.resource == resource) else { return Ok(None) };
    let item = app.dynamo().get(&keys::topup(tenant, flight.topup)).await?;
    Ok(item.as_ref().map(TopupRecord::read).transpose()?.map(|topup| topup.customer))
}

pub(crate) const DISMISS: Keyed = Endpoint::post("/v1/admin/attention/events/{event_id}/dismiss")
    .summary("Dismisses a kept event that was reviewed.")
    .permission(Permission::AttentionResolve)
    .parameter(Parameter::in_path(
        "event_id",
        "Stripe's id of the event.",
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
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with("reason", reason.as_sent());
    let (claim, admission) = DISMISS.claim(&app, &who, key, &[&event], fields).await?;
    let plan = async |cx| {
        let decider = Decider { actor: who.actor(), reason: &reason.text()? };
        Ok(attention::dismiss(who.tenant(), &event, &decider, &cx)?)
    };
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
