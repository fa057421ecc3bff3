//! Points that came with money which goes back: they are taken back in proportion, and whoever has
//! spent them pays with the money or is forgiven, as the tenant has it.

use super::{PlanRefusal, SpentPoints};
use crate::money::{Amount, Asset, AssetSpec, Balance};

/// Points that came with some money.
pub(super) struct Earned<'a> {
    /// How many.
    pub(super) points: &'a Amount,
    /// With how much money.
    pub(super) with: &'a Amount,
    /// How many have been taken back or forgiven.
    pub(super) taken_back: &'a Balance,
}

/// Who bears the points of the money that goes back.
#[derive(Default)]
pub(super) struct TakenBack {
    /// The points that it settles, whether from points, from money or forgiven.
    pub(super) settled: Option<Amount>,
    /// Of those, from the points that are there.
    pub(super) from_points: Option<Amount>,
    /// Yen kept from the money for those that are not.
    pub(super) from_money: Option<Amount>,
}

impl Earned<'_> {
    /// Takes back in proportion to the money that has gone back so far, rounded down, so that what
    /// completes the money takes the rest. `left` is the money that stays after this.
    pub(super) fn take_back(
        &self,
        left: &Balance,
        available: &Balance,
        money: Option<&Amount>,
        policy: SpentPoints,
    ) -> Result<TakenBack, PlanRefusal> {
        let gone = self.with.as_balance().checked_sub(left)?;
        let due = match gone.as_amount() {
            Some(_) => Amount::proportion(self.points, &gone, self.with, &AssetSpec::POINT)?,
            None => None,
        };
        let due = due.map_or_else(|| Balance::zero(Asset::Point), |due| due.as_balance());
        let Some(settled) = due.checked_sub(self.taken_back)?.as_amount() else { return Ok(TakenBack::default()) };
        TakenBack::of(settled, available, money, policy)
    }
}

impl TakenBack {
    /// So many points, as far as they are available; the rest was spent.
    pub(super) fn of(
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
