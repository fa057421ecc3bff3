//! Requests, and the transactions that the builders make of them.

use crate::migration::scene::Scene;
use ledger_core::customers::profile::{ProfileChange, ProfilePatch, Status, WalletView};
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::forms::{Patch, RoomGuard};
use ledger_core::idempotency::{
    Answer, CanonicalRequest, Claim, ClaimKey, EventClaim, Fields, Flight, IdempotencyKey, Marker, MarkerState, Window,
};
use ledger_core::ids::{Actor, AuditId, CustomerId, MerchantId, PaymentId, Principal, StaffId, TopupId, TransactionId};
use ledger_core::keys::{self, Key, Partition, Shards};
use ledger_core::money::{Amount, Asset, AssetSpec, Balance};
use ledger_core::notices::Contact;
use ledger_core::operation::Operation;
use ledger_core::payments::code::PaymentCode;
use ledger_core::payments::{self, Parts, PaymentRecord};
use ledger_core::personal::FreeText;
use ledger_core::plan::{self, Context};
use ledger_core::psp::{EventId, Fact, IntentStatus, PaymentIntent, PspId, PspMoney, Tags};
use ledger_core::terms::{MerchantTerms, SpentPoints, TermsVersion};
use ledger_core::time::Timestamp;
use ledger_core::topups::{self, Routed, TopupRecord, View, route};
use ledger_core::transaction::{Draft, Transaction};
use ledger_core::wallets::{self, SeenWallet};
use ledger_core::{customers, grants};
use ledger_tests::declared::{self, declared};
use std::time::Duration;
use uuid::Uuid;

/// What a patch does to a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    Keep,
    Set,
    Clear,
}

/// The asset of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Coin {
    Money,
    Point,
    Jcredit,
    Regional,
}

/// An operation. Payments and top-ups are named by the number of the request that made them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Pay { who: CustomerId, money: u64, points: u64, regional: u64 },
    Transfer { from: CustomerId, to: CustomerId, coin: Coin, amount: u64 },
    Grant { who: CustomerId, coin: Coin, amount: u64 },
    Code { who: CustomerId },
    Authorize { who: CustomerId, code: u32, money: u64, points: u64 },
    Capture { of: u32, part: Option<u64> },
    Void { of: u32 },
    Refund { who: CustomerId, of: u32, part: Option<u64> },
    Topup { who: CustomerId, charge: u64 },
    Paid { who: CustomerId, of: u32, charge: u64 },
    Patch { who: CustomerId, name: bool, email: Change, phone: Change },
    Freeze { who: CustomerId, on: bool },
    Open { who: CustomerId },
}

/// A request: its key is the number, and each attempt has new ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Request {
    pub(crate) op: Op,
    pub(crate) number: u32,
    pub(crate) attempt: u8,
}

impl Coin {
    pub(crate) fn spec(self) -> AssetSpec {
        match self {
            Self::Money => AssetSpec::ECOPAY,
            Self::Point => AssetSpec::POINT,
            Self::Jcredit => AssetSpec::JCREDIT,
            Self::Regional => ledger_tests::legacy::aoba(),
        }
    }

    fn amount(self, units: u64) -> Amount {
        Amount::parse(&self.spec(), &units.to_string()).unwrap()
    }
}

impl Request {
    /// The split records' keys that must be read before planning.
    pub(crate) fn reads(&self, scene: &Scene) -> Vec<Key> {
        let tenant = &scene.tenant;
        match self.op {
            Op::Refund { who, of, .. } => {
                vec![payment_key(scene, of), Partition::customer(tenant, who).balance(&Asset::Point)]
            }
            Op::Capture { of, .. } | Op::Void { of } => vec![payment_key(scene, of)],
            Op::Paid { who, of, .. } => {
                let marker = keys::marker(
                    tenant,
                    Principal::Customer(who),
                    Operation::Topup,
                    &ClaimKey::parse(&format!("k-{of}")).unwrap(),
                );
                vec![keys::topup(tenant, topup_id(of)), marker]
            }
            Op::Freeze { who, .. } => {
                let partition = Partition::customer(tenant, who);
                let balances = scene.terms.assets.keys().map(|asset| partition.balance(asset));
                std::iter::once(partition.profile()).chain(balances).collect()
            }
            Op::Pay { .. }
            | Op::Transfer { .. }
            | Op::Grant { .. }
            | Op::Code { .. }
            | Op::Authorize { .. }
            | Op::Topup { .. }
            | Op::Open { .. } => Vec::new(),
            Op::Patch { who, .. } => vec![Partition::customer(tenant, who).profile()],
        }
    }

