//! Storefront terminals: registering one, freezing it, and enrolment, which stores its public key and begins a new
//! epoch.

use crate::audit::Act;
use crate::customers::profile::Status;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::finding;
use crate::forms;
use crate::ids::{Actor, Employer, MerchantId, ShopId, StaffId, Tenant, TerminalId, TerminalOwner};
use crate::keys::{self, Key, Partition, attr};
use crate::operation::Operation;
use crate::personal::{FreeText, Masked};
use crate::plan::{Context, PlanRefusal};
use crate::shops;
use crate::terminal_state::TerminalState;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Draft, Planned, Role, TransactItem, Transaction, exists};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::time::Duration;

mod close;

pub use close::plan_close;

/// How long an enrolment code is valid, and how long one may be issued after its approval.
pub const ENROLMENT_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The attributes of a permit: who may issue one code, and until when.
const CODE_FOR: &str = "code_for";
const CODE_UNTIL: &str = "code_until";

/// A stored terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalRecord {
    /// Its id.
    pub id: TerminalId,
    /// Whose terminal it is.
    pub owner: TerminalOwner,
    /// The shop that it is assigned to.
    pub shop: Option<ShopId>,
    /// Its state.
    pub state: TerminalState,
    /// The epoch of its enrolment; 0 before the first.
    pub epoch: u32,
    /// Its public key as PEM, after the first enrolment.
    pub public_key: Option<String>,
    /// The staff member who may issue one enrolment code, as another person has approved, and until when.
    pub code_for: Option<(StaffId, Timestamp)>,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// When it was registered.
    pub created_at: Timestamp,
}

/// What a response says about a terminal that was registered or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalReceipt {
    /// The terminal.
    pub terminal: TerminalId,
    /// When it was registered or changed.
    pub at: Timestamp,
}

/// A one-time enrolment code: `<tenant>.<terminal id>.<128 random bits>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnrolmentCode {
    /// The tenant.
    pub tenant: Tenant,
    /// The terminal.
    pub terminal: TerminalId,
    text: Masked<String>,
}

/// What a response says about an issued enrolment code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnrolmentReceipt {
    /// The code.
    pub code: EnrolmentCode,
    /// When the code expires.
    pub expires_at: Timestamp,
}

impl TerminalRecord {
    /// Reads a stored terminal.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.parsed("terminal_id", TerminalId::parse)?,
            owner: owner_of(item)?,
            shop: item.opt_parsed(attr::SHOP, ShopId::parse)?,
            state: item.named("state", TerminalState::parse)?,
            epoch: item.int("epoch")?,
            public_key: item.opt_string("public_key")?,
            code_for: item.opt_parsed(CODE_FOR, StaffId::parse)?.zip(item.opt_timestamp(CODE_UNTIL)?),
            closed_at: item.opt_timestamp(attr::CLOSED_AT)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
        })
    }
}

/// Whose terminal a stored one is. A till has the id of its merchant and no kind, a counter has its kind alone.
///
/// # Errors
/// [`ItemError`] if it is neither.
pub fn owner_of(profile: &Item) -> Result<TerminalOwner, ItemError> {
    match profile.opt_text(forms::TERMINAL_KIND)? {
        None => profile.parsed("merchant_id", MerchantId::parse).map(TerminalOwner::Merchant),
        Some(forms::COUNTER) if !profile.contains_key("merchant_id") => Ok(TerminalOwner::Operator),
        Some(_) => Err(ItemError::invalid(forms::TERMINAL_KIND)),
    }
}

impl TerminalRecord {
    /// The condition that its shop is as it was read.
    fn shop_as_read(&self) -> Condition {
        match self.shop {
            Some(seen) => Condition::compare(attr::SHOP, Cmp::Eq, "seen_shop", Value::s(seen)),
            None => Condition::absent(attr::SHOP),
        }
    }

