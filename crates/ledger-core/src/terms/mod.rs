//! The terms of tenants and merchants, read from their records through a cache.

mod asset;
mod card_pin;
mod cash_bonus;
mod ceilings;
mod display_name;
mod field_names;
mod field_values;
mod fields;
mod grant_limits;
mod schedule;
mod settlement;
mod sign_ins;
mod terminal;
#[cfg(test)]
mod tests;

pub use crate::terms_version::TermsVersion;
pub use crate::transaction::EntryTerms;
pub use asset::{AssetState, AssetTerms};
pub use card_pin::CardPinTerms;
pub use cash_bonus::CashBonusTerms;
pub use ceilings::CeilingTerms;
pub use display_name::DisplayName;
pub use fields::{TermsChanges, TermsField, TermsFieldChange, TermsFieldError, percent_of};
pub use grant_limits::GrantLimits;
pub(crate) use schedule::{FROM, LAST, NEXT, TERMS, TERMS_FROM, VERSION, folded};
pub use schedule::{NextTerms, TERMS_LEAD, TermsSchedule, is_ahead};
pub use settlement::{Charged, RegistrationNumber, SettlementTerms};
pub use sign_ins::SignInTerms;
pub use terminal::TerminalTerms;

use crate::calendar::{BankDeadline, NeverOnTime, SettlementSchedule};
use crate::dynamo::{Attributes, Condition, Item, ItemError, Value};
use crate::form;
use crate::ids::MerchantId;
use crate::keys::Shards;
use crate::limits::{self, LimitTerms};
use crate::merchant_state::MerchantState;
use crate::money::{Amount, Asset, AssetSpec, Rate, Reward, Share};
use crate::rate::RequestRate;
use crate::words::words;
use std::collections::BTreeMap;
use std::time::Duration;

/// The attribute of `CONFIG` that stores a migration from a legacy model.
pub(crate) const MIGRATION: &str = "migration";
/// The attribute within it that says when the migration ended.
pub(crate) const CONTRACTED_AT: &str = "contracted_at";
const REQUESTS: &str = "requests_per_second";
const HOLD: &str = "hold_hours";
const SCHEDULE: &str = "settlement_schedule";

/// Requires of `CONFIG` that split records alone hold the tenant's customers: it never migrated, or its migration has
/// ended and never begins again.
pub(crate) fn split_alone() -> Condition {
    Condition::absent(MIGRATION).or(Condition::exists(format!("{MIGRATION}.{CONTRACTED_AT}")))
}

/// A tenant's terms and switches at an instant, from its `CONFIG` item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantTerms {
    /// The version of the terms.
    pub version: TermsVersion,
    /// What people call the programme.
    pub display_name: DisplayName,
    /// Whether requests must carry an idempotency key.
    pub key_phase: KeyPhase,
    /// The assets that are enabled for the tenant.
    pub assets: BTreeMap<Asset, AssetTerms>,
    /// How the CO2 estimate is computed.
    pub co2: Co2Terms,
    /// Points per yen of money paid, rounded down per payment.
    pub points_rate: Share<Reward>,
    /// The most that a card may hold, in yen.
    pub card_cap: Amount,
    /// Bonus yen per yen loaded onto a card, rounded down per top-up.
    pub card_bonus_rate: Share<Reward>,
    /// Which payments of cards need the card's PIN.
    pub card_pin: CardPinTerms,
    /// What happens to earned points that are spent when their payment is refunded.
    pub spent_points: SpentPoints,
    /// The number of shards of the tenant's due work.
    pub due_shards: Shards,
    /// Top-ups through the payment provider; `None` if the tenant offers none.
    pub topup: Option<TopupTerms>,
    /// The limit on the tenant's requests; `None`: the deployment's default.
    pub requests_per_second: Option<RequestRate>,
    /// How long a merchant may hold a customer's money; `None`: [`HoldHours::DEFAULT`].
    pub hold_hours: Option<HoldHours>,
    /// The terms of settlements; `None`: no fee, and no account to pay from.
    pub settlement: Option<SettlementTerms>,
    /// When merchants' periods are closed and paid; `None`: a person closes them.
    pub settlement_schedule: Option<SettlementSchedule>,
    /// The limits of customers and cards; `None`: none, and nothing is counted.
    pub limits: Option<LimitTerms>,
    /// Whether cash that merchants owe earns a bonus.
    pub cash_bonus: CashBonusTerms,
    /// The ceilings that a merchant begins with.
    pub ceilings: CeilingTerms,
    /// The most that one person grants alone.
    pub grant_limits: GrantLimits,
    /// What says which customer the subject of a token is.
    pub sign_ins: SignInTerms,
}