    /// The transaction planned from what was read; `Err` if refused before anything is written.
    pub(crate) fn plan(&self, scene: &Scene, read: &[Option<Item>]) -> Result<Transaction, String> {
        let lookups = declared::keys();
        let (tenant, terms, cx) = (&scene.tenant, &scene.terms, self.cx());
        let text = |error: plan::PlanRefusal| error.to_string();
        let payment = || read[0].as_ref().map(|item| PaymentRecord::read(item).unwrap()).ok_or("no such payment");
        let yen = |units: u64| Coin::Money.amount(units);
        let draft = match self.op {
            Op::Pay { who, money, points, regional } => {
                let parts = Parts::split(
                    yen(money + points + regional),
                    (points > 0).then(|| Coin::Point.amount(points)),
                    (regional > 0).then(|| Coin::Regional.amount(regional)).into_iter().collect(),
                    terms,
                );
                let (customer, parts) = (who, parts.map_err(text)?);
                let command =
                    payments::pay::Pay { tenant: tenant.clone(), customer, merchant: merchant(), parts, memo: None };
                payments::pay::plan(&command, terms, &cx).map_err(text)?.draft
            }
            Op::Transfer { from, to, coin, amount } => {
                let amount = coin.amount(amount);
                let command = customers::transfer::Transfer { tenant: tenant.clone(), from, to, amount, memo: None };
                customers::transfer::plan(&command, terms, &cx).map_err(text)?.draft
            }
            Op::Grant { who, coin, amount } => {
                let command = grants::grant::Grant {
                    tenant: tenant.clone(),
                    actor: staff(),
                    customer: who,
                    amount: coin.amount(amount),
                    reason: free("campaign"),
                };
                grants::grant::plan(&command, terms, &cx).map_err(text)?.draft
            }
            Op::Code { who } => payments::code::plan(tenant, who, None, &cx).map_err(text)?.draft,
            Op::Authorize { who, code, money, points } => {
                let issued = Self { op: Op::Code { who }, number: code, attempt: 0 };
                let code = payments::code::plan(tenant, who, None, &issued.cx()).map_err(text)?.receipt.code;
                let code = PaymentCode::parse(code.expose()).unwrap();
                let points_used = (points > 0).then(|| Coin::Point.amount(points));
                let parts = Parts::split(yen(money + points), points_used, Vec::new(), terms).map_err(text)?;
                let command = payments::authorize::Authorize {
                    tenant: tenant.clone(),
                    merchant: merchant(),
                    code,
                    shop: None,
                    parts,
                    memo: None,
                };
                payments::authorize::plan(&command, terms, &cx).map_err(text)?.draft
            }
            Op::Capture { part, .. } => {
                let (payment, merchant, part) = (payment()?, merchant(), part.map(yen));
                let command = payments::capture::Capture {
                    tenant,
                    merchant: &merchant,
                    payment: &payment,
                    wallet: &wallets::SeenWallet::default(),
                    amount: part.as_ref(),
                };
                payments::capture::plan(&command, terms, &cx).map_err(text)?.draft
            }
            Op::Void { .. } => {
                let payment = payment()?;
                let command = payments::void::Void {
                    tenant,
                    payment: &payment,
                    wallet: &wallets::SeenWallet::default(),
                    reason: None,
                };
                payments::void::plan(&command, terms, &cx).map_err(text)?.draft
            }
            Op::Refund { part, .. } => {
                let (payment, merchant, part) = (payment()?, merchant(), part.map(yen));
                let points = read[1]
                    .as_ref()
                    .map(|item| Balance::from_stored(Asset::Point, item.number(keys::attr::BALANCE).unwrap()).unwrap());
                let command = payments::refund::Refund {
                    wallet: &wallets::SeenWallet::default(),
                    tenant,
                    merchant: &merchant,
                    payment: &payment,
                    amount: part.as_ref(),
                    points: points.as_ref(),
                    reason: None,
                    card: None,
                    reference: None,
                    room: RoomGuard::Enough,
                    is_closed: false,
                };
                payments::refund::plan(&command, terms, &cx).map_err(text)?.draft
            }
            Op::Topup { who, charge } => {
                let claim = self.claim(scene);
                let command = topups::claim::Topup { customer: who, charge: yen(charge) };
                let call = topups::claim::plan(&command, &claim, terms, &scene.psp, &cx).map_err(text)?;
                let flight = Flight::begin(&claim, &call, &declared::keys()).unwrap();
                return Ok(Transaction::claimed(call.draft.clone(), &claim, &flight).unwrap());
            }
            Op::Paid { of, charge, .. } => {
                let record = read[0].as_ref().map(|item| TopupRecord::read(item).unwrap()).ok_or("no such top-up")?;
                return self.paid(scene, &record, (of, charge), read[1].as_ref());
            }
            Op::Patch { who, name, email, phone } => {
                let patch = |change, text: &str| match change {
                    Change::Keep => Patch::Keep,
                    Change::Set => Patch::Set(free(text)),
                    Change::Clear => Patch::Clear,
                };
                let patch = ProfilePatch {
                    name: name.then(|| free(&format!("Name {}", self.number))),
                    kana: Patch::Keep,
                    email: patch(email, &format!("n{}@example.com", self.number)),
                    phone: patch(phone, &format!("+8131{:07}", self.number)),
                };
                let previous = patch.touches_contact().then(|| read[0].as_ref()).flatten();
                let previous = previous.map(|profile| Contact::read(profile).unwrap());
                let fields = ProfileChange { patch: &patch, previous: previous.as_ref(), keys: &lookups };
                customers::profile::plan_own(tenant, who, fields, &cx).map_err(text)?.draft
            }
            Op::Freeze { who, on } => {
                let profile = read[0].as_ref().ok_or("no such customer")?;
                let balances: Vec<Item> = read[1..].iter().flatten().cloned().collect();
                let wallet = WalletView::read(profile, &balances).unwrap();
                let status = Some((if on { Status::Frozen } else { Status::Active }, &wallet));
                let patch = ProfilePatch::default();
                let fields = ProfileChange { patch: &patch, previous: None, keys: &lookups };
                let plan = customers::profile::plan_by_operator(tenant, who, fields, status, staff(), None, &cx);
                plan.map_err(text)?.draft
            }
            Op::Open { who } => {
                let command = customers::open::CustomerOpen {
                    tenant: tenant.clone(),
                    actor: staff(),
                    customer: Some(who),
                    name: free("Opened"),
                    kana: None,
                    email: None,
                    phone: Some(free("+81311112222")),
                };
                customers::open::plan(&command, terms, &lookups, &cx).map_err(text)?.draft
            }
        };
        Ok(self.assemble(&draft, scene))
    }

