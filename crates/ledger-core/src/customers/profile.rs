//! Changing a customer: the profile's fields, and freezing or unfreezing the whole wallet.

use crate::audit::Act;
use crate::customer_state::not_erased;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::finding;
use crate::forms::{Patch, patch_text};
use crate::idempotency::MarkerKeys;
use crate::ids::{Actor, CustomerId, Tenant};
use crate::keys::{Lookup, Partition, attr, sk};
use crate::money::Asset;
use crate::notices::{Contact, ContactFields, Notice, NoticeSubject};
use crate::operation::Operation;
use crate::personal::{FreeText, Masked};
use crate::plan::{Context, PlanRefusal};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Planned, Role, TransactItem, exists};
use crate::words::words;

/// A change of a profile's fields. The name can be set but not cleared.
#[derive(Clone, Debug, Default)]
pub struct ProfilePatch {
    /// The name.
    pub name: Option<FreeText>,
    /// How the name is read.
    pub kana: Patch<FreeText>,
    /// The e-mail address.
    pub email: Patch<FreeText>,
    /// The telephone number.
    pub phone: Patch<FreeText>,
}

/// A change of a profile's fields, with what it is planned from.
#[derive(Clone, Copy, Debug)]
pub struct ProfileChange<'a> {
    /// The change.
    pub patch: &'a ProfilePatch,
    /// The contact as it was read: if the change touches it, it is on the audit trail, and a notice keeps the previous
    /// addresses.
    pub previous: Option<&'a Contact>,
    /// The keys of what customers are looked up by.
    pub keys: &'a MarkerKeys,
}

words! {
    /// Whether an account may be debited.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Status {
        /// It may be debited.
        Active = "active",
        /// It may not be debited; credits still arrive.
        Frozen = "frozen",
    }
}

/// The wallet's accounts as they were read, to be frozen or unfrozen together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletView {
    /// The number of accounts that the profile has.
    pub accounts: i64,
    /// The assets whose balance items were found.
    pub assets: Vec<Asset>,
}

/// What a response says about a changed customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileReceipt {
    /// The customer.
    pub customer: CustomerId,
    /// When it was changed.
    pub updated_at: Timestamp,
}

impl ProfilePatch {
    /// Whether the patch changes nothing.
    #[must_use]
    pub fn is_keep(&self) -> bool {
        self.name.is_none() && self.kana.is_keep() && self.email.is_keep() && self.phone.is_keep()
    }

    /// Whether the patch may change how the customer can be reached.
    #[must_use]
    pub fn touches_contact(&self) -> bool {
        !self.email.is_keep() || !self.phone.is_keep()
    }

    /// What it changes of a contact; `None` if nothing.
    fn changed(&self, previous: &Contact) -> Option<ContactFields> {
        let differs = |patch: &Patch<FreeText>, previous: &Option<Masked<String>>| match patch {
            Patch::Keep => false,
            Patch::Set(text) => previous.as_ref().is_none_or(|previous| previous.expose() != text.expose()),
            Patch::Clear => previous.is_some(),
        };
        let fields = ContactFields {
            email: differs(&self.email, &previous.email),
            phone: differs(&self.phone, &previous.phone),
        };
        (fields.email || fields.phone).then_some(fields)
    }

    fn update(&self, now: Timestamp) -> Update {
        let mut update = Update::new();
        if let Some(name) = &self.name {
            update = update.set("name", "name", Value::s(name.expose()));
        }
        update = patch_text(update, Lookup::Kana.name(), &self.kana);
        update = patch_text(update, "email", &self.email);
        patch_text(update, "phone", &self.phone).set(attr::UPDATED_AT, "ua", Value::s(now)).set_if_absent(
            attr::CREATED_AT,
            "ca",
            Value::s(now),
        )
    }
}

impl ProfileChange<'_> {
    /// Writes the lookup items of the fields that it changes.
    fn lookups(&self, tenant: &Tenant, customer: CustomerId) -> Vec<TransactItem> {
        let mut written = Vec::new();
        let mut write = |lookup: Lookup, text: Option<&FreeText>| {
            let value = (lookup, text.map(FreeText::expose));
            written.push(finding::write_customer(tenant, customer, value, self.keys));
        };
        if let Some(name) = &self.patch.name {
            write(Lookup::Name, Some(name));
        }
        let patches =
            [(Lookup::Kana, &self.patch.kana), (Lookup::Email, &self.patch.email), (Lookup::Phone, &self.patch.phone)];
        for (lookup, patch) in patches {
            match patch {
                Patch::Keep => {}
                Patch::Set(text) => write(lookup, Some(text)),
                Patch::Clear => write(lookup, None),
            }
        }
        written
    }
}

impl WalletView {
    /// Reads the profile and the balance items of one partition.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(profile: &Item, balances: &[Item]) -> Result<Self, ItemError> {
        let assets = balances
            .iter()
            .map(|item| item.parsed(attr::SK, |key| Asset::parse(key.strip_prefix(sk::BALANCE).unwrap_or_default())));
        Ok(Self { accounts: profile.int("accounts")?, assets: assets.collect::<Result<_, _>>()? })
    }
}

