//! The preview's own record: what was asked, which worker has it, and its result.

use super::compare::{Comparison, Difference, Planned as PlannedPayment, Side};
use crate::audit::Act;
use crate::dynamo::{Attributes, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, JobId, StaffId, Tenant, parse_uuid};
use crate::jobs;
use crate::keys::{self, JobKind, attr};
use crate::lease::{Holder, Leasable, Leased};
use crate::money::{Asset, Balance};
use crate::operation::Operation;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{TermsChanges, TermsVersion};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Draft, Planned, Role, TransactItem, Transaction};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The most days back that a preview covers.
pub const PREVIEW_DAYS_MAX: u32 = 31;
/// The most payments that a preview plans again.
pub const PREVIEW_PAYMENTS_MAX: usize = 100_000;
/// The lease of a preview.
pub const PREVIEW_LEASE: Duration = Duration::from_secs(120);
/// How long a preview is kept.
const KEPT: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// The state of a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreviewState {
    /// No worker has taken it.
    Requested,
    /// A worker has taken it.
    Running,
    /// It has its result.
    Done,
    /// It has none, and will not have one.
    Failed(PreviewFailure),
}

/// Why a preview has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreviewFailure {
    /// There are more payments than a preview plans again.
    TooManyPayments,
    /// A term that the change names has another value than at the request.
    TermsChanged,
    /// It was begun too often without an end, or a stored item could not be read.
    Internal,
}

/// A preview of a change of terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Its id.
    pub id: JobId,
    /// The present state.
    pub state: PreviewState,
    /// The staff member who requested it.
    pub requested_by: StaffId,
    /// When it was requested.
    pub created_at: Timestamp,
    /// The payments are those from this time until the request.
    pub from: Timestamp,
    /// The version of the terms that the changes are of.
    pub version: TermsVersion,
    /// The changes; `None`: the terms as they are.
    pub changes: Option<TermsChanges>,
    /// The lease holder. Its token is the number of times that the preview was taken.
    pub holder: Holder,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// The payments that were read so far.
    pub payments: i64,
    /// The result.
    pub comparison: Option<Comparison>,
}

/// A request of a preview.
#[derive(Clone, Debug)]
pub struct PreviewRequest {
    /// The tenant.
    pub tenant: Tenant,
    /// The staff member.
    pub staff: StaffId,
    /// The days back from the request, by the calendar in Japan: the day of the request is the first.
    pub days: u32,
    /// The version of the terms that the changes are of.
    pub version: TermsVersion,
    /// The changes; `None`: the terms as they are.
    pub changes: Option<TermsChanges>,
}

impl PreviewState {
    const ALL: [Self; 6] = [
        Self::Requested,
        Self::Running,
        Self::Done,
        Self::Failed(PreviewFailure::TooManyPayments),
        Self::Failed(PreviewFailure::TermsChanged),
        Self::Failed(PreviewFailure::Internal),
    ];

    /// The stable name, as stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed(PreviewFailure::TooManyPayments) => "too_many_payments",
            Self::Failed(PreviewFailure::TermsChanged) => "terms_changed",
            Self::Failed(PreviewFailure::Internal) => "failed",
        }
    }

    /// Parses a stored name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether the state is final.
    #[must_use]
    pub const fn is_over(self) -> bool {
        match self {
            Self::Requested | Self::Running => false,
            Self::Done | Self::Failed(_) => true,
        }
    }
}

impl fmt::Display for PreviewState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Leasable for Preview {
    const LEASE_DURATION: Duration = PREVIEW_LEASE;
    const ROLE: Role = Role::Job;
}

impl Preview {
    /// Reads a stored preview.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let comparison = item.opt_map("result")?.map(read_comparison).transpose()?;
        Ok(Self {
            id: item.parsed("job_id", JobId::parse)?,
            state: item.named("state", PreviewState::parse)?,
            requested_by: item.parsed("requested_by", StaffId::parse)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            from: item.timestamp("from")?,
            version: item.checked_int("terms_version", TermsVersion::new)?,
            changes: match item.contains_key("changes") {
                true => Some(TermsChanges::read(item, "changes")?),
                false => None,
            },
            holder: Holder::read(item)?,
            finished_at: item.opt_timestamp("finished_at")?,
            payments: item.opt_int("payments")?.unwrap_or_default(),
            comparison,
        })
    }

    fn item(&self, tenant: &Tenant) -> Item {
        let mut item = Item::from([
            ("job_id".to_owned(), Value::s(self.id)),
            ("state".to_owned(), Value::s(self.state)),
            ("requested_by".to_owned(), Value::s(self.requested_by)),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
            ("from".to_owned(), Value::s(self.from)),
            ("terms_version".to_owned(), Value::int(self.version.number().into())),
            (attr::TTL.to_owned(), Value::int(self.created_at.plus(KEPT).seconds())),
        ]);
        item.extend(jobs::begun(tenant, JobKind::TermsPreview, self.id, self.created_at));
        item.extend(self.holder.attributes());
        item.extend(self.changes.as_ref().map(|changes| ("changes".to_owned(), changes.item())));
        item
    }

    /// Takes a preview. `None` while another worker has it, or if it is over.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn take(&self, tenant: &Tenant, now: Timestamp) -> Result<Option<(Leased<Self>, Transaction)>, BuildError> {
        if self.state.is_over() {
            return Ok(None);
        }
        Leased::take(keys::job(tenant, self.id), self.holder, Vec::new(), now, |holder| {
            let state = PreviewState::Running;
            let taken = Self { state, holder, ..self.clone() };
            (taken, holder.taken(Update::new()).set("state", "state", Value::s(state)))
        })
    }
}

