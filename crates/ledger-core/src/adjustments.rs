//! Adjustments of a balance by the operator. One person requests one, and another approves it.

use crate::account::{Account, Posting, TenantAccount};
use crate::audit::Act;
use crate::dynamo::{Attributes, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms::{self, Adjusted, SeenCorrections};
use crate::ids::{Actor, ApprovalId, FindingId, RunId, StaffId, Tenant};
use crate::keys::{self, Key, Partition, attr};
use crate::money::{Asset, Balance, Delta, MoneyError};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{AssetTerms, TenantTerms};
use crate::transaction::{Clause, Draft, Entry, Role, TransactItem, exists};
use crate::words::words;

/// The attribute of a break for the adjustment that was requested for it.
pub(crate) const ADJUSTMENT_ID: &str = "adjustment_id";
const FINDING: &str = "finding";
const DELTA: &str = "delta";
/// The attribute of a stored adjustment for what corrects `exposure`.
const EXPOSURE: &str = "exposure";

words! {
    /// Why books are adjusted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReasonCode {
        /// A mistake made by us or by a merchant.
        Correction = "correction",
        /// Money back for a complaint.
        Goodwill = "goodwill",
        /// Fraud.
        Fraud = "fraud",
        /// A break that reconciliation found.
        Reconciliation = "reconciliation",
        /// Value brought in when a wallet begins.
        Opening = "opening",
    }
}

/// A change of a balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjustment {
    /// The account whose balance is adjusted: a customer's or a card's.
    pub account: Account,
    /// The asset of the balance.
    pub asset: Asset,
    /// The signed change that is posted; `None` if only `exposure` is corrected.
    pub delta: Option<Delta>,
    /// The reason.
    pub reason: ReasonCode,
    /// The break that it corrects: a balance that changed without a journal entry.
    pub finding: Option<Answered>,
}

/// The break that an adjustment corrects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The run that found it.
    pub run: RunId,
    /// Its id.
    pub finding: FindingId,
    /// The version of the balance's corrections that the run read.
    pub seen: SeenCorrections,
    /// What a wallet's `exposure` was below the sum of its parts, or above it, when the run read it; `None` if it was that sum.
    // INVARIANT: it is copied from the break that the run stored. No request can state it.
    pub exposure: Option<Delta>,
}

impl Answered {
    fn read(item: &Item, name: &str, (account, asset): (Account, &Asset)) -> Result<Self, ItemError> {
        let wrong = || ItemError::invalid("finding");
        let (run, finding) = name.split_once('/').ok_or_else(wrong)?;
        let exposure = item.opt_delta(EXPOSURE, asset.clone())?;
        if exposure.is_some() && !matches!(account, Account::Customer(_)) {
            return Err(ItemError::invalid(EXPOSURE));
        }
        Ok(Self {
            exposure,
            run: RunId::parse(run).map_err(|_| wrong())?,
            finding: FindingId::parse(finding).map_err(|_| wrong())?,
            seen: SeenCorrections::kept(item)?,
        })
    }

    /// The name that the journal entry has for it: `<run>/<id>`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.run, self.finding)
    }

    /// Whether the balance as read was corrected since the run, or its `exposure` differs from its parts otherwise than the run
    /// found. No posting changes that difference.
    fn is_stale(&self, asset: &Asset, balance: &Item) -> Result<bool, ItemError> {
        let differs = match &self.exposure {
            Some(difference) => exposure_difference(asset, balance)?.value() != difference.value(),
            None => false,
        };
        Ok(differs || SeenCorrections::of_balance(balance)?.count > self.seen.count)
    }
}

/// The sum of a balance's parts, less its `exposure`.
fn exposure_difference(asset: &Asset, balance: &Item) -> Result<Balance, ItemError> {
    let sum = |name| balance.balance_or_zero(name, asset.clone());
    let out_of_range = |_: MoneyError| ItemError::invalid(attr::EXPOSURE);
    let parts = sum(attr::BALANCE)?.checked_plus(&sum(attr::HELD)?).map_err(out_of_range)?;
    let parts = parts.checked_plus(&sum(attr::RESERVED)?).map_err(out_of_range)?;
    parts.checked_sub(&sum(attr::EXPOSURE)?).map_err(out_of_range)
}

