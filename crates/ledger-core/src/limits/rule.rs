//! The rules: which operation of which holder, in which period, up to which amount.

use crate::account::Account;
use crate::money::{Amount, Asset, AssetSpec, Balance};
use crate::time::Timestamp;
use crate::words::words;
use std::fmt;

words! {
    /// Whose account a rule is for, or whose role.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Holder {
        /// Customers' wallets.
        Customer = "customer",
        /// Stored-value cards.
        Card = "card",
        /// Merchants: what each payment to one may have, and what all payments to one may have on a day.
        Merchant = "merchant",
        /// Terminals: what each operation at one may have.
        Terminal = "terminal",
        /// Managers of a merchant.
        MerchantManager = "merchant_manager",
        /// Owners of a merchant.
        MerchantOwner = "merchant_owner",
        /// Treasurers of the operator.
        Treasurer = "treasurer",
        /// Owners of the operator.
        Owner = "owner",
    }
}

words! {
    /// The operations that a limit counts together.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum LimitKind {
        /// Payments and authorizations.
        Pay = "pay",
        /// Transfers to another customer.
        Transfer = "transfer",
        /// Top-ups through the payment provider, from their request on.
        Topup = "topup",
        /// Cash loaded onto a card.
        CashTopup = "cash_topup",
        /// Refunds that a member of a merchant's staff makes.
        Refund = "refund",
        /// Grants that a member of the operator's staff issues.
        Grant = "grant",
    }
}

words! {
    /// The period that a limit is for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum LimitPeriod {
        /// One operation.
        Operation = "operation",
        /// A calendar day in Japan.
        Day = "day",
        /// A calendar month in Japan.
        Month = "month",
    }
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
    /// Whose account it is; `None` for accounts of merchants, which have no counted limits, and of the tenant, which have none.
    #[must_use]
    pub fn of(account: Account) -> Option<Self> {
        match account {
            Account::Customer(_) => Some(Self::Customer),
            Account::Card(_) => Some(Self::Card),
            Account::Merchant(_) | Account::Tenant(_) => None,
        }
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

impl LimitPeriod {
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
        self.to.text()
    }
}

impl LimitValue {
    /// As a command has it: an amount, `none` or `default`.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::AtMost(most) => most.text(),
            Self::Unlimited => "none".to_owned(),
            Self::Default => "default".to_owned(),
        }
    }
}

impl fmt::Display for LimitChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.rule, self.value())
    }
}