    /// Whether this staff member may issue a code, as another person has approved.
    #[must_use]
    pub fn permits_code(&self, staff: StaffId, now: Timestamp) -> bool {
        self.code_for.is_some_and(|(permitted, until)| permitted == staff && until > now)
    }
}

impl From<Status> for TerminalState {
    fn from(status: Status) -> Self {
        match status {
            Status::Active => Self::Active,
            Status::Frozen => Self::Frozen,
        }
    }
}

impl EnrolmentCode {
    /// Reads a code; `None` if it does not have a code's form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (tenant, rest) = text.split_once('.')?;
        let (terminal, secret) = rest.split_once('.')?;
        let fits = URL_SAFE_NO_PAD.decode(secret).is_ok_and(|bytes| bytes.len() == 16);
        Some(Self {
            tenant: Tenant::parse(tenant).ok()?,
            terminal: TerminalId::parse(terminal).ok()?,
            text: Masked::new(text.to_owned()),
        })
        .filter(|_| fits)
    }

    /// The text, for the staff member who sets the terminal up.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.text.expose()
    }

    /// The key of the code's slot.
    #[must_use]
    pub fn slot(&self) -> Key {
        keys::enrolment(&self.tenant, self.terminal)
    }

    /// Whether this code was answered with this public key before. Then a terminal that lost the response gets it
    /// again. The code alone proves no more than it did the first time.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute of the slot has the wrong type.
    pub fn was_answered(&self, slot: &Item, record: &TerminalRecord, public_key: &str) -> Result<bool, ItemError> {
        Ok(slot.opt_text("token_hash")? == Some(&self.hash())
            && slot.opt_text("state")? == Some("used")
            && record.public_key.as_deref() == Some(public_key))
    }

    fn hash(&self) -> String {
        forms::code_hash(self.text.expose())
    }
}

/// Registers a terminal of an existing merchant.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan_open(
    tenant: &Tenant,
    terminal: Option<TerminalId>,
    merchant: MerchantId,
    actor: Actor,
    cx: &Context,
) -> Result<Planned<TerminalReceipt>, PlanRefusal> {
    let terminal = terminal.unwrap_or(TerminalId::new(cx.resource_id));
    let owner = Partition::merchant(tenant, merchant).profile();
    let items = vec![
        TransactItem::check(Role::Profile, owner, vec![exists()]),
        opened(tenant, terminal, ("merchant_id", Value::s(merchant)), cx),
        Act::new(actor, Operation::TerminalOpen, format!("terminal:{terminal}")).record(tenant, cx),
        finding::write_terminal(tenant, terminal, merchant, cx.now),
    ];
    Ok(planned(terminal, items, cx))
}

/// Registers a counter of the operator.
#[must_use]
pub fn plan_counter(tenant: &Tenant, terminal: TerminalId, actor: Actor, cx: &Context) -> Planned<TerminalReceipt> {
    let act = Act::new(actor, Operation::TerminalOpen, format!("terminal:{terminal}"));
    let items = vec![
        opened(tenant, terminal, (forms::TERMINAL_KIND, Value::s(forms::COUNTER)), cx),
        act.with(forms::TERMINAL_KIND, forms::COUNTER).record(tenant, cx),
    ];
    planned(terminal, items, cx)
}

