//! Counting what an account uses of its limits, in the action that changes its balance.

use super::own::OWN;
use super::rule::{Holder, LimitKind, LimitPeriod, Rule};
use super::terms::{AccountLimits, LimitTerms};
use crate::account::{Account, TenantAccount};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, TerminalOwner};
use crate::journal::COUNTED;
use crate::keys::{attr, sk};
use crate::money::{Amount, Asset, Balance, MoneyError};
use crate::time::{BusinessDate, BusinessMonth, Timestamp};
use crate::transaction::{Clause, TransactItem};
use std::collections::{BTreeMap, BTreeSet};

/// What the name of every count begins with.
const USE: &str = "use_";

/// The operand of a count that is guarded by what a person may do alone.
const ALONE_MOST: &str = "alone_most";

/// The days whose counts are removed: those of a machine whose clock is late may still be yesterday's. What is older
/// stays on an account that was not used for longer.
const REMOVED_DAYS: std::ops::RangeInclusive<u16> = 2..=32;
/// The months whose counts are removed, likewise.
const REMOVED_MONTHS: std::ops::RangeInclusive<u8> = 2..=4;

/// A limit that an operation would exceed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitHit {
    /// The account. Only its own holder may be shown the rest.
    pub account: Account,
    /// The kind of operation.
    pub kind: LimitKind,
    /// The period.
    pub period: LimitPeriod,
    /// The asset.
    pub asset: Asset,
    /// When the period ends; `None` for a limit of one operation.
    pub resets_at: Option<Timestamp>,
}

/// Why an operation cannot be planned within the limits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitRefusal {
    /// It exceeds a limit by itself.
    #[error("the amount exceeds a limit")]
    Exceeded(LimitHit),
    /// It exceeds a limit of the tenant, and the account's own limits were not read.
    #[error("the account's own limits were not read")]
    Unread,
    /// The sums do not fit.
    #[error(transparent)]
    Money(#[from] MoneyError),
}

/// Counts the amounts of one operation of an account.
#[derive(Debug)]
pub struct UseCounter<'a> {
    terms: Option<&'a LimitTerms>,
    account: Account,
    kind: LimitKind,
    now: Timestamp,
    counted: Item,
    /// Where the operation takes place.
    place: Option<Place>,
}

/// Where an operation takes place. Its limits bound each operation, and count nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a merchant, without a terminal.
    Merchant(MerchantId),
    /// At a terminal of this owner.
    Terminal(TerminalOwner),
}

impl<'a> UseCounter<'a> {
    /// A counter for an operation at `now`. Without limits it changes nothing.
    #[must_use]
    pub fn new(terms: Option<&'a LimitTerms>, account: Account, kind: LimitKind, now: Timestamp) -> Self {
        Self { terms, account, kind, now, counted: Item::new(), place: None }
    }

    /// Bounds the operation by the limits of the place too.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Counts an amount in the action that changes its balance: `ADD use_pay_20261123 :counted` if the count is absent
    /// or at most `:day_most`, the limit less the amount; the same for the month.
    ///
    /// # Errors
    /// [`LimitRefusal`] if the amount alone exceeds a limit.
    pub fn count(&mut self, item: TransactItem, amount: &Amount) -> Result<TransactItem, LimitRefusal> {
        let Some(terms) = self.terms else { return Ok(item) };
        self.bound(terms, amount)?;
        let limits = terms.in_force(self.account, amount.asset(), self.kind).into_iter();
        let limits = limits.map(|(period, most)| (period, most, Failure::LimitExceeded));
        let item = item.guarded_also(Vec::from_iter(self.own_limits_as_read(terms, amount.asset())));
        match count(item, (self.kind, ""), amount, limits, self.now)? {
            Count::Exceeded(period) => Err(self.exceeded(terms, period, amount.asset())),
            Count::Of(item, added) => {
                if !added.is_empty() {
                    let names = added.into_iter().map(|name| (name, Value::N(amount.text()))).collect();
                    self.counted.insert(amount.asset().to_string(), Value::M(names));
                }
                Ok(*item)
            }
        }
    }

