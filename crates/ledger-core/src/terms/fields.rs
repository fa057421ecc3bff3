//! The single terms of a programme, by name: what a change of terms sets or clears, and what is shown of a version.

use super::field_values::{NOT_ENABLED, amount, balance, days, flag, must, rate, share, shown, source};
use super::{
    CardPinTerms, CashBonusTerms, DisplayName, HoldHours, RegistrationNumber, SettlementTerms, SpentPoints,
    TenantTerms, TopupTerms, asset,
};
use crate::calendar::{BankDeadline, ScheduleError};
use crate::canonical::parse_canonical;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::limits::{Holder, LimitChange, LimitTerms, LimitValue, Rule};
use crate::money::{Amount, Asset, AssetSpec, Balance, Charge, Reward, Share};
use crate::rate::RequestRate;
use crate::time::TimeOfDay;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long an unpaid top-up keeps its headroom, where the first change of a tenant's top-up terms does not say it.
const ABANDONED_AFTER_DEFAULT: Duration = Duration::from_secs(60 * 60);
/// The longest time that an unpaid top-up may keep its headroom, in seconds: a week.
const ABANDONED_AFTER_MAX: u64 = 7 * 24 * 60 * 60;

/// One of the terms of a programme.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TermsField {
    // First, because the other fields of an asset can be set in the change that adds it.
    /// The number of decimals of a regional currency; a change with it adds the currency.
    AssetScale(Asset),
    /// Whether grants of a regional currency take from a budget.
    AssetBudgeted(Asset),
    /// The most that a customer may hold of an asset.
    AssetCap(Asset),
    /// Whether merchants accept an asset.
    AssetSpendable(Asset),
    /// How far a regional currency is stopped.
    AssetState(Asset),
    /// Whether customers may send an asset to each other.
    AssetTransferable(Asset),
    /// Bonus yen per yen loaded onto a card.
    CardBonusRate,
    /// The most that a card may hold, in yen.
    CardCap,
    /// The yen above which a card's payment needs the PIN.
    CardPinAbove,
    /// Whether cash that merchants owe earns a bonus.
    CashBonus,
    /// The most cash, in yen, that the tills of a merchant may take when it is opened.
    CashCeiling,
    /// Kg of CO2 per yen.
    Co2Rate,
    /// Where the CO2 rate comes from.
    Co2Source,
    /// The version of that source.
    Co2Version,
    /// What people call the programme.
    DisplayName,
    /// The most that one request may grant of an asset without approval.
    GrantLimit(Asset),
    /// How long a merchant may hold a customer's money, in hours.
    HoldHours,
    /// A limit of accounts, of merchants or of roles.
    Limit(Holder, Asset, Rule),
    /// Whether a merchant above its limit of a day is suspended.
    LimitsSuspend,
    /// Points per yen paid.
    PointsRate,
    /// What a merchant may refund, in yen, when it is opened.
    RefundCeiling,
    /// The tenant's requests in a second.
    RequestsPerSecond,
    /// How far ahead a payment day may be that a person states, in calendar days.
    SettlementBankAheadDays,
    /// The time of day before which the bank takes a file.
    SettlementBankCutOff,
    /// When the bank's file is written.
    SettlementBankFileCut,
    /// How long before the payment day the bank must have a file, in banking days.
    SettlementBankLeadDays,
    /// Yen of fee per yen settled.
    SettlementFeeRate,
    /// The number under which the operator issues qualified invoices.
    SettlementRegistration,
    /// The days on which merchants' periods are closed, and when they are paid.
    SettlementSchedule,
    /// Yen of tax per yen of fee.
    SettlementTaxRate,
    /// What a refund does with earned points that are spent.
    SpentPoints,
    /// How long an unpaid top-up keeps its headroom, in seconds.
    TopupAbandonedAfter,
    /// Points per yen topped up.
    TopupPointsRate,
}

/// What is wrong with one field of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermsFieldError {
    /// The name, as sent.
    pub field: String,
    /// What is wrong. It does not repeat the value.
    pub why: String,
}

/// The change of one of the terms. Values are canonical texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermsFieldChange {
    /// The field.
    pub field: TermsField,
    /// Its value before; `None`: it had none.
    pub from: Option<String>,
    /// Its value after; `None`: it is cleared.
    pub to: Option<String>,
}