    fn assemble(&self, draft: &Draft, scene: &Scene) -> Transaction {
        let claim = self.claim(scene);
        Transaction::assemble(draft.clone(), &claim, &declared(claim.operation, answer()), &declared::keys()).unwrap()
    }

    /// The transaction of the PSP's event that a top-up was paid.
    fn paid(
        &self,
        scene: &Scene,
        record: &TopupRecord,
        (of, charge): (u32, u64),
        marker: Option<&Item>,
    ) -> Result<Transaction, String> {
        let (tenant, now) = (&scene.tenant, self.cx().now);
        let tags = Tags { tenant: tenant.clone(), topup: record.id, refund: None };
        let fact = Fact::Intent(PaymentIntent {
            id: PspId::parse(&format!("pi_{of}")).unwrap(),
            amount: PspMoney { minor: charge, currency: "jpy".to_owned() },
            received: charge,
            status: IntentStatus::Succeeded,
            livemode: false,
            client_secret: None,
            tags: Some(tags),
        });
        let wallet = &SeenWallet::default();
        let spent_points = SpentPoints::Deduct;
        let view = View {
            tenant,
            topup: record,
            refund: None,
            clawback: None,
            wallet,
            spent_points,
            terms_version: TermsVersion::FIRST,
        };
        let mut effect = match route::route(&fact, &view, now).unwrap() {
            Routed::Apply(effect) => *effect,
            Routed::Behind => return Err("behind".to_owned()),
            Routed::Ahead => return Err("ahead".to_owned()),
            Routed::Contradiction(contradiction) => return Err(format!("contradiction: {contradiction:?}")),
        };
        let flight = marker.map(|item| Marker::read(item).unwrap().state);
        if let (true, Some(MarkerState::InFlight(flight))) = (effect.lands, flight) {
            effect.draft.items.push(flight.land_from_outside(&answer(), false, now));
        }
        let event = EventId::parse(&format!("evt_{}", self.number)).unwrap();
        let claim = EventClaim { tenant: tenant.clone(), event, kind: "event".to_owned(), now };
        Ok(Transaction::of_event(effect.draft.clone(), &claim, &effect.provenance(tenant, now)).unwrap())
    }