impl Adjustment {
    /// An adjustment that posts a change and answers no break.
    #[must_use]
    pub fn posting(account: Account, delta: Delta, reason: ReasonCode) -> Self {
        Self { account, asset: delta.asset().clone(), delta: Some(delta), reason, finding: None }
    }

    /// What it adds to `exposure` beyond what it posts.
    #[must_use]
    pub fn exposure(&self) -> Option<&Delta> {
        self.finding.as_ref().and_then(|answered| answered.exposure.as_ref())
    }

    /// The attributes of a stored adjustment.
    pub(crate) fn item(&self) -> Item {
        let mut item = Item::from([
            ("account".to_owned(), Value::s(self.account)),
            ("asset".to_owned(), Value::s(&self.asset)),
            ("reason_code".to_owned(), Value::s(self.reason.name())),
        ]);
        item.extend(self.delta.as_ref().map(|delta| (DELTA.to_owned(), Value::N(delta.text()))));
        if let Some(answered) = &self.finding {
            item.insert(FINDING.to_owned(), Value::S(answered.name()));
            item.extend(answered.seen.attributes());
            item.extend(answered.exposure.as_ref().map(|delta| (EXPOSURE.to_owned(), Value::N(delta.text()))));
        }
        item
    }

    /// Reads a stored adjustment.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub(crate) fn read(item: &Item) -> Result<Self, ItemError> {
        let asset = item.parsed("asset", Asset::parse)?;
        let account = item.parsed("account", Account::parse)?;
        let answered = |finding| Answered::read(item, finding, (account, &asset));
        let finding = item.opt_text(FINDING)?.map(answered).transpose()?;
        let delta = match finding.as_ref().and_then(|answered| answered.exposure.as_ref()) {
            Some(_) => item.opt_delta(DELTA, asset.clone())?,
            None => Some(item.delta(DELTA, asset.clone())?),
        };
        Ok(Self { account, asset, delta, reason: item.named("reason_code", ReasonCode::parse)?, finding })
    }

    /// The item that it is planned from: the balance, if it corrects a break.
    pub(crate) fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        let balance = self.finding.as_ref().and_then(|_| forms::balance_key(tenant, self.account, &self.asset));
        balance.into_iter().collect()
    }

    /// The record of the account: it exists even if the account has no balance of the asset.
    pub(crate) fn account_record(&self, tenant: &Tenant) -> Option<Key> {
        match self.account {
            Account::Customer(customer) => Some(Partition::customer(tenant, customer).profile()),
            Account::Card(_) => forms::balance_key(tenant, self.account, &self.asset),
            Account::Merchant(_) | Account::Tenant(_) => None,
        }
    }

    /// Whether the balance is not as the run that found the break had read it. In a tenant that is migrating, some of the
    /// corrections that the run counted may be on another item: the guard of the write finds what this does not.
    pub(crate) fn is_stale(&self, balance: Option<&Item>) -> Result<bool, ItemError> {
        let (Some(answered), Some(balance)) = (&self.finding, balance) else { return Ok(false) };
        answered.is_stale(&self.asset, balance)
    }

    /// `exposure` of the balance as read, and after the adjustment; `None` if it is not corrected.
    pub(crate) fn exposure_change(&self, balance: Option<&Item>) -> Result<Option<(Balance, Balance)>, ItemError> {
        let (Some(difference), Some(balance)) = (self.exposure(), balance) else { return Ok(None) };
        let before = balance.balance_or_zero(attr::EXPOSURE, self.asset.clone())?;
        let after =
            self.delta.iter().chain([difference]).try_fold(before.clone(), |sum, delta| sum.checked_apply(delta));
        Ok(Some((before, after.map_err(|_| ItemError::invalid(attr::EXPOSURE))?)))
    }

    /// What is written with its request: the break that it corrects has one adjustment. After a rejection the next run must
    /// find it anew.
    pub(crate) fn answers_break(&self, tenant: &Tenant, by: ApprovalId) -> Option<TransactItem> {
        let answered = self.finding.as_ref()?;
        let once = Clause { condition: Condition::absent(ADJUSTMENT_ID), failure: Failure::AlreadyExists };
        let update = Update::new().set(ADJUSTMENT_ID, "adjustment", Value::s(by));
        let key = keys::found_break(tenant, answered.run, answered.finding);
        Some(TransactItem::update(Role::Reconciliation, key, update, vec![exists(), once]))
    }
}