/// Changes of terms, each field once and in the order of the fields. There is at least one, and each changes its field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermsChanges(Vec<TermsFieldChange>);

impl TermsField {
    /// The value in a tenant's terms; `None` if the field is not set.
    #[must_use]
    pub fn value(&self, terms: &TenantTerms) -> Option<String> {
        let of_asset = |asset: &Asset| terms.assets.get(asset);
        let of_regional = |asset: &Asset| of_asset(asset).filter(|_| matches!(asset, Asset::Regional(_)));
        match self {
            Self::AssetBudgeted(asset) => Some(of_regional(asset)?.budgeted.to_string()),
            Self::AssetCap(asset) => of_asset(asset)?.cap.as_ref().map(Amount::text),
            Self::AssetScale(asset) => Some(of_regional(asset)?.spec.scale().to_string()),
            Self::AssetSpendable(asset) => Some(of_asset(asset)?.spendable.to_string()),
            Self::AssetState(asset) => Some(of_regional(asset)?.state.name().to_owned()),
            Self::AssetTransferable(asset) => Some(of_asset(asset)?.transferable.to_string()),
            Self::CardBonusRate => Some(terms.card_bonus_rate.text()),
            Self::CardCap => Some(terms.card_cap.text()),
            Self::CardPinAbove => terms.card_pin.is_used().then(|| terms.card_pin.text()),
            Self::CashBonus => Some(terms.cash_bonus.name().to_owned()),
            Self::CashCeiling => Some(terms.ceilings.cash.text()),
            Self::Co2Rate => Some(terms.co2.rate.text()),
            Self::Co2Source => Some(terms.co2.source.clone()),
            Self::Co2Version => Some(terms.co2.version.clone()),
            Self::DisplayName => Some(terms.display_name.to_string()),
            Self::GrantLimit(asset) => terms.grant_limits.0.get(asset).map(Amount::text),
            Self::HoldHours => terms.hold_hours.map(|hold| hold.hours().to_string()),
            Self::Limit(holder, asset, rule) => terms.limits.as_ref()?.rule(*holder, asset, *rule).map(Balance::text),
            Self::LimitsSuspend => terms.limits.as_ref().map(|limits| limits.suspends().to_string()),
            Self::PointsRate => Some(terms.points_rate.text()),
            Self::RefundCeiling => Some(terms.ceilings.refund.text()),
            Self::RequestsPerSecond => terms.requests_per_second.map(|rate| rate.per_second().to_string()),
            Self::SettlementBankAheadDays => Some(terms.settlement.as_ref()?.deadline.ahead_days.to_string()),
            Self::SettlementBankCutOff => Some(terms.settlement.as_ref()?.deadline.cut_off.to_string()),
            Self::SettlementBankFileCut => Some(terms.settlement.as_ref()?.deadline.file_cut.to_string()),
            Self::SettlementBankLeadDays => Some(terms.settlement.as_ref()?.deadline.lead_days.to_string()),
            Self::SettlementFeeRate => terms.settlement.as_ref().map(|settlement| settlement.fee_rate.text()),
            Self::SettlementRegistration => Some(terms.settlement.as_ref()?.registration.as_ref()?.to_string()),
            Self::SettlementSchedule => terms.settlement_schedule.map(|schedule| schedule.to_string()),
            Self::SettlementTaxRate => terms.settlement.as_ref().map(|settlement| settlement.tax_rate.text()),
            Self::SpentPoints => Some(terms.spent_points.name().to_owned()),
            Self::TopupAbandonedAfter => terms.topup.as_ref().map(|topup| topup.abandoned_after.as_secs().to_string()),
            Self::TopupPointsRate => terms.topup.as_ref().map(|topup| topup.points_rate.text()),
        }
    }

