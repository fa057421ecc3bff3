//! Points that were earned with money that is given back. They are taken back in proportion. Points that the payer
//! has spent are deducted from the money or forgiven, by the tenant's policy.

use crate::money::{Amount, Asset, AssetSpec, Balance};
use crate::plan::PlanRefusal;
use crate::terms::SpentPoints;

/// Points that were earned with some money.
pub(crate) struct Earned<'a> {
    /// The number of points.
    pub(crate) points: &'a Amount,
    /// The money that earned them.
    pub(crate) with: &'a Amount,
    /// The points that have been taken back or forgiven so far.
    pub(crate) taken_back: &'a Balance,
}

/// How the points of the returned money are settled.
#[derive(Default)]
pub(crate) struct TakenBack {
    /// The points that are settled: from points, from money, or forgiven.
    pub(crate) settled: Option<Amount>,
    /// The part taken from the available points.
    pub(crate) from_points: Option<Amount>,
    /// The yen kept from the money for points that are not available.
    pub(crate) from_money: Option<Amount>,
}

impl Earned<'_> {
    /// Computes what is taken back, in proportion to the money returned so far, rounded down. The refund that
    /// completes the money takes the rest. `left` is the money that stays after this one.
    pub(crate) fn points_due(
        &self,
        left: &Balance,
        available: &Balance,
        money: Option<&Amount>,
        policy: SpentPoints,
    ) -> Result<TakenBack, PlanRefusal> {
        let spent = self.with.as_balance().checked_sub(left)?;
        let due = match spent.as_amount() {
            Some(_) => Amount::proportion(self.points, &spent, self.with, &AssetSpec::POINT)?,
            None => None,
        };
        let due = due.map_or_else(|| Balance::zero(Asset::Point), |due| due.as_balance());
        let Some(settled) = due.checked_sub(self.taken_back)?.as_amount() else { return Ok(TakenBack::default()) };
        TakenBack::of(settled, available, money, policy)
    }
}

impl TakenBack {
    /// Settles so many points: from the available ones first; the rest was spent.
    pub(crate) fn of(
        settled: Amount,
        available: &Balance,
        money: Option<&Amount>,
        policy: SpentPoints,
    ) -> Result<Self, PlanRefusal> {
        let from_points = settled.at_most(available)?;
        let short = match &from_points {
            Some(taken) => settled.checked_sub(taken)?,
            None => Some(settled.clone()),
        };
        let mut from_money = None;
        if let (Some(short), SpentPoints::Deduct) = (short, policy)
            && let (Some(yen), Some(money)) = (short.one_to_one(&AssetSpec::ECOPAY), money)
        {
            from_money = yen.at_most(&money.as_balance())?;
        }
        Ok(Self { settled: Some(settled), from_points, from_money })
    }
}
