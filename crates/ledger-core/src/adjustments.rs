//! Adjustments of a balance by the operator. One person requests one, and another approves it.

use crate::account::{Account, Posting, TenantAccount};
use crate::audit::Act;
use crate::dynamo::{Attributes, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms::{self, SeenCorrections};
use crate::ids::{Actor, ApprovalId, FindingId, RunId, StaffId, Tenant};
use crate::keys::{self, Key, Partition};
use crate::money::{Asset, Delta};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{AssetTerms, TenantTerms};
use crate::transaction::{Clause, Draft, Entry, Role, TransactItem, exists};
use crate::words::words;

/// The attribute of a break for the adjustment that was requested for it.
pub(crate) const ADJUSTMENT_ID: &str = "adjustment_id";
const FINDING: &str = "finding";

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
    /// The signed change.
    pub delta: Delta,
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
}

impl Answered {
    fn read(item: &Item, name: &str) -> Result<Self, ItemError> {
        let wrong = || ItemError::invalid("finding");
        let (run, finding) = name.split_once('/').ok_or_else(wrong)?;
        Ok(Self {
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
}

impl Adjustment {
    /// The attributes of a stored adjustment.
    pub(crate) fn item(&self) -> Item {
        let mut item = Item::from([
            ("account".to_owned(), Value::s(self.account)),
            ("asset".to_owned(), Value::s(self.delta.asset())),
            ("delta".to_owned(), Value::N(self.delta.text())),
            ("reason_code".to_owned(), Value::s(self.reason.name())),
        ]);
        if let Some(answered) = &self.finding {
            item.insert(FINDING.to_owned(), Value::S(answered.name()));
            item.extend(answered.seen.attributes());
        }
        item
    }

    /// Reads a stored adjustment.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub(crate) fn read(item: &Item) -> Result<Self, ItemError> {
        let asset = item.parsed("asset", Asset::parse)?;
        Ok(Self {
            account: item.parsed("account", Account::parse)?,
            delta: item.delta("delta", asset)?,
            reason: item.named("reason_code", ReasonCode::parse)?,
            finding: item.opt_text(FINDING)?.map(|finding| Answered::read(item, finding)).transpose()?,
        })
    }

    /// The item that it is planned from: the balance, if it corrects a break.
    pub(crate) fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        let balance = self.finding.as_ref().and_then(|_| forms::balance_key(tenant, self.account, self.delta.asset()));
        balance.into_iter().collect()
    }

    /// The record of the account: it exists even if the account has no balance of the asset.
    pub(crate) fn account_record(&self, tenant: &Tenant) -> Option<Key> {
        match self.account {
            Account::Customer(customer) => Some(Partition::customer(tenant, customer).profile()),
            Account::Card(_) => forms::balance_key(tenant, self.account, self.delta.asset()),
            Account::Merchant(_) | Account::Tenant(_) => None,
        }
    }

    /// Whether the balance was corrected after the run that found the break had read it. In a tenant that is migrating, some of
    /// the corrections that the run counted may be on another item: the guard of the write finds what this does not.
    pub(crate) fn is_stale(&self, balance: Option<&Item>) -> Result<bool, ItemError> {
        let (Some(answered), Some(balance)) = (&self.finding, balance) else { return Ok(false) };
        Ok(SeenCorrections::of_balance(balance)?.count > answered.seen.count)
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

/// Builds the balance, the journal entry and the audit record of an adjustment.
///
/// # Errors
/// [`PlanRefusal`] if the account has no balance, the amount is zero, or a retired asset would be credited.
pub fn plan(command: &Adjust<'_>, terms: &TenantTerms, cx: &Context) -> Result<Draft, PlanRefusal> {
    let Adjust { tenant, requested_by, adjustment, reason } = *command;
    let Adjustment { account, delta, reason: code, finding } = adjustment;
    let (account, id) = (*account, ApprovalId::new(cx.resource_id));
    if !account.has_balance_item() {
        return Err(PlanRefusal::Invalid { field: "account", why: "must be a customer's or a card's" });
    }
    let size = delta.size().ok_or(PlanRefusal::Refused(Failure::WrongState))?;
    // What answers a break corrects the record of what is held, whatever the asset's state is.
    let is_credited = terms.asset(size.asset()).is_none_or(AssetTerms::is_credited);
    if !is_credited && !delta.is_debit() && finding.is_none() {
        return Err(PlanRefusal::Invalid { field: "asset", why: "is retired: it is credited to no account" });
    }
    let posted = if delta.is_debit() {
        forms::debit(tenant, Role::Payer, account, &size, cx.now)
    } else {
        forms::credit(tenant, Role::Payee, account, &size, cx.now)
            .map(|item| item.guarded_also(Vec::from_iter(in_use(account))))
    };
    let posted = posted.map(|item| match finding {
        Some(answered) => forms::correction(item, answered.seen, cx.now),
        None => item,
    });
    let mut details = Item::from([
        (ADJUSTMENT_ID.to_owned(), Value::s(id)),
        ("reason_code".to_owned(), Value::s(code.name())),
        ("requested_by".to_owned(), Value::s(requested_by)),
    ]);
    details.extend(finding.as_ref().map(|answered| (FINDING.to_owned(), Value::S(answered.name()))));
    let entry = Entry {
        id: cx.transaction_id,
        home: account,
        postings: vec![
            Posting::new(account, delta.clone()),
            Posting::new(Account::Tenant(TenantAccount::Adjustments), delta.inverse()),
        ],
        references: Vec::new(),
        details,
        memo: None,
        terms: terms.of_entry(),
    };
    let act = Act::new(Actor::Staff(requested_by), Operation::Adjustment, account)
        .because(Some(reason))
        .with("reason_code", code.name())
        .with("delta", delta.text())
        .with("asset", delta.asset())
        .record(tenant, cx);
    Ok(Draft { entry: Some(entry), items: posted.into_iter().chain([act]).collect() })
}

/// Requires of a card that no other has its place: what is credited to it would stay there.
fn in_use(account: Account) -> Option<Clause> {
    match account {
        Account::Card(_) => Some(forms::card_not_ended(Failure::WrongState)),
        Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => None,
    }
}