/// A customer changes their own profile. A patch without changes writes nothing.
///
/// # Errors
/// [`PlanRefusal`] if it changes kana and the tenant's records have none.
pub fn plan_own(
    tenant: &Tenant,
    customer: CustomerId,
    fields: ProfileChange<'_>,
    cx: &Context,
) -> Result<Planned<ProfileReceipt>, PlanRefusal> {
    let ProfileChange { patch, previous, .. } = fields;
    if patch.is_keep() {
        return Ok(planned(customer, Vec::new(), cx));
    }
    let change = ContactChange::of(patch, previous);
    let mut guards = change.as_ref().map(ContactChange::guards).unwrap_or_default();
    guards.push(Clause { condition: not_erased(), failure: Failure::WrongState });
    let mut items = vec![patched(tenant, customer, patch.update(cx.now), guards)];
    items.extend(fields.lookups(tenant, customer));
    if let Some(change) = &change {
        let act = Act::new(Actor::Customer(customer), Operation::ProfilePatch, format!("customer:{customer}"));
        items.push(change.named(act).record(tenant, cx));
        items.extend(change.notice(tenant, customer, cx));
    }
    Ok(planned(customer, items, cx))
}

/// The operator changes a customer: fields, and the status of the profile and all balance items at once.
///
/// # Errors
/// [`PlanRefusal`] as for [`plan_own`], and if not all of the wallet's accounts were read.
pub fn plan_by_operator(
    tenant: &Tenant,
    customer: CustomerId,
    fields: ProfileChange<'_>,
    status: Option<(Status, &WalletView)>,
    actor: Actor,
    reason: Option<&FreeText>,
    cx: &Context,
) -> Result<Planned<ProfileReceipt>, PlanRefusal> {
    let ProfileChange { patch, previous, .. } = fields;
    let change = ContactChange::of(patch, previous);
    let mut update = patch.update(cx.now);
    let mut guards = change.as_ref().map(ContactChange::guards).unwrap_or_default();
    guards.push(Clause { condition: not_erased(), failure: Failure::WrongState });
    let mut items = Vec::new();
    let mut act = Act::new(actor, Operation::CustomerPatch, format!("customer:{customer}")).because(reason);
    if let Some((status, wallet)) = status {
        if i64::try_from(wallet.assets.len()) != Ok(wallet.accounts) {
            return Err(PlanRefusal::Refused(Failure::StalePlan));
        }
        act = act.with("status", status.name());
        update = set_frozen(update, status, actor).set("status", "status", Value::s(status.name()));
        // Opening an account in between changes the profile's count, and this guard fails.
        guards.push(Clause {
            condition: Condition::compare("accounts", Cmp::Eq, "accounts", Value::int(wallet.accounts)),
            failure: Failure::StalePlan,
        });
        for asset in &wallet.assets {
            let change = set_frozen(Update::new(), status, actor).set(attr::UPDATED_AT, "ua", Value::s(cx.now));
            let key = Partition::customer(tenant, customer).balance(asset);
            items.push(TransactItem::update(Role::Payer, key, change, vec![exists()]));
        }
    }
    items.insert(0, patched(tenant, customer, update, guards));
    items.extend(fields.lookups(tenant, customer));
    match &change {
        Some(change) => {
            items.push(change.named(act).record(tenant, cx));
            items.extend(change.notice(tenant, customer, cx));
        }
        None => items.push(act.record(tenant, cx)),
    }
    Ok(planned(customer, items, cx))
}

/// A change of a customer's contact, with what it was before.
struct ContactChange<'a> {
    changed: ContactFields,
    previous: &'a Contact,
}

impl<'a> ContactChange<'a> {
    fn of(patch: &ProfilePatch, previous: Option<&'a Contact>) -> Option<Self> {
        let previous = previous?;
        patch.changed(previous).map(|changed| Self { changed, previous })
    }

    /// Of two changes at the same time, the second one is planned again: its previous addresses are those of the first.
    fn guards(&self) -> Vec<Clause> {
        self.previous.as_read()
    }

    fn named<'b>(&self, act: Act<'b>) -> Act<'b> {
        act.with("contact", self.changed.text())
    }

    fn notice(&self, tenant: &Tenant, customer: CustomerId, cx: &Context) -> Option<TransactItem> {
        let subject = NoticeSubject::Contact { customer, changed: self.changed, previous: self.previous.clone() };
        Notice::of(cx.audit_id, subject, cx.now).map(|notice| notice.store(tenant))
    }
}

/// Sets or removes the attribute on which every debit is guarded.
pub(crate) fn set_frozen(update: Update, status: Status, by: Actor) -> Update {
    match status {
        Status::Frozen => update.set(attr::FROZEN, "by", Value::s(by)),
        Status::Active => update.remove(attr::FROZEN),
    }
}

fn patched(tenant: &Tenant, customer: CustomerId, update: Update, guards: Vec<Clause>) -> TransactItem {
    let clauses = std::iter::once(exists()).chain(guards).collect();
    TransactItem::update(Role::Profile, Partition::customer(tenant, customer).profile(), update, clauses)
}

fn planned(customer: CustomerId, items: Vec<TransactItem>, cx: &Context) -> Planned<ProfileReceipt> {
    Planned { draft: Draft { entry: None, items }, receipt: ProfileReceipt { customer, updated_at: cx.now } }
}