impl Leased<Preview> {
    /// Records the payments read so far, and renews the lease.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn progress(&self, payments: i64, now: Timestamp) -> Result<Transaction, BuildError> {
        Transaction::unkeyed(vec![self.change(Self::renewed(now).set("payments", "payments", Value::int(payments)))])
    }

    /// Ends the preview with its result.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn finish(
        &self,
        ended: Result<&Comparison, PreviewFailure>,
        payments: i64,
        now: Timestamp,
    ) -> Result<Transaction, BuildError> {
        let state = ended.map_or_else(PreviewState::Failed, |_| PreviewState::Done);
        let mut update = Update::new()
            .set("state", "state", Value::s(state))
            .set("finished_at", "now", Value::s(now))
            .set("payments", "payments", Value::int(payments));
        if let Ok(comparison) = ended {
            update = update.set("result", "result", Value::M(comparison_item(comparison)));
        }
        let update = update.remove(attr::DUE_PK).remove(attr::DUE_SK);
        Transaction::unkeyed(vec![self.change(update)])
    }
}

/// A staff member requests a preview.
///
/// # Errors
/// [`PlanRefusal::Invalid`] if the days are not 1 to [`PREVIEW_DAYS_MAX`].
pub fn plan(request: &PreviewRequest, cx: &Context) -> Result<Planned<Preview>, PlanRefusal> {
    let days = u16::try_from(request.days).ok().filter(|days| (1..=PREVIEW_DAYS_MAX).contains(&u32::from(*days)));
    let days = days.ok_or(PlanRefusal::Invalid { field: "days", why: "must be 1 to 31" })?;
    let preview = Preview {
        id: JobId::new(cx.resource_id),
        state: PreviewState::Requested,
        requested_by: request.staff,
        created_at: cx.now,
        from: cx.now.business_date().days_before(days.saturating_sub(1)).bounds().0,
        version: request.version,
        changes: request.changes.clone(),
        holder: Holder { fence: 0, lease_until: cx.now },
        finished_at: None,
        payments: 0,
        comparison: None,
    };
    let tenant = &request.tenant;
    let key = keys::job(tenant, preview.id);
    let mut act = Act::new(Actor::Staff(request.staff), Operation::TermsPreview, format!("preview:{}", preview.id))
        .with("days", request.days);
    for change in request.changes.iter().flat_map(TermsChanges::iter) {
        act = act.with(&change.field.to_string(), change.to.as_deref().unwrap_or("none"));
    }
    let put = TransactItem::put_new(Role::Job, key, preview.item(tenant), Failure::AlreadyExists);
    let items = vec![put, act.record(tenant, cx)];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: preview })
}

fn comparison_item(comparison: &Comparison) -> Item {
    let differences = comparison.differences.iter().map(|difference| {
        let mut item = Item::from([("id".to_owned(), Value::s(difference.id))]);
        item.extend(planned_item("made", &difference.made));
        item.extend(planned_item("planned", &difference.planned));
        Value::M(item)
    });
    Item::from([
        ("made".to_owned(), Value::M(side_item(&comparison.made))),
        ("planned".to_owned(), Value::M(side_item(&comparison.planned))),
        ("differing".to_owned(), Value::int(comparison.differing)),
        ("differences".to_owned(), Value::L(differences.collect())),
    ])
}

fn read_comparison(item: &Item) -> Result<Comparison, ItemError> {
    Ok(Comparison {
        made: read_side(item.map("made")?)?,
        planned: read_side(item.map("planned")?)?,
        differing: item.int("differing")?,
        differences: item.maps("differences", |item| {
            Ok(Difference {
                id: item.parsed("id", parse_uuid)?,
                made: read_planned(item, "made")?,
                planned: read_planned(item, "planned")?,
            })
        })?,
    })
}

/// The attributes of one plan: the code of a refusal, or the points.
fn planned_item(name: &str, planned: &PlannedPayment) -> Item {
    match planned {
        PlannedPayment::Accepted(points) => {
            let points = points.as_ref().map(|points| (format!("{name}_points"), Value::N(points.text())));
            points.into_iter().collect()
        }
        PlannedPayment::Refused(code) => Item::from([(format!("{name}_code"), Value::s(code))]),
    }
}

fn read_planned(item: &Item, name: &str) -> Result<PlannedPayment, ItemError> {
    Ok(match item.opt_string(&format!("{name}_code"))? {
        Some(code) => PlannedPayment::Refused(code),
        None => PlannedPayment::Accepted(item.opt_amount(&format!("{name}_points"), Asset::Point)?),
    })
}

fn side_item(side: &Side) -> Item {
    let refused = side.refused.iter().map(|(code, count)| (code.clone(), Value::int(*count)));
    let mut item = Item::from([
        ("accepted".to_owned(), Value::int(side.accepted)),
        ("refused".to_owned(), Value::M(refused.collect())),
        ("points".to_owned(), Value::N(side.points.text())),
        ("fee".to_owned(), Value::N(side.fee.text())),
        ("tax".to_owned(), Value::N(side.tax.text())),
    ]);
    for (asset, paid) in &side.paid {
        item.insert(format!("paid_{}", asset.attribute_suffix()), Value::N(paid.text()));
    }
    item
}

fn read_side(item: &Item) -> Result<Side, ItemError> {
    let count =
        |code: &str, number: &str| Ok((code.to_owned(), number.parse().map_err(|_| ItemError::invalid("refused"))?));
    let refused: BTreeMap<String, i64> = item.numbers("refused", count)?;
    let yen = |name: &str| -> Result<Balance, ItemError> { item.balance(name, Asset::Ecopay) };
    Ok(Side {
        accepted: item.int("accepted")?,
        refused,
        paid: item.by_asset("paid_", Item::balance)?,
        points: item.balance("points", Asset::Point)?,
        fee: yen("fee")?,
        tax: yen("tax")?,
    })
}