    /// Sets the value in a tenant's terms, or clears it. Returns what is wrong with it.
    fn set(&self, terms: &mut TenantTerms, to: Option<&str>) -> Result<(), String> {
        let yen = |text: &str| balance(&AssetSpec::ECOPAY, text);
        match self {
            Self::AssetBudgeted(asset) => asset::regional(terms, asset)?.budgeted = flag(must(to)?)?,
            Self::AssetScale(asset) => asset::add(terms, asset, must(to)?)?,
            Self::AssetState(asset) => {
                let of_asset = asset::regional(terms, asset)?;
                of_asset.state = asset::next_state(of_asset.state, must(to)?)?;
            }
            Self::AssetCap(asset) => {
                let of_asset = terms.assets.get_mut(asset).ok_or(NOT_ENABLED)?;
                of_asset.cap = to.map(|text| amount(&of_asset.spec, text)).transpose()?;
            }
            Self::AssetSpendable(asset) => {
                terms.assets.get_mut(asset).ok_or(NOT_ENABLED)?.spendable = flag(must(to)?)?;
            }
            Self::AssetTransferable(asset) => {
                terms.assets.get_mut(asset).ok_or(NOT_ENABLED)?.transferable = flag(must(to)?)?;
            }
            Self::CardBonusRate => terms.card_bonus_rate = share(must(to)?)?,
            Self::CardCap => terms.card_cap = amount(&AssetSpec::ECOPAY, must(to)?)?,
            Self::CardPinAbove => {
                terms.card_pin = match to {
                    Some(text) => CardPinTerms::Above(balance(&AssetSpec::ECOPAY, text)?),
                    None => CardPinTerms::NotUsed,
                }
            }
            Self::CashBonus => {
                terms.cash_bonus = CashBonusTerms::parse(must(to)?).ok_or("must be never or when_covered")?;
            }
            Self::CashCeiling => terms.ceilings.cash = yen(must(to)?)?,
            Self::Co2Rate => terms.co2.rate = rate(must(to)?)?,
            Self::Co2Source => terms.co2.source = source(must(to)?)?,
            Self::Co2Version => terms.co2.version = source(must(to)?)?,
            Self::DisplayName => {
                terms.display_name = DisplayName::parse(must(to)?).map_err(|error| error.to_string())?;
            }
            Self::GrantLimit(asset) => {
                let spec = terms.spec(asset).ok_or(NOT_ENABLED)?;
                let limit = to.map(|text| amount(spec, text)).transpose()?;
                drop(match limit {
                    Some(limit) => terms.grant_limits.0.insert(asset.clone(), limit),
                    None => terms.grant_limits.0.remove(asset),
                });
            }
            Self::HoldHours => {
                let hours = |text| parse_canonical(text).and_then(HoldHours::new);
                let wrong = || format!("must be a whole number from 1 to {}", HoldHours::MAX.hours());
                terms.hold_hours = to.map(|text| hours(text).ok_or_else(wrong)).transpose()?;
            }
            Self::Limit(holder, asset, rule) => {
                let spec = terms.spec(asset).ok_or(NOT_ENABLED)?;
                let to = match to {
                    Some(text) => LimitValue::AtMost(balance(spec, text)?),
                    None => LimitValue::Unlimited,
                };
                let limits = terms.limits.take().unwrap_or_else(LimitTerms::none);
                terms.limits = Some(limits.with(*holder, asset, &LimitChange { rule: *rule, to }));
            }
            Self::LimitsSuspend => {
                let suspends = flag(must(to)?)?;
                terms.limits = Some(terms.limits.take().unwrap_or_else(LimitTerms::none).suspending(suspends));
            }
            Self::PointsRate => terms.points_rate = share(must(to)?)?,
            Self::RefundCeiling => terms.ceilings.refund = yen(must(to)?)?,
            Self::RequestsPerSecond => {
                let wrong = || format!("must be a whole number from 1 to {}", RequestRate::MAX.per_second());
                let per_second = |text| parse_canonical(text).and_then(RequestRate::new).ok_or_else(wrong);
                terms.requests_per_second = to.map(per_second).transpose()?;
            }
            Self::SettlementBankAheadDays => {
                let days = days(must(to)?, BankDeadline::AHEAD_DAYS)?;
                settlement(terms).deadline.ahead_days = days;
            }
            Self::SettlementBankCutOff => {
                let cut_off = time_of_day(must(to)?)?;
                settlement(terms).deadline.cut_off = cut_off;
            }
            Self::SettlementBankFileCut => {
                let file_cut = time_of_day(must(to)?)?;
                settlement(terms).deadline.file_cut = file_cut;
            }
            Self::SettlementBankLeadDays => {
                let days = days(must(to)?, BankDeadline::LEAD_DAYS)?;
                settlement(terms).deadline.lead_days = days;
            }
            Self::SettlementFeeRate => {
                let fee_rate = share(must(to)?)?;
                settlement(terms).fee_rate = fee_rate;
            }
            Self::SettlementRegistration => {
                let number = |text| RegistrationNumber::parse(text).ok_or("must be T and 13 digits".to_owned());
                let number = to.map(number).transpose()?;
                if number.is_some() || terms.settlement.is_some() {
                    settlement(terms).registration = number;
                }
            }
            Self::SettlementSchedule => {
                let schedule = |text: &str| text.parse().map_err(|error: ScheduleError| error.to_string());
                terms.settlement_schedule = to.map(schedule).transpose()?;
            }
            Self::SettlementTaxRate => {
                let tax_rate = share(must(to)?)?;
                settlement(terms).tax_rate = tax_rate;
            }
            Self::SpentPoints => {
                terms.spent_points = SpentPoints::parse(must(to)?).ok_or("must be deduct or forgive")?;
            }
            Self::TopupAbandonedAfter => {
                let wrong = || format!("must be a whole number from 1 to {ABANDONED_AFTER_MAX}");
                let seconds = parse_canonical::<u64>(must(to)?).filter(|s| (1..=ABANDONED_AFTER_MAX).contains(s));
                topup(terms).abandoned_after = Duration::from_secs(seconds.ok_or_else(wrong)?);
            }
            Self::TopupPointsRate => {
                let points_rate = share(must(to)?)?;
                topup(terms).points_rate = points_rate;
            }
        }
        Ok(())
    }
}

