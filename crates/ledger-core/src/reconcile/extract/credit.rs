//! Journal entries whose seals credit their merchants.

use super::{Observations, StoredItem, nums};
use crate::account::Account;
use crate::crediting::EntryCredit;
use crate::crediting::{CREDITED_AT, PeriodId};
use crate::dynamo::{Attributes, ItemError};
use crate::journal::JournalEntry;
use crate::keys::{self, attr};
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::{GroupFact, PeriodFact, PeriodTotals};
use crate::reconcile::num::Num;
use crate::sealing::lanes::LaneLink;
use crate::sealing::segment_of;
use crate::time::Timestamp;

/// What one transaction writes to an entry that it seals and credits. All of it is there, or nothing is.
struct Sealed<'a> {
    stamp: Option<&'a str>,
    credited_at: Option<Timestamp>,
    period: Option<PeriodId>,
}

/// The observations about the credit of an entry by its seal. None about an entry that credits no merchant.
///
/// The entry gives no fact of the merchant's account: its period has the sums, and the balances have the closed periods.
pub(super) fn credit_by_seal(at: &StoredItem<'_>, entry: &JournalEntry) -> Observations {
    let sealed = Sealed {
        stamp: segment_of(at.item)?,
        credited_at: at.item.opt_timestamp(CREDITED_AT)?,
        period: PeriodId::of_entry(at.item)?,
    };
    let subject = format!("transaction:{}", entry.id);
    let Some(credit) = EntryCredit::read(at.item)? else {
        if sealed.credited_at.is_none() && sealed.period.is_none() {
            return Ok(Vec::new());
        }
        let finding = at.finding(BreakKind::PeriodDiffers, subject).expected("not credited by its seal");
        let merchants = entry.postings.iter().map(|posting| posting.account.to_string());
        return Ok(vec![at.broken(finding.found("credited").by(merchants))]);
    };
    let by_merchant = [Account::Merchant(credit.merchant).to_string(), at.owner()];
    let broken = |finding: Finding, expected: &str, found: String| {
        vec![at.broken(finding.expected(expected).found(found).by(by_merchant.clone()))]
    };
    let observed = match sealed {
        Sealed { stamp: Some(stamp), credited_at: Some(credited_at), period: Some(period) } => {
            let of_lane = LaneLink::read_stamp(stamp).filter(|(lane, _)| period.lane == *lane);
            let segment = of_lane.map(|(_, segment)| segment);
            let (delta, kind) = (nums(&credit.delta), credit.kind);
            let refund_room = credit.refund_room.as_ref().map(|room| Num(room.value())).unwrap_or_default();
            let sums = PeriodTotals::of_credit(delta, kind, refund_room);
            let fact = PeriodFact::Credited { sums, at: credited_at.millis(), segment };
            let mut observed = vec![at.fact(GroupFact::Period(credit.merchant, period, fact))];
            if segment.is_none() {
                let finding = at.finding(BreakKind::PeriodDiffers, subject);
                observed.extend(broken(finding, "a period of the lane of its seal", format!("{period}, seal {stamp}")));
            }
            observed
        }
        Sealed { stamp: None, credited_at: None, period: None } => match outstanding(at, entry.created_at)? {
            Some(found) => {
                let finding = at.finding(BreakKind::CreditOutstanding, subject);
                broken(finding, "credited to its merchant", found)
            }
            None => Vec::new(),
        },
        Sealed { stamp, credited_at, period } => {
            let parts =
                [("sealed", stamp.is_some()), ("credited", credited_at.is_some()), ("in a period", period.is_some())];
            let found: Vec<&str> = parts.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| *name).collect();
            let finding = at.finding(BreakKind::PeriodDiffers, subject);
            broken(finding, "sealed, credited and in a period", format!("{} only", found.join(" and ")))
        }
    };
    Ok(observed)
}

/// Why an entry that is not sealed is a break: it was not credited for too long, or is not due for it.
fn outstanding(at: &StoredItem<'_>, since: Timestamp) -> Result<Option<String>, ItemError> {
    // Published or not, an entry is due until it is sealed.
    if !at.item.opt_text(attr::DUE_PK)?.is_some_and(|mark| keys::is_to_seal(&at.tenant, mark)) {
        return Ok(Some("neither credited nor due".to_owned()));
    }
    Ok(at.is_late(since, at.limits.credit).then(|| format!("due since {since}")))
}
