//! `POST /v1/webhooks/stripe`: receives Stripe's events.
//!
//! A 2xx means that an event needs no more deliveries: it was applied, or never will be. Stripe delivers everything
//! else again, for three days.

use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::psp::{Event, Fact, Payout, PspId, Tags};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::Endpoint;
use ledger_runtime::endpoint::Routes;
use ledger_runtime::metrics::Metric;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::psp::{signature, wire};
use ledger_runtime::request::RawBody;
use ledger_runtime::settlement::Settler;
use ledger_runtime::topups::{Applied, Provider, PspExecutor};
use ledger_runtime::views::words;
use serde::Serialize;
use utoipa::ToSchema;

const SIGNATURE: &str = "stripe-signature";
/// Why an event is kept if its record is missing.
const NO_RECORD: &str = "no_record";

/// The routes of the webhook.
#[must_use]
pub fn router() -> Routes {
    Routes::new().route(RECEIVE.on(receive))
}

/// How an event was handled.
#[derive(Debug, Serialize, ToSchema)]
struct ReceivedView {
    /// `applied`; `repeated`: it was applied before; `behind`: our record is ahead of it; `foreign`: it is about no
    /// object of this ledger; `dismissed`: an operator has dismissed it; `ignored`: events of its type are not used.
    #[schema(value_type = words::EventStatus)]
    status: &'static str,
}

const RECEIVE: Endpoint = Endpoint::post("/v1/webhooks/stripe")
    .summary("Receives an event of Stripe.")
    .about("Stripe calls it, and signs the raw body.")
    .anonymous()
    .raw_body("Stripe's event, byte for byte as Stripe signed it.")
    .ok::<ReceivedView>("The event needs no more deliveries")
    .when(Code::EventKept, "the event contradicts our records and must be delivered again");

async fn receive(
    State(app): State<App>,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<Json<ReceivedView>, Problem> {
    let provider = verified(&app, &headers, &body).await?;
    let psp_executor = provider.psp_executor();
    let event = wire::event(&body, &psp_executor.terms().ledger).map_err(|error| {
        app.metrics().count_of(Metric::EventUnreadable, None, Some(Operation::StripeEvent));
        tracing::error!(%error, "a signed event cannot be read");
        Problem::invalid("The event cannot be read.")
    })?;
    let status = handle(&app, psp_executor, &event).await?;
    Ok(Json(ReceivedView { status }))
}

/// The provider whose secret signed the body. The raw body is verified before anything of it is read.
async fn verified(app: &App, headers: &HeaderMap, body: &[u8]) -> Result<Provider, Problem> {
    let provider = app.provider().await?;
    if is_signed(&provider, app, headers, body) {
        return Ok(provider);
    }
    // It may be signed with a secret that was added since.
    let anew = app.provider_anew().await.filter(|provider| is_signed(provider, app, headers, body));
    anew.ok_or_else(|| {
        app.metrics().count_of(Metric::WebhookRefused, None, Some(Operation::StripeEvent));
        Problem::webhook_refused()
    })
}

fn is_signed(provider: &Provider, app: &App, headers: &HeaderMap, body: &[u8]) -> bool {
    let mut values = headers.get_all(SIGNATURE).iter();
    match (values.next().map(|value| value.to_str()), values.next()) {
        (Some(Ok(header)), None) => signature::verify(provider.webhook_secrets(), header, body, app.now()).is_ok(),
        (Some(Ok(_) | Err(_)) | None, _) => false,
    }
}

async fn handle(app: &App, psp_executor: &PspExecutor, event: &Event) -> Result<&'static str, Problem> {
    let (subject, tenant) = match (event.fact(), event.payout()) {
        (None, None) => return Ok("ignored"),
        (Some(fact), _) => {
            let Some(tags) = psp_executor.tags_of(&fact, event.account.as_deref()).await? else {
                return Ok(foreign(app));
            };
            let tenant = tags.tenant.clone();
            (EventSubject::Topup(Box::new((fact, tags))), tenant)
        }
        (None, Some(payout)) => {
            let Some(tags) = &payout.tags else { return Ok(foreign(app)) };
            (EventSubject::Payout(payout), tags.tenant.clone())
        }
    };
    let terms = psp_executor.terms();
    let mismatch = if event.livemode != terms.livemode {
        Some("livemode")
    } else if event.account != terms.account {
        Some("account")
    } else {
        None
    };
    if let Some(why) = mismatch {
        return kept(psp_executor, event, &subject, &tenant, why).await;
    }
    let count = |metric| app.metrics().count(metric, &tenant, Operation::StripeEvent);
    match subject.apply(app, psp_executor, event, &tenant).await? {
        Applied::Done => {
            count(Metric::EventApplied);
            Ok("applied")
        }
        Applied::Repeated => {
            count(Metric::EventRepeated);
            Ok("repeated")
        }
        Applied::Behind => {
            count(Metric::EventRepeated);
            Ok("behind")
        }
        Applied::NoRecord => kept(psp_executor, event, &subject, &tenant, NO_RECORD).await,
        Applied::Contradiction(contradiction) => {
            kept(psp_executor, event, &subject, &tenant, contradiction.name()).await
        }
    }
}

/// What an event says about our records.
enum EventSubject<'a> {
    /// A fact about a top-up, its refund, or a clawback of it.
    Topup(Box<(Fact, Tags)>),
    /// The state of a merchant's payout.
    Payout(&'a Payout),
}

impl EventSubject<'_> {
    async fn apply(
        &self,
        app: &App,
        psp_executor: &PspExecutor,
        event: &Event,
        tenant: &Tenant,
    ) -> Result<Applied, Problem> {
        match self {
            Self::Topup(subject) => psp_executor.apply(tenant, &subject.1, &subject.0, &event.id, &event.kind).await,
            Self::Payout(payout) => {
                let seen = (tenant, *payout, event.account.as_deref());
                Settler::new(app, None).apply_payout_event(seen, &event.id, &event.kind).await
            }
        }
    }

    fn object(&self) -> &PspId {
        match self {
            Self::Topup(subject) => subject.0.object(),
            Self::Payout(payout) => &payout.id,
        }
    }
}

fn foreign(app: &App) -> &'static str {
    app.metrics().count_of(Metric::EventForeign, None, Some(Operation::StripeEvent));
    "foreign"
}

/// Keeps an event that contradicts our records: an alarm is raised, and Stripe delivers it again until it agrees or an
/// operator dismisses it.
async fn kept(
    psp_executor: &PspExecutor,
    event: &Event,
    subject: &EventSubject<'_>,
    tenant: &Tenant,
    why: &str,
) -> Result<&'static str, Problem> {
    if psp_executor.keep(tenant, event, Some(subject.object().to_string()), why).await? {
        return Ok("dismissed");
    }
    Err(Problem::event_kept())
}