/// How many hours a merchant may hold a customer's money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldHours(u32);

/// Terms of top-ups through the payment provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopupTerms {
    /// Points per yen topped up, rounded down per top-up.
    pub points_rate: Share<Reward>,
    /// How long an unpaid top-up keeps its headroom before its cancellation is requested.
    pub abandoned_after: Duration,
}

words! {
    /// The staged rollout of idempotency keys.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum KeyPhase {
        /// A request without a key is executed under a generated key.
        Optional = "optional",
        /// A request without a key is refused.
        Mandatory = "mandatory",
    }
}

words! {
    /// What a refund does with earned points that the customer has spent.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SpentPoints {
        /// They are deducted from the refunded money, one yen per point.
        Deduct = "deduct",
        /// They are forgiven.
        Forgive = "forgive",
    }
}

/// How the CO2 estimate is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Co2Terms {
    /// Kg of CO2 per yen.
    pub rate: Rate,
    /// Where the rate comes from.
    pub source: String,
    /// The version of that source.
    pub version: String,
}

impl HoldHours {
    /// Seven days.
    pub const DEFAULT: Self = Self(7 * 24);
    /// Thirty days: well within the time for which a capture's or a void's key is replayed.
    pub const MAX: Self = Self(30 * 24);

    /// Accepts one hour to [`HoldHours::MAX`]; `None` for any other number.
    #[must_use]
    pub fn new(hours: u32) -> Option<Self> {
        (1..=Self::MAX.0).contains(&hours).then_some(Self(hours))
    }

    /// The number of hours.
    #[must_use]
    pub fn hours(self) -> u32 {
        self.0
    }

    /// The same as a duration.
    #[must_use]
    pub fn duration(self) -> Duration {
        Duration::from_secs(u64::from(self.0).saturating_mul(60 * 60))
    }
}

impl TenantTerms {
    /// The terms of an asset; `None` if it is not enabled for the tenant.
    #[must_use]
    pub fn asset(&self, asset: &Asset) -> Option<&AssetTerms> {
        self.assets.get(asset)
    }

    /// An asset's name and scale; `None` if it is not enabled for the tenant.
    #[must_use]
    pub fn spec(&self, asset: &Asset) -> Option<&AssetSpec> {
        self.assets.get(asset).map(|terms| &terms.spec)
    }

    /// How long a merchant may hold a customer's money.
    #[must_use]
    pub fn hold_for(&self) -> Duration {
        self.hold_hours.unwrap_or(HoldHours::DEFAULT).duration()
    }

    /// When the tenant's bank takes a file of transfers; `None` if the tenant has no account to pay from.
    #[must_use]
    pub fn bank_deadline(&self) -> Option<&BankDeadline> {
        self.settlement.as_ref().filter(|settlement| settlement.sender.is_some()).map(|settlement| &settlement.deadline)
    }

    /// Checks that the tenant's bank can pay on the days of the schedule, if there are both.
    ///
    /// # Errors
    /// [`NeverOnTime`], whose text says which rule is the earliest.
    pub fn check_schedule(&self) -> Result<(), NeverOnTime> {
        let both = self.settlement_schedule.zip(self.bank_deadline());
        both.map_or(Ok(()), |(schedule, deadline)| schedule.check_on_time(deadline))
    }

    /// What an entry that is planned under these terms takes from them.
    #[must_use]
    pub fn of_entry(&self) -> EntryTerms {
        EntryTerms { due_shards: self.due_shards, version: self.version }
    }

    /// Reads the terms in the attributes of a `CONFIG` item, whatever version follows them.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or was not written by [`TenantTerms::item`].
    pub(crate) fn of_attributes(item: &Item) -> Result<Self, ItemError> {
        let mut assets = BTreeMap::new();
        for (name, terms) in item.map("assets")? {
            let Value::M(terms) = terms else {
                return Err(ItemError::invalid("assets"));
            };
            let asset = Asset::parse(name).map_err(|_| ItemError::invalid("assets"))?;
            assets.insert(asset.clone(), AssetTerms::read(asset, terms)?);
        }
        Ok(Self {
            version: TermsVersion::read(item)?,
            display_name: DisplayName::read(item)?,
            key_phase: item.named("key_phase", KeyPhase::parse)?,
            assets,
            co2: Co2Terms {
                rate: item.rate("co2_rate")?,
                source: item.string("co2_source")?,
                version: item.string("co2_version")?,
            },
            points_rate: item.share("points_rate")?,
            card_cap: item.amount("card_cap", Asset::Ecopay)?,
            card_bonus_rate: item.share("card_bonus_rate")?,
            card_pin: CardPinTerms::read(item)?,
            spent_points: item.named("spent_points", SpentPoints::parse)?,
            due_shards: item.checked_int("due_shards", Shards::new)?,
            topup: item.opt_map("topup")?.map(TopupTerms::read).transpose()?,
            requests_per_second: item.opt_checked_int(REQUESTS, RequestRate::new)?,
            hold_hours: item.opt_checked_int(HOLD, HoldHours::new)?,
            settlement: item.opt_map("settlement")?.map(SettlementTerms::read).transpose()?,
            settlement_schedule: item.opt_parsed(SCHEDULE, str::parse)?,
            limits: item.opt_map(limits::ATTRIBUTE)?.map(LimitTerms::read).transpose()?,
            cash_bonus: CashBonusTerms::read(item)?,
            ceilings: CeilingTerms::read(item)?,
            grant_limits: GrantLimits::read(item)?,
            sign_ins: SignInTerms::read(item)?,
        })
    }

