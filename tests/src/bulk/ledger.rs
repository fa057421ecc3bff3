//! Books of customers who get money, pay three merchants and are partly refunded, and of merchants who are credited.

use super::EACH;
use super::trail::Sealed;
use crate::declared;
use crate::model::Model;
use ledger_core::account::Account;
use ledger_core::adjustments::{Adjust, Adjustment, ReasonCode};
use ledger_core::dynamo::{Attributes, Item, Value};
use ledger_core::forms::RoomGuard;
use ledger_core::idempotency::{Answer, CanonicalRequest, Claim, Fields, IdempotencyKey, MarkerKeys, Window};
use ledger_core::ids::{Actor, AuditId, CustomerId, Employer, MerchantId, Principal, StaffId, Tenant, TransactionId};
use ledger_core::keys::{self, Partition, Shards, attr, sk};
use ledger_core::money::{Amount, Asset, AssetSpec, Rate, Share};
use ledger_core::operation::Operation;
use ledger_core::payments::{self, Parts, PaymentRecord};
use ledger_core::personal::FreeText;
use ledger_core::plan::Context;
use ledger_core::staff::{FirstOwner, Founder, Founders, StaffMember, plan_first_owner, with_founders};
use ledger_core::terms::{
    AssetTerms, CardPinTerms, CashBonusTerms, CeilingTerms, Co2Terms, DisplayName, GrantLimits, KeyPhase,
    MerchantTerms, SignInTerms, SpentPoints, TenantTerms, TermsVersion,
};
use ledger_core::time::Timestamp;
use ledger_core::transaction::{Draft, Transaction};
use ledger_core::{adjustments, customers, merchants, migration, wallets};
use std::time::Duration;
use uuid::{Builder, Uuid};

const MERCHANTS: u128 = 3;
/// What a customer is given, in yen: more than the sum of their payments.
const GIVEN: u64 = 100_000;
/// Every n-th payment is partly refunded.
const BACK: u64 = 6;
/// The sort key of a merchant's refund room, which every refund reads.
pub(super) const REFUND_ROOM: &str = "REFUND_ROOM";

/// What a customer is called and reached by.
#[derive(Clone, Debug)]
pub struct Contact {
    /// The name.
    pub name: String,
    /// How the name is read.
    pub kana: Option<String>,
    /// The e-mail address.
    pub email: Option<String>,
    /// The telephone number.
    pub phone: Option<String>,
}

/// The books; holds only the last customer's rows and the merchants' balances.
#[derive(Debug)]
pub struct Ledger {
    pub(super) model: Model,
    pub(super) tenant: Tenant,
    terms: TenantTerms,
    /// The keys of what customers are looked up by.
    keys: MarkerKeys,
    merchants: Vec<MerchantTerms>,
    pub(super) now: Timestamp,
    pub(super) sealed: Sealed,
    ids: u128,
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}

impl Ledger {
    /// Books with merchants and without customers.
    ///
    /// # Panics
    /// Never: its constants are valid.
    #[must_use]
    pub fn new() -> Self {
        let mut ledger = Self::empty(Timestamp::parse("2026-11-21T03:00:00Z").expect("an instant"));
        for number in 1..=MERCHANTS {
            let merchant = ledger.add_merchant(number);
            ledger.begin_refund_room(merchant.id);
        }
        ledger
    }

    /// Books that begin at an instant, of an open tenant with this many registered merchants: what a running ledger
    /// needs to work on them.
    ///
    /// # Panics
    /// Never: its constants are valid.
    #[must_use]
    pub fn opened(now: Timestamp, merchants: u128, keys: MarkerKeys) -> Self {
        let mut ledger = Self::empty(now);
        ledger.keys = keys;
        let configuration = migration::open_tenant(&ledger.tenant, &ledger.terms, None, now).expect("a configuration");
        let founders = Founders::new([1, 2].map(founder).to_vec()).expect("two persons");
        let cx = ledger.cx();
        let opening =
            with_founders(configuration, &ledger.tenant, (&founders, &ledger.keys), &cx).expect("a configuration");
        ledger.execute(&opening);
        for number in 1..=merchants {
            let MerchantTerms { id, name, shards, .. } = ledger.add_merchant(number);
            let cx = ledger.cx();
            let (terms, by) = (&ledger.terms, Actor::Staff(staff(1)));
            let plan = merchants::plan_open(&ledger.tenant, Some(id), &text(&name), shards, terms, by, &cx);
            let plan = plan.expect("it can be registered");
            ledger.write(&plan.draft, Principal::Staff(staff(1)), Operation::MerchantOpen);
        }
        ledger.set_owner_of_first();
        ledger
    }

