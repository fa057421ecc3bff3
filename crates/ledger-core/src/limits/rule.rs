//! The rules: which operation of which holder, in which period, up to which amount.

use crate::account::Account;
use crate::money::{Amount, Asset, AssetSpec, Balance};
use crate::time::Timestamp;
use std::fmt;

/// Whose account a rule is for, or whose role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    /// Customers' wallets.
    Customer,
    /// Stored-value cards.
    Card,
    /// Merchants: what each payment to one may have, and what all payments to one may have on a day.
    Merchant,
    /// Terminals: what each operation at one may have.
    Terminal,
    /// Managers of a merchant.
    MerchantManager,
    /// Owners of a merchant.
    MerchantOwner,
    /// Treasurers of the operator.
    Treasurer,
    /// Owners of the operator.
    Owner,
}

/// The operations that a limit counts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitKind {
    /// Payments and authorizations.
    Pay,
    /// Transfers to another customer.
    Transfer,
    /// Top-ups through the payment provider, from their request on.
    Topup,
    /// Cash loaded onto a card.
    CashTopup,
    /// Refunds that a member of a merchant's staff makes.
    Refund,
    /// Grants that a member of the operator's staff issues.
    Grant,
}

/// The period that a limit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitPeriod {
    /// One operation.
    Operation,
    /// A calendar day in Japan.
    Day,
    /// A calendar month in Japan.
    Month,
}

/// A kind of operation and a period, `pay_day`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule {
    /// The kind of operation.
    pub kind: LimitKind,
    /// The period.
    pub period: LimitPeriod,
}

/// What a rule is changed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitValue {
    /// At most this. Zero allows nothing.
    AtMost(Balance),
    /// No limit.
    Unlimited,
    /// The tenant's limit, for an account; no limit, for a tenant.
    Default,
}

/// A change of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitChange {
    /// The rule.
    pub rule: Rule,
    /// Its new value.
    pub to: LimitValue,
}

impl Holder {
    /// Every kind of holder.
    pub const ALL: [Self; 8] = [
        Self::Customer,
        Self::Card,
        Self::Merchant,
        Self::Terminal,
        Self::MerchantManager,
        Self::MerchantOwner,
        Self::Treasurer,
        Self::Owner,
    ];

    /// Whose account it is; `None` for accounts of merchants, which have no counted limits, and of the tenant, which have none.
    #[must_use]
    pub fn of(account: Account) -> Option<Self> {
        match account {
            Account::Customer(_) => Some(Self::Customer),
            Account::Card(_) => Some(Self::Card),
            Account::Merchant(_) | Account::Tenant(_) => None,
        }
    }

    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Card => "card",
            Self::Merchant => "merchant",
            Self::Terminal => "terminal",
            Self::MerchantManager => "merchant_manager",
            Self::MerchantOwner => "merchant_owner",
            Self::Treasurer => "treasurer",
            Self::Owner => "owner",
        }
    }

    /// Parses a name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|holder| holder.name() == name)
    }

    /// The kinds of operations that it makes.
    #[must_use]
    pub const fn kinds(self) -> &'static [LimitKind] {
        match self {
            Self::Customer => &[LimitKind::Pay, LimitKind::Transfer, LimitKind::Topup],
            Self::Card => &[LimitKind::Pay, LimitKind::CashTopup],
            Self::Merchant => &[LimitKind::Pay],
            Self::Terminal => &[LimitKind::Pay, LimitKind::CashTopup],
            Self::MerchantManager | Self::MerchantOwner => &[LimitKind::Refund],
            Self::Treasurer | Self::Owner => &[LimitKind::Grant],
        }
    }

    /// The periods that its rules are for. A merchant's day is judged after the fact: its exact sum would be an item that
    /// all payers write.
    #[must_use]
    pub const fn periods(self) -> &'static [LimitPeriod] {
        match self {
            Self::Customer
            | Self::Card
            | Self::MerchantManager
            | Self::MerchantOwner
            | Self::Treasurer
            | Self::Owner => &LimitPeriod::ALL,
            Self::Merchant => &[LimitPeriod::Operation, LimitPeriod::Day],
            Self::Terminal => &[LimitPeriod::Operation],
        }
    }
}

impl LimitKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [Self::Pay, Self::Transfer, Self::Topup, Self::CashTopup, Self::Refund, Self::Grant];

    /// The stable name, as attributes have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pay => "pay",
            Self::Transfer => "transfer",
            Self::Topup => "topup",
            Self::CashTopup => "cash_topup",
            Self::Refund => "refund",
            Self::Grant => "grant",
        }
    }

    /// Parses a name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl LimitPeriod {
    /// Every period, shortest first: the order in which they are checked.
    pub const ALL: [Self; 3] = [Self::Operation, Self::Day, Self::Month];

    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    /// Parses a name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|period| period.name() == name)
    }

    /// When the period that contains `now` ends; `None` for a single operation.
    #[must_use]
    pub fn resets_at(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Operation => None,
            Self::Day => Some(now.business_date().bounds().1),
            Self::Month => Some(now.business_date().month().end()),
        }
    }
}

impl Rule {
    /// Parses `pay_day`; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let (kind, period) = name.rsplit_once('_')?;
        Some(Self { kind: LimitKind::parse(kind)?, period: LimitPeriod::parse(period)? })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.kind.name(), self.period.name())
    }
}

impl LimitChange {
    /// Parses `pay_day=5000`, `pay_day=none` or `pay_day=default`, for a holder and an asset.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(holder: Holder, spec: &AssetSpec, text: &str) -> Result<Self, &'static str> {
        let (name, value) = text.split_once('=').ok_or("use RULE=AMOUNT, for example pay_day=5000")?;
        let rule = Rule::parse(name).ok_or(
            "use pay, transfer, topup, cash_topup, refund or grant, then _operation, _day or _month, for example \
             pay_day=5000",
        )?;
        if !holder.kinds().contains(&rule.kind) {
            return Err(
                "customers have limits of pay, transfer and topup, cards and terminals of pay and cash_topup, merchants of \
                 pay, a merchant's staff of refund, and the operator's of grant",
            );
        }
        if !holder.periods().contains(&rule.period) {
            return Err("merchants have limits of an operation and a day, and terminals of an operation");
        }
        let to = match value {
            "none" => LimitValue::Unlimited,
            "default" => LimitValue::Default,
            "0" => LimitValue::AtMost(Balance::zero(spec.asset().clone())),
            amount => {
                let amount = Amount::parse(spec, amount);
                let amount = amount.map_err(|_| "the amount is none, default, or a decimal number of the asset")?;
                LimitValue::AtMost(amount.as_balance())
            }
        };
        Ok(Self { rule, to })
    }

    /// Parses the stored form; `None` for any other text.
    #[must_use]
    pub(crate) fn from_stored(asset: &Asset, text: &str) -> Option<Self> {
        let (name, value) = text.split_once('=')?;
        let to = match value {
            "none" => LimitValue::Unlimited,
            "default" => LimitValue::Default,
            number => LimitValue::AtMost(Balance::from_stored(asset.clone(), number).ok()?),
        };
        Some(Self { rule: Rule::parse(name)?, to })
    }

    /// The new value, as the command has it.
    #[must_use]
    pub fn value(&self) -> String {
        match &self.to {
            LimitValue::AtMost(most) => most.text(),
            LimitValue::Unlimited => "none".to_owned(),
            LimitValue::Default => "default".to_owned(),
        }
    }
}

impl fmt::Display for LimitChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.rule, self.value())
    }
}
