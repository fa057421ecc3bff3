//! `/v1/admin/card-batches`: issues many cards without owners, in the background.

use crate::cards;
use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::cards::batch::{self, CardBatch, CardBatchDetails, CardBatchIssue};
use ledger_core::idempotency::Fields;
use ledger_core::ids::{CardId, JobId};
use ledger_core::jobs::Details;
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::transaction::Planned;
use ledger_runtime::app::App;
use ledger_runtime::cursor::Cursor;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, accepted};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathId, SentText};
use ledger_runtime::views::{JobDetail, JobView};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A batch of cards to be issued.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"count": 500, "expires_at": "2030-04-01T00:00:00.000Z", "reason": "spring festival"}))]
pub(crate) struct CardBatchBody {
    /// The number of cards.
    #[schema(minimum = 1, maximum = 10000, example = 500)]
    count: u32,
    /// The time from which no terminal debits or loads the cards, in UTC; absent if they do not expire.
    expires_at: Option<String>,
    /// The reason; at most 140 characters, no card number.
    reason: Option<String>,
}

/// The progress of a batch, with a page of its cards.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CardBatchView {
    #[serde(flatten)]
    job: JobDetail,
    /// The ids of issued cards, in a fixed order.
    card_ids: Vec<String>,
    /// The cursor of the next page; absent on the last page of the cards that are issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/card-batches")
    .summary("Issues many cards without owners.")
    .about("The batch is stored, and its cards are issued in the background: 10,000 in some minutes.")
    .permission(Permission::CardsManage)
    .body::<CardBatchBody>()
    .accepted::<JobView>("Stored as a job")
    .keyed(Operation::CardBatch);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<CardBatchBody>,
) -> Result<Outcome, Problem> {
    let expires_at = body.expires_at.as_deref().map(cards::expiry).transpose()?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields = Fields::new()
        .with("count", body.count)
        .with_some("expires_at", expires_at)
        .with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], fields).await?;
    let plan = async |cx: Context| {
        let reason = request::text_of(reason.as_ref())?;
        let (tenant, staff, count) = (who.tenant(), who.staff_id(), body.count);
        let issue = CardBatchIssue { tenant, staff, count, expires_at, reason: reason.as_ref() };
        let Planned { draft, receipt: CardBatch { head, details, .. } } = batch::plan(&issue, &cx)?;
        Ok(Planned { draft, receipt: (head.id, JobView::of(&head, &details.attributes())?) })
    };
    let stored = |(id, view): &(JobId, JobView)| accepted(GET.path(&[id]), view);
    Ok(app.perform(claim.clone(), admission, plan, stored).await)
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/card-batches/{job_id}")
    .summary("Returns the progress of a batch of cards, and the ids of its cards by pages.")
    .permission(Permission::CardsRead)
    .id("job_id", "The job's id.")
    .paged()
    .ok::<CardBatchView>("The batch")
    .when(Code::NotFound, "no such batch");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<JobId>,
    page: request::Page,
) -> Result<Json<CardBatchView>, Problem> {
    let item = app.job_of::<CardBatchDetails>(who.tenant(), id).await?;
    let batch = CardBatch::read(&item)?;
    let (cards, is_last) = batch.page(page.cursor.map(|cursor| CardId::new(cursor.id())), page.limit)?;
    let next = cards.last().filter(|_| !is_last).map(|card| Cursor::after(card.uuid()).to_string());
    // A card that could not be issued has a line in the job. Its id may be another card's.
    let line_of = |card: &CardId| keys::job_line(who.tenant(), id, Account::Card(*card));
    let keys: Vec<_> = cards.iter().map(line_of).collect();
    let is_issued = match batch.head.failed {
        0 => vec![true; cards.len()],
        _ => app.dynamo().get_many(&keys).await?.iter().map(Option::is_none).collect(),
    };
    let issued = cards.iter().zip(is_issued).filter(|(_, is_issued)| *is_issued);
    Ok(Json(CardBatchView {
        job: JobDetail::read(&item)?,
        card_ids: issued.map(|(card, _)| card.to_string()).collect(),
        next_cursor: next,
    }))
}