    /// The id of an owner of the tenant opened, who is the first merchant's owner too.
    #[must_use]
    pub fn owner() -> StaffId {
        staff(1)
    }

    /// Sets the first merchant's owner.
    fn set_owner_of_first(&mut self) {
        let Some(merchant) = self.merchants().next() else { return };
        let by = self.model.get(&keys::staff_member(&self.tenant, Employer::Operator, staff(1))).expect("a record");
        let by = StaffMember::read(Employer::Operator, by).expect("a record");
        let (person, cx) = (founder(1), self.cx());
        let (tenant, keys) = (&self.tenant, &self.keys);
        let owner = FirstOwner { tenant, by: &by, merchant, id: person.id, email: &person.email, keys };
        let plan = plan_first_owner(owner, &cx);
        self.write(&plan.draft, Principal::Staff(staff(1)), Operation::MerchantOwner);
    }

    fn empty(now: Timestamp) -> Self {
        let tenant = Tenant::parse("bulk").expect("a slug");
        let (model, sealed, merchants) = (Model::new(), Sealed::default(), Vec::new());
        Self { model, tenant, terms: terms(), keys: declared::keys(), merchants, now, sealed, ids: 0 }
    }

    /// Writes a merchant's refund room, as its opening would.
    fn begin_refund_room(&mut self, merchant: MerchantId) {
        let room = Partition::merchant(&self.tenant, merchant).refund_room();
        let ceiling = Value::N(self.terms.ceilings.refund.text());
        self.model.put(Item::from([
            (attr::PK.to_owned(), Value::s(room.pk())),
            (attr::SK.to_owned(), Value::s(room.sk())),
            ("ceiling".to_owned(), ceiling.clone()),
            ("room".to_owned(), ceiling),
            (attr::UPDATED_AT.to_owned(), Value::s(self.now)),
        ]));
    }

    fn add_merchant(&mut self, number: u128) -> MerchantTerms {
        let id = MerchantId::new(self.id());
        let shards = Shards::MERCHANT_DEFAULT;
        let merchant = MerchantTerms { id, name: format!("Merchant {number}"), open: true, closing: false, shards };
        self.merchants.push(merchant.clone());
        merchant
    }

    /// The instant of the books.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Moves the instant of the books forward.
    pub fn wait(&mut self, time: Duration) {
        self.now = self.now.plus(time);
    }

    /// The tenant.
    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// The merchants' ids.
    pub fn merchants(&self) -> impl Iterator<Item = MerchantId> {
        self.merchants.iter().map(|merchant| merchant.id)
    }

    /// Adds a customer with all transactions; returns their number.
    ///
    /// # Panics
    /// When a transaction is refused, which is a bug of a builder or of this module.
    pub fn customer(&mut self) -> u64 {
        let customer = self.open();
        self.give(customer, GIVEN);
        let mut done = 1;
        let mut payments = 0;
        while done < EACH {
            let payment = self.pay(customer, 100 + payments % 900, usize::try_from(payments % 3).expect("few"));
            payments += 1;
            done += 1;
            if payments % BACK == 0 {
                self.refund(&payment, usize::try_from((payments - 1) % 3).expect("few"));
                done += 1;
            }
        }
        self.seal();
        done
    }

    /// Removes and returns the rows that are not read again: all but what the merchants are credited with, their
    /// refund rooms, and the heads of the trail.
    pub fn take_customer(&mut self) -> Vec<Item> {
        let merchants = format!("{}#merchant#", self.tenant);
        let heads = self.heads();
        let is_read_again = |sk: &str| sk.starts_with(sk::CREDITED) || sk == REFUND_ROOM;
        self.model.take(|(pk, sk)| !(heads.contains(sk) || pk.starts_with(&merchants) && is_read_again(sk)))
    }