/// A terminal's `PROFILE`. The attribute with its owner is written here alone.
fn opened(tenant: &Tenant, terminal: TerminalId, owner: (&str, Value), cx: &Context) -> TransactItem {
    let (name, owner) = owner;
    let mut item = Item::from([
        ("terminal_id".to_owned(), Value::s(terminal)),
        (name.to_owned(), owner),
        ("state".to_owned(), Value::s(TerminalState::Active.name())),
        ("epoch".to_owned(), Value::int(0)),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
        (attr::UPDATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    item.extend(finding::terminal(tenant, terminal, cx.now));
    let key = Partition::terminal(tenant, terminal).profile();
    TransactItem::put_new(Role::Profile, key, item, Failure::AlreadyExists)
}

/// Freezes or unfreezes a terminal. Caches see it within a minute. Fails with `WrongState` if it is closed.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan_status(
    tenant: &Tenant,
    terminal: TerminalId,
    status: Status,
    (actor, reason): (Actor, Option<&FreeText>),
    cx: &Context,
) -> Result<Planned<TerminalReceipt>, PlanRefusal> {
    let update = Update::new().set("state", "state", Value::s(TerminalState::from(status).name())).set(
        attr::UPDATED_AT,
        "ua",
        Value::s(cx.now),
    );
    let key = Partition::terminal(tenant, terminal).profile();
    let act = Act::new(actor, Operation::TerminalPatch, format!("terminal:{terminal}"))
        .because(reason)
        .with("status", status.name());
    let clauses = vec![exists(), not_closed()];
    let items = vec![TransactItem::update(Role::Profile, key, update, clauses), act.record(tenant, cx)];
    Ok(planned(terminal, items, cx))
}

/// Requires that a terminal is not closed. Fails with `WrongState`.
pub(crate) fn not_closed() -> Clause {
    Clause { condition: is_not_closed(), failure: Failure::WrongState }
}

fn is_not_closed() -> Condition {
    Condition::is_not("state", "closed", Value::s(TerminalState::Closed.name()))
}

/// Assigns a terminal of a merchant, as it was read, to a shop, or to none. Caches see it within a minute. Fails with
/// `AccountMissing` if there is no such shop, and with `WrongState` if it is closed.
#[must_use]
pub fn plan_assign(
    tenant: &Tenant,
    (merchant, terminal): (MerchantId, &TerminalRecord),
    shop: Option<ShopId>,
    actor: Actor,
    cx: &Context,
) -> Planned<TerminalReceipt> {
    let update = Update::new().set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let update = match shop {
        Some(shop) => update.set(attr::SHOP, attr::SHOP, Value::s(shop)),
        None => update.remove(attr::SHOP),
    };
    let owned = Condition::compare("merchant_id", Cmp::Eq, "merchant", Value::s(merchant));
    let stale = |condition| Clause { condition, failure: Failure::StalePlan };
    let key = Partition::terminal(tenant, terminal.id).profile();
    let act = Act::new(actor, Operation::TerminalAssign, format!("terminal:{}", terminal.id))
        .with(attr::SHOP, shop.map_or_else(|| "none".to_owned(), |shop| shop.to_string()));
    let clauses = vec![exists(), stale(owned), stale(terminal.shop_as_read()), stale(is_not_closed())];
    let mut items = vec![TransactItem::update(Role::Profile, key, update, clauses)];
    items.extend(shops::assigning(tenant, Employer::Merchant(merchant), (terminal.shop, shop), cx.now));
    items.push(act.record(tenant, cx));
    planned(terminal.id, items, cx)
}

/// Permits a staff member to issue one enrolment code for a terminal of this owner, as another person approves. A code
/// makes another device the terminal, with its cash room.
pub(crate) fn permit_code(
    tenant: &Tenant,
    (terminal, owner): (TerminalId, TerminalOwner),
    (staff, actor): (StaffId, Actor),
    reason: Option<&FreeText>,
    cx: &Context,
) -> Draft {
    let until = cx.now.plus(ENROLMENT_LIFETIME);
    let permit = Update::new()
        .set(CODE_FOR, CODE_FOR, Value::s(staff))
        .set(CODE_UNTIL, CODE_UNTIL, Value::s(until))
        .set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let of_owner = match owner {
        TerminalOwner::Merchant(id) => Clause {
            condition: Condition::compare("merchant_id", Cmp::Eq, "merchant", Value::s(id)),
            failure: Failure::StalePlan,
        },
        TerminalOwner::Operator => forms::owned_by(owner, Failure::StalePlan),
    };
    let guards = vec![exists(), of_owner, not_closed()];
    let act =
        Act::new(actor, Operation::EnrolmentCode, format!("terminal:{terminal}")).because(reason).with(CODE_FOR, staff);
    let profile = Partition::terminal(tenant, terminal).profile();
    let items = vec![TransactItem::update(Role::Profile, profile, permit, guards), act.record(tenant, cx)];
    Draft { entry: None, items }
}

/// Issues a one-time enrolment code. It replaces an earlier one. It uses up the permit of the staff member; the plan is stale
/// if the permit was used since it was read.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan_code(
    tenant: &Tenant,
    terminal: TerminalId,
    (staff, actor): (StaffId, Actor),
    cx: &Context,
) -> Result<Planned<EnrolmentReceipt>, PlanRefusal> {
    let text = format!("{tenant}.{terminal}.{}", URL_SAFE_NO_PAD.encode(cx.secret));
    let code = EnrolmentCode { tenant: tenant.clone(), terminal, text: Masked::new(text) };
    let expires_at = cx.now.plus(ENROLMENT_LIFETIME);
    let key = Partition::terminal(tenant, terminal).profile();
    let own = Condition::compare(CODE_FOR, Cmp::Eq, "me", Value::s(staff));
    let in_time = Condition::compare(CODE_UNTIL, Cmp::Gt, "now", Value::s(cx.now));
    let guard = |condition| Clause { condition, failure: Failure::StalePlan };
    let guards = vec![exists(), not_closed(), guard(own), guard(in_time)];
    let used = Update::new().set(attr::UPDATED_AT, "ua", Value::s(cx.now)).remove(CODE_FOR).remove(CODE_UNTIL);
    let items = vec![
        TransactItem::update(Role::Profile, key, used, guards),
        forms::issue_code(keys::enrolment(tenant, terminal), code.hash(), expires_at, cx.now),
        Act::new(actor, Operation::EnrolmentCode, format!("terminal:{terminal}")).record(tenant, cx),
    ];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: EnrolmentReceipt { code, expires_at } })
}

