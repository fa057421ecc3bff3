//! The names of the single terms, as a change of terms has them.

use super::TermsField;
use crate::limits::{Holder, Rule};
use crate::money::Asset;
use std::fmt;

impl TermsField {
    /// The fields that every tenant has, whatever its assets and limits are.
    pub(super) const SINGLE: [(Self, &'static str); 25] = [
        (Self::CardBonusRate, "card.bonus_rate"),
        (Self::CardCap, "card.cap"),
        (Self::CardPinAbove, "card.pin_above"),
        (Self::CashBonus, "cash_bonus"),
        (Self::CashCeiling, "cash_ceiling"),
        (Self::Co2Rate, "co2.kg_per_yen"),
        (Self::Co2Source, "co2.source"),
        (Self::Co2Version, "co2.version"),
        (Self::DisplayName, "display_name"),
        (Self::HoldHours, "hold_hours"),
        (Self::LimitsSuspend, "limits.suspend"),
        (Self::PointsRate, "points_rate"),
        (Self::RefundCeiling, "refund_ceiling"),
        (Self::RequestsPerSecond, "requests_per_second"),
        (Self::SettlementBankAheadDays, "settlement.bank_ahead_days"),
        (Self::SettlementBankCutOff, "settlement.bank_cut_off"),
        (Self::SettlementBankFileCut, "settlement.bank_file_cut"),
        (Self::SettlementBankLeadDays, "settlement.bank_lead_days"),
        (Self::SettlementFeeRate, "settlement.fee_rate"),
        (Self::SettlementRegistration, "settlement.registration_number"),
        (Self::SettlementSchedule, "settlement.schedule"),
        (Self::SettlementTaxRate, "settlement.tax_rate"),
        (Self::SpentPoints, "spent_points"),
        (Self::TopupAbandonedAfter, "topup.abandoned_after_s"),
        (Self::TopupPointsRate, "topup.points_rate"),
    ];

    /// Parses a name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        if let Some((field, _)) = Self::SINGLE.into_iter().find(|(_, known)| *known == name) {
            return Some(field);
        }
        let parts: Vec<&str> = name.split('.').collect();
        let named = |text: &str| Asset::parse(text).ok();
        match parts.as_slice() {
            ["assets", name, "budgeted"] => named(name).map(Self::AssetBudgeted),
            ["assets", name, "cap"] => named(name).map(Self::AssetCap),
            ["assets", name, "scale"] => named(name).map(Self::AssetScale),
            ["assets", name, "spendable"] => named(name).map(Self::AssetSpendable),
            ["assets", name, "state"] => named(name).map(Self::AssetState),
            ["assets", name, "transferable"] => named(name).map(Self::AssetTransferable),
            ["grant_limits", name] => named(name).map(Self::GrantLimit),
            ["limits", holder, name, rule] => {
                let (holder, rule) = (Holder::parse(holder)?, Rule::parse(rule)?);
                let is_known = holder.kinds().contains(&rule.kind) && holder.periods().contains(&rule.period);
                named(name).filter(|_| is_known).map(|asset| Self::Limit(holder, asset, rule))
            }
            _ => None,
        }
    }
}

impl fmt::Display for TermsField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AssetBudgeted(asset) => write!(f, "assets.{asset}.budgeted"),
            Self::AssetCap(asset) => write!(f, "assets.{asset}.cap"),
            Self::AssetScale(asset) => write!(f, "assets.{asset}.scale"),
            Self::AssetSpendable(asset) => write!(f, "assets.{asset}.spendable"),
            Self::AssetState(asset) => write!(f, "assets.{asset}.state"),
            Self::AssetTransferable(asset) => write!(f, "assets.{asset}.transferable"),
            Self::GrantLimit(asset) => write!(f, "grant_limits.{asset}"),
            Self::Limit(holder, asset, rule) => write!(f, "limits.{}.{asset}.{rule}", holder.name()),
            Self::CardBonusRate
            | Self::CardCap
            | Self::CardPinAbove
            | Self::CashBonus
            | Self::CashCeiling
            | Self::Co2Rate
            | Self::Co2Source
            | Self::Co2Version
            | Self::DisplayName
            | Self::HoldHours
            | Self::LimitsSuspend
            | Self::PointsRate
            | Self::RefundCeiling
            | Self::RequestsPerSecond
            | Self::SettlementBankAheadDays
            | Self::SettlementBankCutOff
            | Self::SettlementBankFileCut
            | Self::SettlementBankLeadDays
            | Self::SettlementFeeRate
            | Self::SettlementRegistration
            | Self::SettlementSchedule
            | Self::SettlementTaxRate
            | Self::SpentPoints
            | Self::TopupAbandonedAfter
            | Self::TopupPointsRate => {
                let name = Self::SINGLE.iter().find(|(field, _)| field == self).map(|(_, name)| *name);
                f.write_str(name.unwrap_or_default())
            }
        }
    }
}