    /// Removes and returns the rows that are not read again when this customer pays again: all but the balances, the
    /// metrics and the refund rooms.
    pub fn take_all_but_wallet(&mut self, customer: CustomerId) -> Vec<Item> {
        let wallet = Partition::customer(&self.tenant, customer);
        let is_read_again = |sk: &str| sk == "METRICS" || sk.starts_with("BALANCE#");
        self.model.take(|(pk, sk)| !(sk == REFUND_ROOM || pk == wallet.as_str() && is_read_again(sk)))
    }

    /// Removes and returns all other rows.
    pub fn take_rest(&mut self) -> Vec<Item> {
        self.model.take(|_| true)
    }

    /// Opens a customer without money.
    ///
    /// # Panics
    /// When a transaction is refused, which is a bug of a builder or of this module.
    pub fn open(&mut self) -> CustomerId {
        self.open_as(&Contact { name: "Bulk".to_owned(), kana: None, email: None, phone: None })
    }

    /// Opens a customer without money, with a name and ways to reach it.
    ///
    /// # Panics
    /// As [`Ledger::open`].
    pub fn open_as(&mut self, contact: &Contact) -> CustomerId {
        let given = |value: &Option<String>| value.as_deref().map(text);
        let command = customers::open::CustomerOpen {
            tenant: self.tenant.clone(),
            actor: Actor::Staff(staff(1)),
            customer: None,
            name: text(&contact.name),
            kana: given(&contact.kana),
            email: given(&contact.email),
            phone: given(&contact.phone),
        };
        let cx = self.cx();
        let plan = customers::open::plan(&command, &self.terms, &self.keys, &cx).expect("it can be opened");
        self.write(&plan.draft, Principal::Staff(staff(1)), Operation::CustomerOpen);
        plan.receipt.customer
    }

    /// Gives a customer this many yen by an adjustment.
    ///
    /// # Panics
    /// As [`Ledger::open`].
    pub fn give(&mut self, customer: CustomerId, units: u64) {
        let (account, delta) = (Account::Customer(customer), yen(units).credit());
        let adjustment = Adjustment::posting(account, delta, ReasonCode::Correction);
        let cx = self.cx();
        let (tenant, reason) = (&self.tenant, &text("bulk"));
        let adjust = Adjust { tenant, requested_by: staff(1), adjustment: &adjustment, reason };
        let draft = adjustments::plan(&adjust, &self.terms, &cx).expect("it can be posted");
        self.write(&draft, Principal::Staff(staff(1)), Operation::Adjustment);
    }

    /// Makes a customer pay a merchant, named by its place in [`Ledger::merchants`].
    ///
    /// # Panics
    /// As [`Ledger::open`].
    pub fn pay(&mut self, customer: CustomerId, amount: u64, merchant: usize) -> PaymentRecord {
        let command = payments::pay::Pay {
            tenant: self.tenant.clone(),
            customer,
            merchant: self.merchants[merchant].clone(),
            parts: Parts::split(yen(amount), None, Vec::new(), &self.terms).expect("parts"),
            memo: None,
        };
        let cx = self.cx();
        let plan = payments::pay::plan(&command, &self.terms, &cx).expect("it can be paid");
        let written = self.write(&plan.draft, Principal::Customer(customer), Operation::Pay);
        let key = written.items().iter().find(|item| item.key().sk() == "PAYMENT").expect("a payment").key();
        PaymentRecord::read(self.model.get(key).expect("it is written")).expect("as it is written")
    }

    fn refund(&mut self, payment: &PaymentRecord, merchant: usize) {
        let (of, cx) = (self.merchants[merchant].clone(), self.cx());
        let Account::Customer(payer) = payment.payer else { panic!("a customer paid") };
        let points = self.model.get(&Partition::customer(&self.tenant, payer).balance(&Asset::Point));
        let points = points.map_or("0", |item| item.number("balance").expect("a balance")).to_owned();
        let points = ledger_core::money::Balance::from_stored(Asset::Point, &points).expect("a number");
        let command = payments::refund::Refund {
            tenant: &self.tenant,
            merchant: &of,
            payment,
            amount: Some(&yen(40)),
            points: Some(&points),
            wallet: &wallets::SeenWallet::default(),
            reason: None,
            card: None,
            reference: None,
            room: RoomGuard::Enough,
            is_closed: false,
        };
        let plan = payments::refund::plan(&command, &self.terms, &cx).expect("it can be refunded");
        self.write(&plan.draft, Principal::Merchant(of.id), Operation::Refund);
    }