impl TermsField {
    /// Whether it decides on which day a period is paid.
    fn is_of_payment_day(&self) -> bool {
        matches!(self, Self::SettlementSchedule | Self::SettlementBankCutOff | Self::SettlementBankLeadDays)
    }

    /// Whether it decides on when a bank file is written.
    fn is_of_file(&self) -> bool {
        matches!(self, Self::SettlementBankFileCut | Self::SettlementBankCutOff)
    }

    /// Checks what depends on the terms before the change. Returns what is wrong.
    fn check_since(&self, before: &TenantTerms, after: &TenantTerms) -> Result<(), String> {
        let is_late = matches!(self, Self::AssetBudgeted(asset) if before.assets.contains_key(asset));
        // What was granted of an asset without a budget is in none.
        match is_late && self.value(before) != self.value(after) {
            true => Err("can be set by the change that adds the asset only".to_owned()),
            false => Ok(()),
        }
    }
}

/// The value of a field in per cent; `None` unless the field is a share of money.
#[must_use]
pub fn percent_of(field: &str, value: &str) -> Option<String> {
    let field = TermsField::SINGLE.into_iter().find_map(|(of, name)| (name == field).then_some(of))?;
    if matches!(field, TermsField::SettlementFeeRate | TermsField::SettlementTaxRate) {
        return share::<Charge>(value).ok().map(|share| share.percent());
    }
    let is_reward = matches!(field, TermsField::CardBonusRate | TermsField::PointsRate | TermsField::TopupPointsRate);
    if is_reward { share::<Reward>(value).ok().map(|share| share.percent()) } else { None }
}

impl TenantTerms {
    /// The terms of the programme that are set, by the name of the field.
    #[must_use]
    pub fn fields(&self) -> BTreeMap<String, String> {
        let single = TermsField::SINGLE.into_iter().map(|(field, _)| field);
        let of_asset = |asset: &Asset| {
            [
                TermsField::AssetScale(asset.clone()),
                TermsField::AssetBudgeted(asset.clone()),
                TermsField::AssetCap(asset.clone()),
                TermsField::AssetSpendable(asset.clone()),
                TermsField::AssetState(asset.clone()),
                TermsField::AssetTransferable(asset.clone()),
                TermsField::GrantLimit(asset.clone()),
            ]
        };
        let rules = self.limits.iter().flat_map(LimitTerms::rules_of_tenant);
        let limits = rules.map(|(holder, asset, rule)| TermsField::Limit(holder, asset.clone(), rule));
        let fields = single.chain(self.assets.keys().flat_map(of_asset)).chain(limits);
        fields.filter_map(|field| Some((field.to_string(), field.value(self)?))).collect()
    }
}

