//! How a refund is divided among assets, the payer, the payer's debt and the points that the payment earned.

use super::refund::{Refund, check_captured};
use crate::failure::Failure;
use crate::money::{Amount, Asset, AssetSpec, Balance};
use crate::plan::PlanRefusal;
use crate::terms::TenantTerms;
use crate::wallets::debt::ReturningAmount;
use crate::wallets::earned::{Earned, TakenBack};
use std::collections::{BTreeMap, BTreeSet};

/// How a refund is divided.
pub(super) struct Division {
    pub(super) amount: Amount,
    pub(super) parts: BTreeMap<Asset, Amount>,
    pub(super) left: BTreeMap<Asset, Balance>,
    pub(super) points: TakenBack,
    /// How the points among the parts are divided between the payer's debt and the payer.
    pub(super) returned: Option<ReturningAmount>,
    /// The assets that are retired: what is returned in them goes to `breakage`.
    pub(super) retired: BTreeSet<Asset>,
}

/// Divides the amount: money first, then regional currency, carbon credits, points. Then settles the earned points.
pub(super) fn divide(command: &Refund<'_>, terms: &TenantTerms) -> Result<Division, PlanRefusal> {
    let payment = command.payment;
    check_captured(payment)?;
    // The terms may no longer have the payment's assets, and what was paid can still be refunded.
    let spec = AssetSpec::finest(payment.total.asset().clone());
    let over = || PlanRefusal::Refused(Failure::OverRefund);
    let mut order: Vec<(&Asset, &Balance)> = payment.refundable.iter().collect();
    order.sort_by_key(|(asset, _)| match asset {
        Asset::Ecopay => 0,
        Asset::Regional(_) => 1,
        Asset::Jcredit => 2,
        Asset::Point => 3,
    });
    let mut wanted = command.amount.map(Amount::as_balance);
    let mut amount: Option<Amount> = None;
    let (mut parts, mut left) = (BTreeMap::new(), payment.refundable.clone());
    for (asset, available) in order {
        let Some(available_amount) = available.as_amount() else { continue };
        let part = match &wanted {
            None => Some(available_amount.clone()),
            Some(wanted) => match wanted.as_amount() {
                Some(wanted) => {
                    let own = wanted.one_to_one(&AssetSpec::finest(asset.clone())).ok_or_else(over)?;
                    available_amount.at_most(&own.as_balance())?
                }
                None => None,
            },
        };
        let Some(part) = part else { continue };
        let in_total = part.one_to_one(&spec).ok_or_else(over)?;
        if let Some(still) = wanted.take() {
            wanted = Some(still.checked_apply(&in_total.debit())?);
        }
        amount = Some(match amount {
            Some(so_far) => so_far.checked_add(&in_total)?,
            None => in_total,
        });
        left.insert(asset.clone(), available.checked_apply(&part.debit())?);
        parts.insert(asset.clone(), part);
    }
    if wanted.is_some_and(|wanted| wanted.as_amount().is_some()) {
        return Err(over());
    }
    let amount = amount.ok_or_else(over)?;
    let returned = parts.get(&Asset::Point).map(|points| command.wallet.divide(payment.payer, points)).transpose()?;
    let is_retired = |asset: &&Asset| terms.asset(asset).is_some_and(|terms| !terms.is_credited());
    let retired = parts.keys().filter(is_retired).cloned().collect();
    let mut division = Division { amount, parts, left, points: TakenBack::default(), returned, retired };
    settle_points(command, terms, &mut division)?;
    Ok(division)
}

/// Takes back earned points in proportion to the money refunded so far. Points that the payer has spent are deducted
/// from the money or forgiven, by the tenant's policy. The close of a wallet has taken all its points.
fn settle_points(command: &Refund<'_>, terms: &TenantTerms, division: &mut Division) -> Result<(), PlanRefusal> {
    if command.is_closed {
        return Ok(());
    }
    let payment = command.payment;
    let (Some(earned), Some(captured), Some(left)) =
        (&payment.points_earned, payment.captured.get(&Asset::Ecopay), division.left.get(&Asset::Ecopay))
    else {
        return Ok(());
    };
    let nothing = Balance::zero(Asset::Point);
    let mut available = command.points.unwrap_or(&nothing).clone();
    if let Some(returned) = division.returned.as_ref().and_then(|returned| returned.credited.as_ref()) {
        available = available.checked_apply(&returned.credit())?;
    }
    let earned = Earned { points: earned, with: captured, taken_back: &payment.points_taken_back };
    let money = division.parts.get(&Asset::Ecopay);
    division.points = earned.points_due(left, &available, money, terms.spent_points)?;
    Ok(())
}

impl Division {
    /// Whether what is returned in an asset goes to `breakage`.
    pub(super) fn is_forfeited(&self, asset: &Asset) -> bool {
        self.retired.contains(asset)
    }

    /// What goes to `breakage`.
    pub(super) fn forfeited(&self) -> BTreeMap<Asset, Amount> {
        let parts = self.parts.iter().filter(|(asset, _)| self.is_forfeited(asset));
        parts.map(|(asset, part)| (asset.clone(), part.clone())).collect()
    }

    /// The refunded money, less what is kept for spent points.
    pub(super) fn money(&self) -> Result<Option<Amount>, PlanRefusal> {
        match (self.parts.get(&Asset::Ecopay), &self.points.from_money) {
            (Some(part), Some(kept)) => Ok(part.checked_sub(kept)?),
            (part, _) => Ok(part.cloned()),
        }
    }

    /// How the refunded money is divided between a debt and the payer.
    pub(super) fn repaid(&self, command: &Refund<'_>) -> Result<Option<ReturningAmount>, PlanRefusal> {
        self.money()?.map(|money| command.wallet.divide(command.payment.payer, &money)).transpose()
    }
}