    /// Refuses an amount above what one operation may have at the place.
    fn bound(&self, terms: &LimitTerms, amount: &Amount) -> Result<(), LimitRefusal> {
        let Some(place) = self.place else { return Ok(()) };
        let rule = Rule { kind: self.kind, period: LimitPeriod::Operation };
        let (account, holders): (Account, &[Holder]) = match place {
            Place::Merchant(id) => (Account::Merchant(id), &[Holder::Merchant]),
            Place::Terminal(TerminalOwner::Merchant(id)) => {
                (Account::Merchant(id), &[Holder::Merchant, Holder::Terminal])
            }
            Place::Terminal(TerminalOwner::Operator) => {
                (Account::Tenant(TenantAccount::CashClearing), &[Holder::Terminal])
            }
        };
        for holder in holders {
            let most = terms.rules(*holder, amount.asset()).and_then(|rules| rules.get(&rule));
            let Some(most) = most else { continue };
            if most.checked_sub(&amount.as_balance())?.value().is_sign_negative() {
                return Err(LimitRefusal::Exceeded(LimitHit {
                    account,
                    kind: self.kind,
                    period: LimitPeriod::Operation,
                    asset: amount.asset().clone(),
                    resets_at: None,
                }));
            }
        }
        Ok(())
    }

    /// What was counted, by asset and by the count's name, as an attribute of the operation's journal entry or record; `None`
    /// if nothing was.
    #[must_use]
    pub fn counted(self) -> Option<(String, Value)> {
        (!self.counted.is_empty()).then(|| (COUNTED.to_owned(), Value::M(self.counted)))
    }

    /// Requires that the account's own limits are those that the plan was made with.
    fn own_limits_as_read(&self, terms: &LimitTerms, asset: &Asset) -> Option<Clause> {
        let condition = match (terms.account(), terms.own(asset).and_then(|own| own.text())) {
            (AccountLimits::NoneAnywhere, _) => return None,
            (AccountLimits::Unread | AccountLimits::Read(_), None) => Condition::absent(OWN),
            (AccountLimits::Unread | AccountLimits::Read(_), Some(own)) => {
                Condition::compare(OWN, Cmp::Eq, "own_limits", Value::s(own))
            }
        };
        Some(Clause { condition, failure: Failure::StalePlan })
    }

    fn exceeded(&self, terms: &LimitTerms, period: LimitPeriod, asset: &Asset) -> LimitRefusal {
        match terms.account() {
            AccountLimits::Unread => LimitRefusal::Unread,
            AccountLimits::NoneAnywhere | AccountLimits::Read(_) => LimitRefusal::Exceeded(LimitHit {
                account: self.account,
                kind: self.kind,
                period,
                asset: asset.clone(),
                resets_at: period.resets_at(self.now),
            }),
        }
    }
}

/// The result of counting an amount.
pub(super) enum Count {
    /// The action with the guards and the counts, and the names of the counts.
    Of(Box<TransactItem>, Vec<String>),
    /// The amount alone exceeds the limit of this period.
    Exceeded(LimitPeriod),
}

/// What an item has of a kind in the day of an instant. What follows the date in the name of the count is `suffix`.
pub(super) fn used_of_day(
    item: &Item,
    (kind, suffix): (LimitKind, &str),
    asset: &Asset,
    now: Timestamp,
) -> Result<Balance, ItemError> {
    let day = Use { kind, of: Of::Day(now.business_date()) };
    item.balance_or_zero(&format!("{}{suffix}", day.name()), asset.clone())
}