    fn write(&mut self, draft: &Draft, principal: Principal, operation: Operation) -> Transaction {
        let actor = match principal {
            Principal::Customer(id) => Actor::Customer(id),
            Principal::Staff(id) => Actor::Staff(id),
            Principal::Merchant(_) => Actor::MerchantStaff(staff(3)),
            Principal::Terminal(id) => Actor::Terminal(id),
        };
        let claim = Claim {
            tenant: self.tenant.clone(),
            principal,
            actor,
            operation,
            key: IdempotencyKey::parse(&self.id().to_string()).expect("a key").into(),
            request: CanonicalRequest { method: "POST", path: "/v1/bulk".to_owned(), fields: Fields::new() },
            window: Window::of(operation),
            now: self.now,
        };
        let body = "{\"bulk\":true}".to_owned();
        let answer = Answer { status: 201, content_type: "application/json".to_owned(), location: None, body };
        let transaction =
            Transaction::assemble(draft.clone(), &claim, &answer, &self.keys).expect("it can be assembled");
        self.execute(&transaction);
        transaction
    }

    pub(super) fn execute(&mut self, transaction: &Transaction) {
        self.model.execute(transaction.items()).unwrap_or_else(|why| panic!("{transaction:?}: {why:?}"));
    }

    fn cx(&mut self) -> Context {
        self.ids += 4;
        let number = self.ids;
        Context {
            now: self.now,
            transaction_id: TransactionId::new(self.id_of(number)),
            resource_id: self.id_of(number + 1),
            audit_id: AuditId::new(self.id_of(number + 2)),
            secret: [7; 16],
            salt: [7; 16],
        }
    }

    fn id(&mut self) -> Uuid {
        self.ids += 4;
        self.id_of(self.ids)
    }

    /// A UUIDv7 of this instant; the other bits are the number, spread evenly.
    fn id_of(&self, number: u128) -> Uuid {
        let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).to_be_bytes();
        let bytes: [u8; 10] = spread[..10].try_into().expect("ten bytes");
        Builder::from_unix_timestamp_millis(u64::try_from(self.now.millis()).expect("after 1970"), &bytes).into_uuid()
    }
}

fn founder(number: u128) -> Founder {
    let email = FreeText::email(&format!("owner-{number}@example.jp")).expect("an address");
    Founder { id: staff(number), email }
}

fn staff(number: u128) -> StaffId {
    StaffId::new(Uuid::from_u128(number))
}

fn yen(units: u64) -> Amount {
    Amount::parse(&AssetSpec::ECOPAY, &units.to_string()).expect("yen")
}

fn text(of: &str) -> FreeText {
    FreeText::parse(of, 140).expect("a text")
}

fn terms() -> TenantTerms {
    let rate = |text: &str| Rate::parse(text).expect("a rate");
    let asset = |spec: AssetSpec| (spec.asset().clone(), AssetTerms::running(spec, None));
    TenantTerms {
        version: TermsVersion::FIRST,
        display_name: DisplayName::parse("Bulk").expect("a name"),
        key_phase: KeyPhase::Mandatory,
        assets: [AssetSpec::ECOPAY, AssetSpec::POINT].map(asset).into(),
        co2: Co2Terms { rate: rate("0.01"), source: "bulk".to_owned(), version: "1".to_owned() },
        points_rate: Share::parse("0.01").unwrap(),
        card_cap: yen(1),
        card_bonus_rate: Share::ZERO,
        card_pin: CardPinTerms::NotUsed,
        spent_points: SpentPoints::Deduct,
        due_shards: Shards::new(16).expect("few"),
        topup: None,
        requests_per_second: None,
        hold_hours: None,
        limits: None,
        settlement: None,
        settlement_schedule: None,
        cash_bonus: CashBonusTerms::Never,
        ceilings: CeilingTerms { refund: yen(1_000_000_000).as_balance(), ..CeilingTerms::zero() },
        grant_limits: GrantLimits::default(),
        sign_ins: SignInTerms::OwnIds,
    }
}