    /// The attributes of the `CONFIG` item.
    #[must_use]
    pub fn item(&self) -> Item {
        let assets = self.assets.iter().map(|(asset, terms)| (asset.to_string(), Value::M(terms.item()))).collect();
        let mut item = Item::from([
            form::format_attribute(),
            self.display_name.attribute(),
            ("key_phase".to_owned(), Value::s(self.key_phase.name())),
            ("assets".to_owned(), Value::M(assets)),
            ("co2_rate".to_owned(), Value::N(self.co2.rate.text())),
            ("co2_source".to_owned(), Value::s(&self.co2.source)),
            ("co2_version".to_owned(), Value::s(&self.co2.version)),
            ("points_rate".to_owned(), Value::N(self.points_rate.text())),
            ("card_cap".to_owned(), Value::N(self.card_cap.text())),
            ("card_bonus_rate".to_owned(), Value::N(self.card_bonus_rate.text())),
            ("spent_points".to_owned(), Value::s(self.spent_points.name())),
            ("due_shards".to_owned(), Value::int(self.due_shards.count().into())),
        ]);
        if let Some(topup) = &self.topup {
            item.insert("topup".to_owned(), Value::M(topup.item()));
        }
        if let Some(rate) = self.requests_per_second {
            item.insert(REQUESTS.to_owned(), Value::int(rate.per_second().into()));
        }
        if let Some(hold) = self.hold_hours {
            item.insert(HOLD.to_owned(), Value::int(hold.hours().into()));
        }
        if let Some(settlement) = &self.settlement {
            item.insert("settlement".to_owned(), Value::M(settlement.item()));
        }
        if let Some(schedule) = &self.settlement_schedule {
            item.insert(SCHEDULE.to_owned(), Value::s(schedule));
        }
        if let Some(limits) = &self.limits {
            item.insert(limits::ATTRIBUTE.to_owned(), Value::M(limits.item()));
        }
        item.extend(self.version.attribute());
        item.extend(self.card_pin.item());
        item.extend([self.cash_bonus.attribute()]);
        item.extend(self.ceilings.attributes());
        item.extend(self.grant_limits.attribute());
        item.extend(self.sign_ins.item());
        item
    }
}

impl TopupTerms {
    fn read(item: &Item) -> Result<Self, ItemError> {
        let seconds = item.int("abandoned_after_s")?;
        Ok(Self { points_rate: item.share("points_rate")?, abandoned_after: Duration::from_secs(seconds) })
    }

    pub(super) fn item(&self) -> Item {
        let seconds = i64::try_from(self.abandoned_after.as_secs()).unwrap_or(i64::MAX);
        Item::from([
            ("points_rate".to_owned(), Value::N(self.points_rate.text())),
            ("abandoned_after_s".to_owned(), Value::int(seconds)),
        ])
    }
}

/// A merchant's data that a payment needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MerchantTerms {
    /// The merchant.
    pub id: MerchantId,
    /// The displayed name.
    pub name: String,
    /// Whether it may take payments.
    pub open: bool,
    /// Whether it is closed or being closed: then it refunds none either.
    pub closing: bool,
    /// The number of shards on which its payments are listed.
    pub shards: Shards,
}

impl MerchantTerms {
    /// Reads a merchant's `PROFILE` item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let state = MerchantState::read(item)?;
        Ok(Self {
            id: item.parsed("merchant_id", MerchantId::parse)?,
            name: item.string("name")?,
            open: state.is_open(),
            closing: state.is_closing(),
            shards: item.checked_int("shards", Shards::new)?,
        })
    }
}