/// An adjustment that is posted.
#[derive(Clone, Copy, Debug)]
pub struct Adjust<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The person who requested it.
    pub requested_by: StaffId,
    /// The adjustment. Its id is the context's resource id.
    pub adjustment: &'a Adjustment,
    /// Why it is made.
    pub reason: &'a FreeText,
}

/// Builds the balance, the journal entry and the audit record of an adjustment. One that corrects `exposure` alone moves no
/// value, and has no entry.
///
/// # Errors
/// [`PlanRefusal`] if the account has no balance, the amount is zero, or a retired asset would be credited.
pub fn plan(command: &Adjust<'_>, terms: &TenantTerms, cx: &Context) -> Result<Draft, PlanRefusal> {
    let Adjust { tenant, requested_by, adjustment, reason } = *command;
    let Adjustment { account, asset, delta, reason: code, finding } = adjustment;
    let account = *account;
    if !account.has_balance_item() {
        return Err(PlanRefusal::Invalid { field: "account", why: "must be a customer's or a card's" });
    }
    let (role, guards) = match delta {
        Some(delta) => guards(account, delta, terms, finding.is_some())?,
        None if adjustment.exposure().is_some() => (Role::Payee, vec![exists()]),
        None => return Err(PlanRefusal::Refused(Failure::WrongState)),
    };
    let adjusted = Adjusted { asset, posted: delta.as_ref(), exposure: adjustment.exposure() };
    let changed = forms::adjust(tenant, role, (account, adjusted), cx.now, guards);
    let changed = changed.map(|item| match finding {
        Some(answered) => forms::correction(item, answered.seen, cx.now),
        None => item,
    });
    let act = Act::new(Actor::Staff(requested_by), Operation::Adjustment, account)
        .because(Some(reason))
        .with("reason_code", code.name())
        .with("asset", asset);
    let act = match delta {
        Some(delta) => act.with(DELTA, delta.text()),
        None => act,
    };
    let act = match adjustment.exposure() {
        Some(difference) => act.with(EXPOSURE, difference.text()),
        None => act,
    };
    let entry = delta.as_ref().map(|delta| entry(command, delta, terms, cx));
    Ok(Draft { entry, items: changed.into_iter().chain([act.record(tenant, cx)]).collect() })
}

/// The role of a balance that is posted to, and its guards. What answers a break corrects the record of what is held, whatever
/// the asset's state is.
fn guards(
    account: Account,
    delta: &Delta,
    terms: &TenantTerms,
    answers_break: bool,
) -> Result<(Role, Vec<Clause>), PlanRefusal> {
    let size = delta.size().ok_or(PlanRefusal::Refused(Failure::WrongState))?;
    if delta.is_debit() {
        return Ok((Role::Payer, forms::debitable(account, &size)));
    }
    if !answers_break && !terms.asset(size.asset()).is_none_or(AssetTerms::is_credited) {
        return Err(PlanRefusal::Invalid { field: "asset", why: "is retired: it is credited to no account" });
    }
    let open = forms::open(account, Failure::WrongState);
    Ok((Role::Payee, open.into_iter().chain(in_use(account)).collect()))
}

fn entry(command: &Adjust<'_>, delta: &Delta, terms: &TenantTerms, cx: &Context) -> Entry {
    let Adjust { requested_by, adjustment: Adjustment { account, reason, finding, .. }, .. } = *command;
    let mut details = Item::from([
        (ADJUSTMENT_ID.to_owned(), Value::s(ApprovalId::new(cx.resource_id))),
        ("reason_code".to_owned(), Value::s(reason.name())),
        ("requested_by".to_owned(), Value::s(requested_by)),
    ]);
    details.extend(finding.as_ref().map(|answered| (FINDING.to_owned(), Value::S(answered.name()))));
    Entry {
        id: cx.transaction_id,
        home: *account,
        postings: vec![
            Posting::new(*account, delta.clone()),
            Posting::new(Account::Tenant(TenantAccount::Adjustments), delta.inverse()),
        ],
        references: Vec::new(),
        details,
        memo: None,
        terms: terms.of_entry(),
    }
}

/// Requires of a card that no other has its place: what is credited to it would stay there.
fn in_use(account: Account) -> Option<Clause> {
    match account {
        Account::Card(_) => Some(forms::card_not_ended(Failure::WrongState)),
        Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => None,
    }
}
