//! A tenant's terms as a JSON file that an operator writes. Amounts and rates are strings; errors name the field.

use ledger_core::bank::{AccountKind, BankParts, Sender, SenderParts};
use ledger_core::calendar::{BankDeadline, ScheduleError};
use ledger_core::dynamo::Attributes;
use ledger_core::ids::Tenant;
use ledger_core::keys::Shards;
use ledger_core::money::{Amount, Asset, AssetSpec, Balance, Rate, Share, ShareKind};
use ledger_core::rate::RequestRate;
use ledger_core::terms::{
    AssetTerms, CardPinTerms, CashBonusTerms, CeilingTerms, Co2Terms, DisplayName, GrantLimits, HoldHours, KeyPhase,
    RegistrationNumber, SettlementTerms, SignInTerms, SpentPoints, TenantTerms, TermsChanges, TermsVersion, TopupTerms,
};
use ledger_core::time::TimeOfDay;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

/// What the names of limits begin with in a change of terms.
const LIMITS: &str = "limits.";

/// A terms file that is invalid.
#[derive(Debug, thiserror::Error)]
#[error("{field}: {why}")]
pub struct TermsError {
    field: String,
    why: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    assets: BTreeMap<String, AssetFile>,
    card: CardFile,
    /// Whether cash that merchants owe earns the card's bonus.
    cash_bonus: String,
    /// The most cash that the tills of a merchant may take when it is opened.
    cash_ceiling: String,
    co2: Co2File,
    /// What people call the programme; the tenant's slug if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
    #[serde(default = "due_shards_default")]
    due_shards: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold_hours: Option<u32>,
    key_phase: String,
    /// By `suspend` or `<holder>.<asset>.<rule>`, as the fields of a change without `limits.`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    limits: BTreeMap<String, String>,
    points_rate: String,
    /// What a merchant may refund when it is opened.
    refund_ceiling: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_per_second: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settlement: Option<SettlementFile>,
    spent_points: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    topup: Option<TopupFile>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AssetFile {
    #[serde(skip_serializing_if = "Option::is_none")]
    cap: Option<String>,
    /// The decimals of a regional currency; the other assets' are fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<u32>,
    spendable: bool,
    transferable: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CardFile {
    bonus_rate: String,
    cap: String,
    /// Payments above it need the card's PIN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pin_above: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Co2File {
    kg_per_yen: String,
    source: String,
    version: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TopupFile {
    abandoned_after_s: u64,
    points_rate: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettlementFile {
    /// How far ahead a payment day may be that a person states, in calendar days.
    #[serde(skip_serializing_if = "Option::is_none")]
    bank_ahead_days: Option<u8>,
    /// The time of day before which the bank takes a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    bank_cut_off: Option<String>,
    /// The time of day at which a file is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    bank_file_cut: Option<String>,
    /// How long before the payment day the bank must have a file, in banking days.
    #[serde(skip_serializing_if = "Option::is_none")]
    bank_lead_days: Option<u8>,
    fee_rate: String,
    /// The number under which the operator issues qualified invoices.
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_number: Option<String>,
    /// When merchants' periods are closed and paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<SenderFile>,
    tax_rate: String,
}

/// The account that merchants are paid from. Names are in kana.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SenderFile {
    account_holder: String,
    account_number: String,
    account_type: String,
    bank_code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    bank_name: Option<String>,
    branch_code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_name: Option<String>,
    sender_code: String,
}

/// Parses the text of a terms file of a tenant.
///
/// # Errors
/// [`TermsError`], which names the field.
pub fn parse(text: &str, tenant: &Tenant) -> Result<TenantTerms, TermsError> {
    let file: File = serde_json::from_str(text).map_err(|error| wrong("terms", error))?;
    let mut assets = BTreeMap::new();
    for (name, asset) in &file.assets {
        let terms = asset_terms(name, asset)?;
        assets.insert(terms.spec.asset().clone(), terms);
    }
    if !assets.contains_key(&Asset::Ecopay) {
        return Err(wrong("assets", "ECOPAY is missing: every tenant needs it"));
    }
    let display_name = match &file.display_name {
        Some(name) => DisplayName::parse(name).map_err(|error| wrong("display_name", error))?,
        None => DisplayName::of_slug(tenant),
    };
    let topup = file.topup.map(|topup| {
        let points_rate = share("topup.points_rate", &topup.points_rate)?;
        Ok(TopupTerms { points_rate, abandoned_after: Duration::from_secs(topup.abandoned_after_s) })
    });
    let spent_points = match file.spent_points.as_str() {
        "deduct" => SpentPoints::Deduct,
        "forgive" => SpentPoints::Forgive,
        _ => return Err(wrong("spent_points", "is `deduct` or `forgive`")),
    };
    let schedule = file.settlement.as_ref().and_then(|settlement| settlement.schedule.as_deref());
    let schedule =
        schedule.map(|text| text.parse().map_err(|error: ScheduleError| wrong("settlement.schedule", error)));
    let terms = TenantTerms {
        version: TermsVersion::FIRST,
        display_name,
        key_phase: KeyPhase::parse(&file.key_phase)
            .ok_or_else(|| wrong("key_phase", "is `mandatory`, or `optional` for a tenant that brings old clients"))?,
        assets,
        co2: Co2Terms {
            rate: Rate::parse(&file.co2.kg_per_yen).map_err(|error| wrong("co2.kg_per_yen", error))?,
            source: file.co2.source,
            version: file.co2.version,
        },
        points_rate: share("points_rate", &file.points_rate)?,
        card_cap: amount("card.cap", &AssetSpec::ECOPAY, &file.card.cap)?,
        card_bonus_rate: share("card.bonus_rate", &file.card.bonus_rate)?,
        card_pin: card_pin_terms("card.pin_above", file.card.pin_above.as_deref())?,
        spent_points,
        due_shards: Shards::new(file.due_shards).ok_or_else(|| wrong("due_shards", "is 1 to 64"))?,
        topup: topup.transpose()?,
        requests_per_second: file.requests_per_second.map(request_rate).transpose()?,
        hold_hours: file.hold_hours.map(hold_hours).transpose()?,
        limits: None,
        settlement: file.settlement.as_ref().map(settlement_terms).transpose()?,
        settlement_schedule: schedule.transpose()?,
        cash_bonus: CashBonusTerms::parse(&file.cash_bonus)
            .ok_or_else(|| wrong("cash_bonus", "is `never` or `when_covered`"))?,
        ceilings: CeilingTerms {
            refund: yen_or_zero("refund_ceiling", &file.refund_ceiling)?,
            cash: yen_or_zero("cash_ceiling", &file.cash_ceiling)?,
        },
        grant_limits: GrantLimits::default(),
        sign_ins: SignInTerms::OwnIds,
    };
    terms.check_schedule().map_err(|never| wrong("settlement.schedule", never))?;
    if terms.bank_deadline().is_some_and(|deadline| deadline.file_cut > deadline.cut_off) {
        return Err(wrong("settlement.bank_file_cut", "is not after settlement.bank_cut_off"));
    }
    with_limits(terms, &file.limits)
}

/// Adds the limits of a file to terms that have none.
fn with_limits(terms: TenantTerms, limits: &BTreeMap<String, String>) -> Result<TenantTerms, TermsError> {
    if limits.is_empty() {
        return Ok(terms);
    }
    let wanted = limits.iter().map(|(name, to)| (format!("{LIMITS}{name}"), Some(to.clone()))).collect();
    let changes = TermsChanges::plan(&terms, &wanted).map_err(|errors| {
        let first = errors.into_iter().next();
        first.map_or_else(|| wrong("limits", "is invalid"), |error| wrong(&error.field, error.why))
    })?;
    changes.applied(&terms).ok_or_else(|| wrong("limits", "is invalid"))
}

/// Parses the amount above which a card's payment needs its PIN; `None` if cards have no PIN.
fn card_pin_terms(field: &str, above: Option<&str>) -> Result<CardPinTerms, TermsError> {
    let Some(text) = above else { return Ok(CardPinTerms::NotUsed) };
    CardPinTerms::above(yen_or_zero(field, text)?).ok_or_else(|| wrong(field, "is a whole number of yen, 0 or more"))
}

fn yen_or_zero(field: &str, text: &str) -> Result<Balance, TermsError> {
    match text {
        "0" => Ok(Balance::zero(Asset::Ecopay)),
        text => Ok(amount(field, &AssetSpec::ECOPAY, text)?.as_balance()),
    }
}

fn hold_hours(hours: u32) -> Result<HoldHours, TermsError> {
    let why = || format!("is 1 to {}; leave it out for {}", HoldHours::MAX.hours(), HoldHours::DEFAULT.hours());
    HoldHours::new(hours).ok_or_else(|| wrong("hold_hours", why()))
}

fn share<K: ShareKind>(field: &str, text: &str) -> Result<Share<K>, TermsError> {
    Share::parse(text).map_err(|error| wrong(field, error))
}

fn request_rate(per_second: u32) -> Result<RequestRate, TermsError> {
    let why = || format!("is 1 to {}; leave it out for the deployment's default", RequestRate::MAX.per_second());
    RequestRate::new(per_second).ok_or_else(|| wrong("requests_per_second", why()))
}

fn settlement_terms(file: &SettlementFile) -> Result<SettlementTerms, TermsError> {
    Ok(SettlementTerms {
        fee_rate: share("settlement.fee_rate", &file.fee_rate)?,
        tax_rate: share("settlement.tax_rate", &file.tax_rate)?,
        sender: file.sender.as_ref().map(sender).transpose()?,
        registration: file.registration_number.as_deref().map(registration).transpose()?,
        deadline: bank_deadline(file)?,
    })
}

/// When the bank takes a file; the default for what the file leaves out.
fn bank_deadline(file: &SettlementFile) -> Result<BankDeadline, TermsError> {
    let default = BankDeadline::DEFAULT;
    let days = |name: &str, days: Option<u8>, default: u8, among: RangeInclusive<u8>| {
        let why = || wrong(name, format!("is {} to {}; leave it out for {default}", among.start(), among.end()));
        Some(days.unwrap_or(default)).filter(|days| among.contains(days)).ok_or_else(why)
    };
    let time = |name: &str, time: Option<&str>, default: TimeOfDay| {
        time.map_or(Some(default), TimeOfDay::parse).ok_or_else(|| wrong(name, "is a time of day from 00:00 to 23:59"))
    };
    Ok(BankDeadline {
        lead_days: days("settlement.bank_lead_days", file.bank_lead_days, default.lead_days, BankDeadline::LEAD_DAYS)?,
        cut_off: time("settlement.bank_cut_off", file.bank_cut_off.as_deref(), default.cut_off)?,
        file_cut: time("settlement.bank_file_cut", file.bank_file_cut.as_deref(), default.file_cut)?,
        ahead_days: days(
            "settlement.bank_ahead_days",
            file.bank_ahead_days,
            default.ahead_days,
            BankDeadline::AHEAD_DAYS,
        )?,
    })
}

fn registration(number: &str) -> Result<RegistrationNumber, TermsError> {
    RegistrationNumber::parse(number).ok_or_else(|| wrong("settlement.registration_number", "must be T and 13 digits"))
}

fn sender(file: &SenderFile) -> Result<Sender, TermsError> {
    let kind = AccountKind::parse(&file.account_type)
        .ok_or_else(|| wrong("settlement.sender.account_type", "is `ordinary`, `checking` or `savings`"))?;
    let account = BankParts {
        bank_code: &file.bank_code,
        bank_name: file.bank_name.as_deref(),
        branch_code: &file.branch_code,
        branch_name: file.branch_name.as_deref(),
        kind,
        number: &file.account_number,
        holder: &file.account_holder,
    };
    Sender::new(&SenderParts { code: &file.sender_code, account }).map_err(|error| wrong("settlement.sender", error))
}

fn sender_file(sender: &Sender) -> SenderFile {
    let item = sender.item();
    // All attributes of the sender are strings.
    let text = |name: &str| item.opt_string(name).ok().flatten();
    let known = |name: &str| text(name).unwrap_or_default();
    SenderFile {
        account_holder: known("account_holder"),
        account_number: known("account_number"),
        account_type: known("account_type"),
        bank_code: known("bank_code"),
        bank_name: text("bank_name"),
        branch_code: known("branch_code"),
        branch_name: text("branch_name"),
        sender_code: known("sender_code"),
    }
}

fn asset_terms(name: &str, file: &AssetFile) -> Result<AssetTerms, TermsError> {
    let field = format!("assets.{name}");
    let asset = Asset::parse(name).map_err(|error| wrong(&field, error))?;
    let spec = match (asset, file.scale) {
        (Asset::Regional(key), scale) => AssetSpec::regional(key, scale.unwrap_or(0))
            .ok_or_else(|| wrong(&field, format!("scale is 0 to {}", AssetSpec::MAX_SCALE)))?,
        (Asset::Ecopay | Asset::Point | Asset::Jcredit, Some(_)) => {
            return Err(wrong(&field, "scale is for regional currencies: leave it out"));
        }
        (Asset::Ecopay, None) => AssetSpec::ECOPAY,
        (Asset::Point, None) => AssetSpec::POINT,
        (Asset::Jcredit, None) => AssetSpec::JCREDIT,
    };
    let cap = file.cap.as_ref().map(|cap| amount(&format!("{field}.cap"), &spec, cap)).transpose()?;
    Ok(AssetTerms { transferable: file.transferable, spendable: file.spendable, ..AssetTerms::running(spec, cap) })
}

/// The text of a terms file that [`parse`] reads.
#[must_use]
pub fn text(terms: &TenantTerms) -> String {
    let assets = terms.assets.iter().map(|(asset, terms)| {
        let scale = match asset {
            Asset::Regional(_) => Some(terms.spec.scale()),
            Asset::Ecopay | Asset::Point | Asset::Jcredit => None,
        };
        let cap = terms.cap.as_ref().map(Amount::text);
        (asset.to_string(), AssetFile { cap, scale, spendable: terms.spendable, transferable: terms.transferable })
    });
    let file = File {
        assets: assets.collect(),
        card: CardFile {
            bonus_rate: terms.card_bonus_rate.text(),
            cap: terms.card_cap.text(),
            pin_above: terms.card_pin.is_used().then(|| terms.card_pin.text()),
        },
        cash_bonus: terms.cash_bonus.name().to_owned(),
        cash_ceiling: terms.ceilings.cash.text(),
        co2: Co2File {
            kg_per_yen: terms.co2.rate.text(),
            source: terms.co2.source.clone(),
            version: terms.co2.version.clone(),
        },
        display_name: Some(terms.display_name.to_string()),
        due_shards: terms.due_shards.count(),
        hold_hours: terms.hold_hours.map(HoldHours::hours),
        key_phase: terms.key_phase.name().to_owned(),
        limits: terms
            .fields()
            .into_iter()
            .filter_map(|(field, value)| Some((field.strip_prefix(LIMITS)?.to_owned(), value)))
            .collect(),
        points_rate: terms.points_rate.text(),
        refund_ceiling: terms.ceilings.refund.text(),
        requests_per_second: terms.requests_per_second.map(RequestRate::per_second),
        settlement: terms.settlement.as_ref().map(|settlement| SettlementFile {
            bank_ahead_days: Some(settlement.deadline.ahead_days),
            bank_cut_off: Some(settlement.deadline.cut_off.to_string()),
            bank_file_cut: Some(settlement.deadline.file_cut.to_string()),
            bank_lead_days: Some(settlement.deadline.lead_days),
            fee_rate: settlement.fee_rate.text(),
            registration_number: settlement.registration.as_ref().map(ToString::to_string),
            schedule: terms.settlement_schedule.map(|schedule| schedule.to_string()),
            sender: settlement.sender.as_ref().map(sender_file),
            tax_rate: settlement.tax_rate.text(),
        }),
        spent_points: match terms.spent_points {
            SpentPoints::Deduct => "deduct".to_owned(),
            SpentPoints::Forgive => "forgive".to_owned(),
        },
        topup: terms.topup.as_ref().map(|topup| TopupFile {
            abandoned_after_s: topup.abandoned_after.as_secs(),
            points_rate: topup.points_rate.text(),
        }),
    };
    serde_json::to_string_pretty(&file).unwrap_or_default()
}

fn amount(field: &str, spec: &AssetSpec, text: &str) -> Result<Amount, TermsError> {
    Amount::parse(spec, text).map_err(|error| wrong(field, error))
}

fn wrong(field: &str, why: impl Display) -> TermsError {
    TermsError { field: field.to_owned(), why: why.to_string() }
}

fn due_shards_default() -> u32 {
    Shards::DUE_DEFAULT.count()
}

#[cfg(test)]
mod tests;