impl TermsChanges {
    /// The changes that bring a tenant's terms to the wanted values; `None` clears a field. Fields that have the wanted
    /// value already are left out.
    ///
    /// # Errors
    /// Every field that is unknown or has an invalid value, or `changes` if nothing would change.
    pub fn plan(terms: &TenantTerms, wanted: &BTreeMap<String, Option<String>>) -> Result<Self, Vec<TermsFieldError>> {
        let (mut after, mut fields, mut errors) = (terms.clone(), BTreeMap::new(), BTreeMap::new());
        for (name, to) in wanted {
            match TermsField::parse(name) {
                Some(field) => drop(fields.insert(field, (name, to.as_deref()))),
                None => {
                    let why = "is no term of the programme".to_owned();
                    errors.insert(name, TermsFieldError { field: shown(name), why });
                }
            }
        }
        for (field, (name, to)) in &fields {
            if let Err(why) = field.set(&mut after, *to).and_then(|()| field.check_since(terms, &after)) {
                errors.insert(*name, TermsFieldError { field: (*name).clone(), why });
            }
        }
        if errors.is_empty()
            && let Some(deadline) = after.bank_deadline()
            && deadline.file_cut > deadline.cut_off
        {
            let of = fields.iter().filter(|(field, _)| field.is_of_file()).map(|(_, (name, _))| *name);
            let why = "a file is written at settlement.bank_file_cut, which must not be after settlement.bank_cut_off";
            errors.extend(of.map(|name| (name, TermsFieldError { field: name.clone(), why: why.to_owned() })));
        }
        if errors.is_empty()
            && let Err(why) = after.check_schedule()
        {
            let of = fields.iter().filter(|(field, _)| field.is_of_payment_day()).map(|(_, (name, _))| *name);
            errors.extend(of.map(|name| (name, TermsFieldError { field: name.clone(), why: why.to_string() })));
        }
        if !errors.is_empty() {
            return Err(errors.into_values().collect());
        }
        let change = |field: TermsField| {
            let (from, to) = (field.value(terms), field.value(&after));
            (from != to).then_some(TermsFieldChange { field, from, to })
        };
        let changes: Vec<TermsFieldChange> = fields.into_keys().filter_map(change).collect();
        if changes.is_empty() {
            let why = "must have a field with another value than the present one".to_owned();
            return Err(vec![TermsFieldError { field: "changes".to_owned(), why }]);
        }
        Ok(Self(changes))
    }

    /// The changes, in the order of the fields.
    pub fn iter(&self) -> impl Iterator<Item = &TermsFieldChange> {
        self.0.iter()
    }

    /// The terms with these changes; `None` if a field has another value than before the changes, or does not allow its
    /// value any more.
    #[must_use]
    pub fn applied(&self, terms: &TenantTerms) -> Option<TenantTerms> {
        let mut after = terms.clone();
        for TermsFieldChange { field, from, to } in &self.0 {
            if field.value(terms) != *from {
                return None;
            }
            field.set(&mut after, to.as_deref()).ok()?;
        }
        Some(after)
    }

    /// The stored form.
    #[must_use]
    pub(crate) fn item(&self) -> Value {
        let stored = |change: &TermsFieldChange| {
            let mut item = Item::from([("field".to_owned(), Value::s(&change.field))]);
            item.extend(change.from.as_ref().map(|from| ("from".to_owned(), Value::s(from))));
            item.extend(change.to.as_ref().map(|to| ("to".to_owned(), Value::s(to))));
            Value::M(item)
        };
        Value::L(self.0.iter().map(stored).collect())
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// [`ItemError`] if it is malformed, or names a field that this release does not know.
    pub(crate) fn read(item: &Item, name: &str) -> Result<Self, ItemError> {
        let changes = item.maps(name, |change| {
            Ok(TermsFieldChange {
                field: change.named("field", TermsField::parse)?,
                from: change.opt_string("from")?,
                to: change.opt_string("to")?,
            })
        })?;
        let is_ordered = changes.windows(2).all(|pair| matches!(pair, [a, b] if a.field < b.field));
        if changes.is_empty() || !is_ordered { Err(ItemError::invalid(name)) } else { Ok(Self(changes)) }
    }
}

fn time_of_day(text: &str) -> Result<TimeOfDay, String> {
    TimeOfDay::parse(text).ok_or_else(|| "must be a time of day in Japan, from 00:00 to 23:59".to_owned())
}

fn settlement(terms: &mut TenantTerms) -> &mut SettlementTerms {
    terms.settlement.get_or_insert_with(SettlementTerms::free)
}

fn topup(terms: &mut TenantTerms) -> &mut TopupTerms {
    terms.topup.get_or_insert(TopupTerms { points_rate: Share::ZERO, abandoned_after: ABANDONED_AFTER_DEFAULT })
}