    fn claim(&self, scene: &Scene) -> Claim {
        let customer = |who, operation| (Principal::Customer(who), Actor::Customer(who), operation);
        let by_staff = |operation| (Principal::Staff(StaffId::new(id(9, 9))), staff(), operation);
        let merchant_ = merchant().id;
        let by_merchant =
            |operation| (Principal::Merchant(merchant_), Actor::MerchantStaff(StaffId::new(id(9, 8))), operation);
        let (principal, actor, operation) = match self.op {
            Op::Pay { who, .. } => customer(who, Operation::Pay),
            Op::Transfer { from, .. } => customer(from, Operation::Transfer),
            Op::Grant { .. } => by_staff(Operation::Grant),
            Op::Code { who } => customer(who, Operation::PaymentCode),
            Op::Authorize { .. } => by_merchant(Operation::Charge),
            Op::Capture { .. } => by_merchant(Operation::Capture),
            Op::Void { .. } => by_merchant(Operation::Void),
            Op::Refund { .. } => by_merchant(Operation::Refund),
            Op::Topup { who, .. } => customer(who, Operation::Topup),
            Op::Paid { .. } | Op::Freeze { .. } => by_staff(Operation::CustomerPatch),
            Op::Patch { who, .. } => customer(who, Operation::ProfilePatch),
            Op::Open { .. } => by_staff(Operation::CustomerOpen),
        };
        Claim {
            tenant: scene.tenant.clone(),
            principal,
            actor,
            operation,
            key: IdempotencyKey::parse(&format!("k-{}", self.number)).unwrap().into(),
            request: CanonicalRequest { method: "POST", path: "/v1/x".to_owned(), fields: Fields::new() },
            window: Window::of(operation),
            now: self.cx().now,
        }
    }

    /// A resource's id comes from the request, a transaction's id from the attempt too.
    fn cx(&self) -> Context {
        let (number, attempt) = (u128::from(self.number), u128::from(self.attempt));
        let [.., byte] = self.number.to_be_bytes();
        Context {
            now: Timestamp::parse("2026-11-21T03:00:00Z").unwrap().plus(Duration::from_millis(self.number.into())),
            transaction_id: TransactionId::new(id(1, number << 8 | attempt)),
            resource_id: id(2, number),
            audit_id: AuditId::new(id(3, number << 8 | attempt)),
            secret: [byte; 16],
            salt: [byte; 16],
        }
    }
}

/// A merchant that takes payments.
pub(crate) fn merchant() -> MerchantTerms {
    let id = MerchantId::new(id(9, 1));
    MerchantTerms { id, name: "Aoba Bakery".to_owned(), open: true, closing: false, shards: Shards::ONE }
}

/// A UUIDv7 with a number in it.
pub(crate) fn id(kind: u128, number: u128) -> Uuid {
    Uuid::from_u128(0x019a_a510_0000_7000_8000_0000_0000_0000 | kind << 40 | number)
}

fn payment_key(scene: &Scene, of: u32) -> Key {
    keys::payment(&scene.tenant, PaymentId::new(id(2, of.into())))
}

fn topup_id(of: u32) -> TopupId {
    TopupId::new(id(2, of.into()))
}

fn staff() -> Actor {
    Actor::Staff(StaffId::new(id(9, 9)))
}

fn free(text: &str) -> FreeText {
    FreeText::parse(text, 140).unwrap()
}

fn answer() -> Answer {
    let body = "{\"ok\":true}".to_owned();
    Answer { status: 201, content_type: "application/json".to_owned(), location: None, body }
}
