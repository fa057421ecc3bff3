//! The preview's job: what was asked, and its result.

use super::compare::{Comparison, Difference, Planned as PlannedPayment, Side};
use crate::audit::Act;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::{Actor, JobId, StaffId, Tenant, parse_uuid};
use crate::jobs::{Attempt, Details, Request};
use crate::keys::JobKind;
use crate::money::{Asset, Balance};
use crate::operation::Operation;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{TermsChanges, TermsVersion};
use crate::time::Timestamp;
use crate::transaction::{Draft, Planned};
use crate::words::words;
use std::collections::BTreeMap;

/// The most days back that a preview covers.
pub const PREVIEW_DAYS_MAX: u32 = 31;
/// The most payments that a preview plans again.
pub const PREVIEW_PAYMENTS_MAX: usize = 100_000;

const FROM: &str = "from";
const VERSION: &str = "terms_version";
const CHANGES: &str = "changes";
const RESULT: &str = "result";

words! {
    /// Why a preview has no result: the code of the job.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PreviewFailure {
        /// There are more payments than a preview plans again.
        TooManyPayments = "too_many_payments",
        /// A term that the change names has another value than at the request.
        TermsChanged = "terms_changed",
    }
}

/// What a preview of a change of terms stores of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewDetails {
    /// The payments are those from this time until the request.
    pub from: Timestamp,
    /// The version of the terms that the changes are of.
    pub version: TermsVersion,
    /// The changes; `None`: the terms as they are.
    pub changes: Option<TermsChanges>,
    /// The result.
    pub comparison: Option<Comparison>,
}

/// A preview of a change of terms. What it counts as done are the payments that were read.
pub type Preview = Attempt<PreviewDetails>;

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

impl Details for PreviewDetails {
    const KIND: JobKind = JobKind::TermsPreview;

    fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            from: item.timestamp(FROM)?,
            version: item.checked_int(VERSION, TermsVersion::new)?,
            changes: match item.contains_key(CHANGES) {
                true => Some(TermsChanges::read(item, CHANGES)?),
                false => None,
            },
            comparison: item.opt_map(RESULT)?.map(read_comparison).transpose()?,
        })
    }

    fn attributes(&self) -> Item {
        let mut item = Item::from([
            (FROM.to_owned(), Value::s(self.from)),
            (VERSION.to_owned(), Value::int(self.version.number().into())),
        ]);
        item.extend(self.changes.as_ref().map(|changes| (CHANGES.to_owned(), changes.item())));
        item.extend(self.comparison.iter().flat_map(Self::result));
        item
    }
}

impl PreviewDetails {
    /// The attributes of a result.
    #[must_use]
    pub fn result(comparison: &Comparison) -> Item {
        Item::from([(RESULT.to_owned(), Value::M(comparison_item(comparison)))])
    }
}

/// A staff member requests a preview.
///
/// # Errors
/// [`PlanRefusal::Invalid`] if the days are not 1 to [`PREVIEW_DAYS_MAX`].
pub fn plan(request: &PreviewRequest, cx: &Context) -> Result<Planned<Preview>, PlanRefusal> {
    let days = u16::try_from(request.days).ok().filter(|days| (1..=PREVIEW_DAYS_MAX).contains(&u32::from(*days)));
    let days = days.ok_or(PlanRefusal::Invalid { field: "days", why: "must be 1 to 31" })?;
    let (id, tenant) = (JobId::new(cx.resource_id), &request.tenant);
    let asked = Request { id, staff: Some(request.staff), reason: None, total: None, now: cx.now };
    let details = PreviewDetails {
        from: cx.now.business_date().days_before(days.saturating_sub(1)).bounds().0,
        version: request.version,
        changes: request.changes.clone(),
        comparison: None,
    };
    let preview = Preview::requested(asked, details);
    let mut act =
        Act::new(Actor::Staff(request.staff), Operation::TermsPreview, format!("job:{id}")).with("days", request.days);
    for change in request.changes.iter().flat_map(TermsChanges::iter) {
        act = act.with(&change.field.to_string(), change.to.as_deref().unwrap_or("none"));
    }
    let items = vec![preview.put(tenant), act.record(tenant, cx)];
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