/// Enrols a terminal that answers its code with a public key: consumes the code, begins a new epoch, and puts the
/// enrolment on the audit trail. `seen_epoch` is the epoch that was read. It has no idempotency key, because the code
/// works once.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn enrol(
    code: &EnrolmentCode,
    public_key: &str,
    seen_epoch: u32,
    request_id: Option<&str>,
    cx: &Context,
) -> Result<Transaction, BuildError> {
    let terminal = code.terminal;
    let act = Act::new(Actor::Terminal(terminal), Operation::Enrol, format!("terminal:{terminal}"))
        .with("epoch", i64::from(seen_epoch).saturating_add(1));
    let act = request_id.into_iter().fold(act, |act, id| act.with("request_id", id));
    let [consume, profile] = enrolment(code, public_key, seen_epoch, cx.now);
    Transaction::unkeyed(vec![consume, profile, act.record(&code.tenant, cx)])
}

fn enrolment(code: &EnrolmentCode, public_key: &str, seen_epoch: u32, now: Timestamp) -> [TransactItem; 2] {
    let consume = forms::consume_code(code.slot(), code.hash(), now);
    let key = Update::new()
        .set("public_key", "public_key", Value::s(public_key))
        .set("epoch", "epoch", Value::int(i64::from(seen_epoch).saturating_add(1)))
        .set(attr::UPDATED_AT, "now", Value::s(now));
    let profile = TransactItem::update(
        Role::Profile,
        Partition::terminal(&code.tenant, code.terminal).profile(),
        key,
        vec![Clause {
            condition: Condition::compare("epoch", Cmp::Eq, "seen", Value::int(seen_epoch.into())),
            failure: Failure::StalePlan,
        }],
    );
    [consume, profile]
}

fn planned(terminal: TerminalId, items: Vec<TransactItem>, cx: &Context) -> Planned<TerminalReceipt> {
    Planned { draft: Draft { entry: None, items }, receipt: TerminalReceipt { terminal, at: cx.now } }
}