/// Counts an amount in an action, guarded on the limit of each period with its failure. What follows the date in the names
/// of the counts is `suffix`.
pub(super) fn count<'a>(
    item: TransactItem,
    (kind, suffix): (LimitKind, &str),
    amount: &Amount,
    limits: impl IntoIterator<Item = (LimitPeriod, &'a Balance, Failure)>,
    now: Timestamp,
) -> Result<Count, MoneyError> {
    let (mut clauses, mut added, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    for (period, limit, failure) in limits {
        let rest = limit.checked_sub(&amount.as_balance())?;
        if rest.value().is_sign_negative() {
            return Ok(Count::Exceeded(period));
        }
        let Some(use_) = Use::at(kind, period, now) else { continue };
        let name = format!("{}{suffix}", use_.name());
        // The operand says which of the two limits of a day it is.
        let placeholder = if failure == Failure::StalePlan { ALONE_MOST } else { use_.placeholder() };
        let most = Condition::compare(name.clone(), Cmp::Le, placeholder, Value::N(rest.text()));
        clauses.push(Clause { condition: Condition::absent(name.clone()).or(most), failure });
        removed.extend(use_.removed().into_iter().map(|name| format!("{name}{suffix}")));
        added.push(name);
    }
    let item = item.guarded_also(clauses);
    if added.is_empty() {
        return Ok(Count::Of(Box::new(item), added));
    }
    let item = item.changing(|update| {
        let update = if update.is_empty() { update.set(attr::UPDATED_AT, "ua", Value::s(now)) } else { update };
        let add = |update: Update, name: &String| update.add(name.clone(), "counted", Value::N(amount.text()));
        let update = added.iter().fold(update, add);
        removed.into_iter().fold(update, Update::remove)
    });
    Ok(Count::Of(Box::new(item), added))
}

impl LimitHit {
    /// The limit whose guard failed in an action on a customer's balance; `None` of any other guard.
    #[must_use]
    pub fn of_guard(item: &TransactItem, old: Option<&Item>) -> Option<Self> {
        let failed = item.failure_on(old)?;
        let use_ = Use::parse(failed.condition.attribute())?;
        let asset = Asset::parse(item.key().sk().strip_prefix(sk::BALANCE)?).ok()?;
        let account = Account::Customer(item.key().customer()?);
        let (kind, period) = (use_.kind, use_.of.period());
        Some(Self { account, kind, period, asset, resets_at: Some(use_.of.end()) })
    }
}

/// A count: a kind of operation in one day or month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Use {
    kind: LimitKind,
    of: Of,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Day(BusinessDate),
    Month(BusinessMonth),
}

impl Of {
    fn period(self) -> LimitPeriod {
        match self {
            Self::Day(_) => LimitPeriod::Day,
            Self::Month(_) => LimitPeriod::Month,
        }
    }

    fn end(self) -> Timestamp {
        match self {
            Self::Day(date) => date.bounds().1,
            Self::Month(month) => month.end(),
        }
    }
}

impl Use {
    /// The count of a period at an instant; `None` for a single operation, which is not counted.
    pub(super) fn at(kind: LimitKind, period: LimitPeriod, now: Timestamp) -> Option<Self> {
        let date = now.business_date();
        let of = match period {
            LimitPeriod::Operation => return None,
            LimitPeriod::Day => Of::Day(date),
            LimitPeriod::Month => Of::Month(date.month()),
        };
        Some(Self { kind, of })
    }

    /// The attribute: `use_pay_20261123` or `use_pay_202611`.
    pub(super) fn name(self) -> String {
        let digits = match self.of {
            Of::Day(date) => date.digits(),
            Of::Month(month) => month.digits(),
        };
        format!("{USE}{}_{digits}", self.kind.name())
    }

    fn parse(name: &str) -> Option<Self> {
        let (kind, digits) = name.strip_prefix(USE)?.rsplit_once('_')?;
        let of = BusinessDate::from_digits(digits).map(Of::Day);
        let of = of.or_else(|| BusinessMonth::from_digits(digits).map(Of::Month))?;
        Some(Self { kind: LimitKind::parse(kind)?, of })
    }

    fn placeholder(self) -> &'static str {
        match self.of {
            Of::Day(_) => "day_most",
            Of::Month(_) => "month_most",
        }
    }

    /// The earlier counts of the same kind that the action removes.
    fn removed(self) -> Vec<String> {
        let earlier = |of: Of| Self { of, ..self }.name();
        match self.of {
            Of::Day(date) => REMOVED_DAYS.map(|days| earlier(Of::Day(date.days_before(days)))).collect(),
            Of::Month(month) => REMOVED_MONTHS.map(|months| earlier(Of::Month(month.months_before(months)))).collect(),
        }
    }
}

/// Whether an attribute of a balance item or a card is a count.
pub(crate) fn is_use(attribute: &str) -> bool {
    Use::parse(attribute).is_some()
}

/// Takes what an operation counted off its counts, in the action that reverses it.
///
/// `account` is the account's item as it was read. A count that it has no longer is left alone: its day is past. One that
/// it has must still be there, so that no count of a past day is created.
pub(crate) fn uncount(item: TransactItem, counted: &BTreeMap<String, Amount>, account: Option<&Item>) -> TransactItem {
    let present: BTreeSet<&String> = account.into_iter().flat_map(Item::keys).collect();
    let still = counted.iter().filter(|(name, _)| present.contains(name));
    still.fold(item, |item, (name, amount)| {
        let clause = Clause { condition: Condition::exists(name.clone()), failure: Failure::StalePlan };
        let back = Value::N(amount.debit().text());
        item.changing(|update| update.add(name.clone(), "uncounted", back)).guarded_also(vec![clause])
    })
}
