//! A webhook handler made of the core alone, on the model's table: no clock, no network, no randomness.

mod opening;

use crate::topup_orders::story::{Story, TopupEvent, What};
use ledger_core::customers::transfer::Transfer;
use ledger_core::dynamo::{Attributes, Item, Value};
use ledger_core::failure::Failure;
use ledger_core::idempotency::{
    Answer, CanonicalRequest, Claim, EventClaim, Fields, Flight, IdempotencyKey, Marker, MarkerState, PlannedCall,
    Window,
};
use ledger_core::ids::{Actor, AuditId, CustomerId, Principal, RefundId, StaffId, Tenant, TopupId, TransactionId};
use ledger_core::keys::{self, Key, Partition, Shards, attr};
use ledger_core::money::{Amount, Asset, AssetSpec, Balance, Rate, Share};
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::plan::{Context, PlanRefusal};
use ledger_core::psp::{EventId, Fact, IntentStatus, PspTerms};
use ledger_core::terms::{
    AssetTerms, CardPinTerms, CashBonusTerms, CeilingTerms, Co2Terms, DisplayName, GrantLimits, KeyPhase, SignInTerms,
    SpentPoints, TenantTerms, TermsVersion, TopupTerms,
};
use ledger_core::time::Timestamp;
use ledger_core::topups::refund::RefundTopup;
use ledger_core::topups::{self, Clawback, ContradictionKind, Routed, TopupRecord, TopupRefund, View, route};
use ledger_core::transaction::{Draft, Transaction, Verdict};
use ledger_core::wallets::SeenWallet;
use ledger_tests::declared;
use ledger_tests::holders;
use ledger_tests::model::Model;
use std::time::Duration;
use uuid::Uuid;

/// The tenant.
pub(crate) const TENANT: &str = "aoba";

/// One customer's books, on one tenant's terms.
pub(crate) struct Handler {
    pub(crate) tenant: Tenant,
    pub(crate) now: Timestamp,
    pub(crate) customer: CustomerId,
    friend: CustomerId,
    terms: TenantTerms,
    psp: PspTerms,
}

/// The result of handling a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FactOutcome {
    /// It took effect.
    Applied,
    /// Its event took effect before.
    Repeated,
    /// It is behind our record.
    Behind,
    /// No record depends on its kind of event.
    Ignored,
    /// The record that it is about does not exist.
    NoRecord,
    /// It contradicts our record.
    Contradiction(ContradictionKind),
}

/// What a fact would do to the table as read.
pub(crate) enum Plan {
    Ahead,
    Nothing(FactOutcome),
    Write(Box<Transaction>),
}

/// The result of a write.
pub(crate) enum WriteOutcome {
    Applied,
    Stale,
    MarkerExists,
    Refused(Failure),
}

impl Handler {
    pub(crate) fn new(spent_points: SpentPoints) -> Self {
        let rate = |text: &str| Rate::parse(text).unwrap();
        let asset = |spec: AssetSpec| (spec.asset().clone(), AssetTerms::running(spec, None));
        let mut assets: std::collections::BTreeMap<_, _> = [AssetSpec::ECOPAY, AssetSpec::POINT].map(asset).into();
        assets.get_mut(&Asset::Ecopay).unwrap().cap = Some(yen(1_000_000));
        Self {
            tenant: Tenant::parse(TENANT).unwrap(),
            now: Timestamp::parse("2026-11-21T03:00:00Z").unwrap(),
            customer: CustomerId::new(id(1)),
            friend: CustomerId::new(id(2)),
            terms: TenantTerms {
                version: TermsVersion::FIRST,
                display_name: DisplayName::parse("Aoba").unwrap(),
                key_phase: KeyPhase::Mandatory,
                assets,
                co2: Co2Terms { rate: rate("0.01"), source: "estimate".to_owned(), version: "1".to_owned() },
                points_rate: Share::parse("0.01").unwrap(),
                card_cap: yen(1_000_000),
                card_bonus_rate: Share::parse("0").unwrap(),
                card_pin: CardPinTerms::NotUsed,
                spent_points,
                due_shards: Shards::new(4).unwrap(),
                topup: Some(TopupTerms {
                    points_rate: Share::parse("0.01").unwrap(),
                    abandoned_after: Duration::from_secs(86_400),
                }),
                requests_per_second: None,
                hold_hours: None,
                limits: None,
                settlement: None,
                settlement_schedule: None,
                cash_bonus: CashBonusTerms::Never,
                ceilings: CeilingTerms::zero(),
                grant_limits: GrantLimits::default(),
                sign_ins: SignInTerms::OwnIds,
            },
            psp: PspTerms { ledger: "test".to_owned(), livemode: false, account: None },
        }
    }

    /// The customer requests a top-up.
    pub(crate) fn claim_topup(&self, model: &mut Model, topup: usize, charge: u64) -> WriteOutcome {
        let claim = self.claim(Principal::Customer(self.customer), Operation::Topup, &format!("topup-{topup}"));
        let command = topups::claim::Topup { customer: self.customer, charge: yen(charge) };
        let call = topups::claim::plan(&command, &claim, &self.terms, &self.psp, &self.cx(topup_id(topup).uuid()));
        self.begin(model, &claim, call)
    }

    /// The operator refunds part of a top-up.
    pub(crate) fn claim_refund(&self, model: &mut Model, topup: usize, refund: usize, amount: u64) -> WriteOutcome {
        let staff = StaffId::new(id(9));
        let key = format!("refund-{topup}-{refund}");
        let claim = self.claim(Principal::Staff(staff), Operation::TopupRefund, &key);
        let record = self.topup(model, topup).unwrap();
        let points = model.get(&Partition::customer(&self.tenant, self.customer).balance(&Asset::Point));
        let points = Balance::from_stored(Asset::Point, points.unwrap().number(attr::BALANCE).unwrap()).unwrap();
        let command = RefundTopup {
            actor: Actor::Staff(staff),
            topup: &record,
            amount: Some(&yen(amount)),
            points: Some(&points),
            reason: &FreeText::parse("requested", 140).unwrap(),
        };
        let cx = self.cx(refund_id(topup, refund).uuid());
        let call = topups::refund::plan(&command, &claim, &self.terms, &self.psp, &cx);
        self.begin(model, &claim, call)
    }

    /// Transfers an amount from the customer, or to the customer if `is_incoming`.
    pub(crate) fn send(&self, model: &mut Model, amount: &Amount, key: &str, is_incoming: bool) -> WriteOutcome {
        let (from, to) = if is_incoming { (self.friend, self.customer) } else { (self.customer, self.friend) };
        let claim = self.claim(Principal::Customer(from), Operation::Transfer, key);
        if model.get(&claim.marker_key()).is_some() {
            return WriteOutcome::MarkerExists;
        }
        let command = Transfer { tenant: self.tenant.clone(), from, to, amount: amount.clone(), memo: None };
        let planned = ledger_core::customers::transfer::plan(&command, &self.terms, &self.cx(numbered(key))).unwrap();
        self.write(model, &Transaction::assemble(planned.draft.clone(), &claim, &answer(), &declared::keys()).unwrap())
    }

    /// Delivers an event under an id. A stale plan is planned again; for a fact that is ahead, its PaymentIntent is
    /// looked up first.
    pub(crate) fn deliver(&self, model: &mut Model, story: &Story, event: TopupEvent, id: &str) -> FactOutcome {
        match self.fact(model, story, event, id) {
            Ok(fact) => self.apply(model, story, &fact, &EventId::parse(id).unwrap()),
            Err(done) => done,
        }
    }

    /// The fact of an event, with the amounts that were requested from the PSP.
    pub(crate) fn fact(&self, model: &Model, story: &Story, event: TopupEvent, id: &str) -> Result<Fact, FactOutcome> {
        let paid = match event.what.ours() {
            Some(refund) => {
                let item =
                    model.get(&keys::topup_refund(&self.tenant, topup_id(event.topup), refund_id(event.topup, refund)));
                Some(TopupRefund::read(item.ok_or(FactOutcome::NoRecord)?).unwrap().paid)
            }
            None => None,
        };
        story.event(&self.tenant, event, id, paid.as_ref()).fact().ok_or(FactOutcome::Ignored)
    }

    /// Whether an event of this kind yields a fact.
    pub(crate) fn has_fact(&self, story: &Story, what: What) -> bool {
        let event = TopupEvent { topup: story.topup, what };
        story.event(&self.tenant, event, "evt", Some(&yen(1))).fact().is_some()
    }

    pub(crate) fn apply(&self, model: &mut Model, story: &Story, fact: &Fact, event: &EventId) -> FactOutcome {
        for _ in 0..4 {
            match self.plan(model, story, fact, event) {
                Plan::Nothing(done) => return done,
                Plan::Ahead => assert_eq!(
                    self.look(model, story),
                    FactOutcome::Applied,
                    "the lookup of an object that is ahead is applied"
                ),
                Plan::Write(transaction) => match self.write(model, &transaction) {
                    WriteOutcome::Applied => {
                        self.act(model, story);
                        return FactOutcome::Applied;
                    }
                    WriteOutcome::MarkerExists => return FactOutcome::Repeated,
                    WriteOutcome::Stale => {}
                    WriteOutcome::Refused(failure) => panic!("{fact:?} was refused: {failure:?}"),
                },
            }
        }
        panic!("{fact:?} is still stale after 4 plans");
    }

    /// Looks up the story's PaymentIntent at the PSP.
    pub(crate) fn look(&self, model: &mut Model, story: &Story) -> FactOutcome {
        let fact = Fact::Intent(story.intent(&self.tenant, IntentStatus::Succeeded));
        let event = fact.seen_as();
        self.apply(model, story, &fact, &event)
    }

    /// Once the top-up is credited, the customer spends and the operator refunds.
    pub(crate) fn act(&self, model: &mut Model, story: &Story) {
        if story.refunds.is_empty() && story.spends == (0, 0) {
            return;
        }
        if self.topup(model, story.topup).is_none_or(|topup| topup.state != topups::TopupState::Succeeded) {
            return;
        }
        let (money, points) = story.spends;
        let spent = [(AssetSpec::ECOPAY, money, "money"), (AssetSpec::POINT, points, "points")];
        for (spec, spent, what) in spent.into_iter().filter(|(_, spent, _)| *spent > 0) {
            let amount = Amount::parse(&spec, &spent.to_string()).unwrap();
            match self.send(model, &amount, &format!("{what}-{}", story.topup), false) {
                WriteOutcome::Applied | WriteOutcome::MarkerExists => {}
                WriteOutcome::Stale | WriteOutcome::Refused(_) => panic!("the customer cannot spend {spent}"),
            }
        }
        for (refund, amount) in story.refunds.iter().enumerate() {
            let key = keys::topup_refund(&self.tenant, topup_id(story.topup), refund_id(story.topup, refund));
            if model.get(&key).is_none() {
                let wrote = self.claim_refund(model, story.topup, refund, *amount);
                assert!(matches!(wrote, WriteOutcome::Applied), "a refund of {amount} cannot be claimed");
            }
        }
    }

    fn wallet(&self, model: &Model) -> SeenWallet {
        let items = SeenWallet::keys(&self.tenant, self.customer).map(|key| model.get(&key).cloned());
        SeenWallet::read(items).unwrap()
    }

    /// The response to our own request, with which the claim's holder completes it.
    pub(crate) fn answered(&self, model: &mut Model, fact: &Fact, topup: usize, refund: Option<usize>) -> FactOutcome {
        let record = self.topup(model, topup).unwrap();
        let refund = refund.map(|refund| self.refund(model, topup, refund).unwrap());
        let marker = refund.as_ref().map_or_else(|| record.marker_key(&self.tenant), |r| r.marker_key(&self.tenant));
        let Some(flight) = self.flight(model, &marker) else { return FactOutcome::Repeated };
        let wallet = self.wallet(model);
        let view = View {
            tenant: &self.tenant,
            topup: &record,
            refund: refund.as_ref(),
            clawback: None,
            wallet: &wallet,
            spent_points: self.terms.spent_points,
            terms_version: self.terms.version,
        };
        let effect = match route::route(fact, &view, self.now).unwrap() {
            Routed::Apply(effect) => Some(*effect),
            Routed::Behind => None,
            Routed::Contradiction(contradiction) => return FactOutcome::Contradiction(contradiction),
            Routed::Ahead => panic!("a response to our own request is ahead"),
        };
        let from = ledger_core::transaction::Provenance {
            tenant: self.tenant.clone(),
            operation: effect.as_ref().map_or(flight.operation, |effect| effect.operation),
            principal: flight.principal,
            actor: Actor::Stripe,
            key: (&flight.key).into(),
            now: self.now,
        };
        let draft = effect.map_or_else(Draft::default, |effect| effect.draft);
        let landed =
            Transaction::landed(draft.clone(), holders::of_claim(&flight).land(&answer(), false, self.now), &from)
                .unwrap();
        match self.write(model, &landed) {
            WriteOutcome::Applied => FactOutcome::Applied,
            WriteOutcome::MarkerExists => FactOutcome::Repeated,
            WriteOutcome::Stale | WriteOutcome::Refused(_) => panic!("an answer was refused"),
        }
    }

    /// Plans a fact on the current table.
    pub(crate) fn plan(&self, model: &Model, story: &Story, fact: &Fact, event: &EventId) -> Plan {
        let ours = match fact {
            Fact::Refund(refund) => refund.tags.as_ref().and_then(|tags| tags.refund),
            Fact::Intent(_) | Fact::Withdrawn(_) | Fact::Reinstated(_) => None,
        };
        let taken = match fact {
            Fact::Refund(refund) => ours.is_none().then_some(&refund.id),
            Fact::Withdrawn(dispute) | Fact::Reinstated(dispute) => Some(&dispute.id),
            Fact::Intent(_) => None,
        };
        let (tenant, id) = (&self.tenant, topup_id(story.topup));
        let Some(record) = self.topup(model, story.topup) else { return Plan::Nothing(FactOutcome::NoRecord) };
        let refund = match ours {
            Some(ours) => match model.get(&keys::topup_refund(tenant, id, ours)) {
                Some(item) => Some(TopupRefund::read(item).unwrap()),
                None => return Plan::Nothing(FactOutcome::NoRecord),
            },
            None => None,
        };
        let clawback = taken.and_then(|taken| model.get(&keys::clawback(tenant, id, taken)));
        let clawback = clawback.map(|item| Clawback::read(item).unwrap());
        let wallet = self.wallet(model);
        let marker = refund.as_ref().map_or_else(|| record.marker_key(tenant), |refund| refund.marker_key(tenant));
        let flight = self.flight(model, &marker);
        let view = View {
            tenant,
            topup: &record,
            refund: refund.as_ref(),
            clawback: clawback.as_ref(),
            wallet: &wallet,
            spent_points: self.terms.spent_points,
            terms_version: self.terms.version,
        };
        let mut effect = match route::route(fact, &view, self.now).unwrap() {
            Routed::Behind => return Plan::Nothing(FactOutcome::Behind),
            Routed::Ahead => return Plan::Ahead,
            Routed::Contradiction(contradiction) => return Plan::Nothing(FactOutcome::Contradiction(contradiction)),
            Routed::Apply(effect) => *effect,
        };
        if let (true, Some(flight)) = (effect.lands, flight) {
            effect.draft.items.push(flight.land_from_outside(&answer(), false, self.now));
        }
        let claim =
            EventClaim { tenant: tenant.clone(), event: event.clone(), kind: "event".to_owned(), now: self.now };
        let from = effect.provenance(tenant, self.now);
        Plan::Write(Box::new(Transaction::of_event(effect.draft.clone(), &claim, &from).unwrap()))
    }

    pub(crate) fn write(&self, model: &mut Model, transaction: &Transaction) -> WriteOutcome {
        let Err(reasons) = model.execute(transaction.items()) else { return WriteOutcome::Applied };
        match transaction.classify(&reasons) {
            Verdict::MarkerExists(_) => WriteOutcome::MarkerExists,
            Verdict::Rejected(rejection) if rejection.failure == Failure::StalePlan => WriteOutcome::Stale,
            Verdict::Rejected(rejection) => WriteOutcome::Refused(rejection.failure),
            other @ (Verdict::Broken(_) | Verdict::Throttled | Verdict::Conflict) => panic!("{other:?}"),
        }
    }

    pub(crate) fn topup(&self, model: &Model, topup: usize) -> Option<TopupRecord> {
        model.get(&keys::topup(&self.tenant, topup_id(topup))).map(|item| TopupRecord::read(item).unwrap())
    }

    pub(crate) fn refund(&self, model: &Model, topup: usize, refund: usize) -> Option<TopupRefund> {
        let key = keys::topup_refund(&self.tenant, topup_id(topup), refund_id(topup, refund));
        model.get(&key).map(|item| TopupRefund::read(item).unwrap())
    }

    fn flight(&self, model: &Model, marker: &Key) -> Option<Flight> {
        match Marker::read(model.get(marker)?).unwrap().state {
            MarkerState::InFlight(flight) => Some(*flight),
            MarkerState::Completed { .. } | MarkerState::Reversed => None,
        }
    }

    fn begin(&self, model: &mut Model, claim: &Claim, call: Result<PlannedCall, PlanRefusal>) -> WriteOutcome {
        let call = match call {
            Ok(call) => call,
            Err(PlanRefusal::Refused(failure)) => return WriteOutcome::Refused(failure),
            Err(PlanRefusal::Limit(_)) => return WriteOutcome::Refused(Failure::LimitExceeded),
            Err(PlanRefusal::Invalid { .. } | PlanRefusal::InState { .. } | PlanRefusal::StillOpen(_)) => {
                return WriteOutcome::Refused(Failure::WrongState);
            }
            Err(
                other @ (PlanRefusal::OfPayment { .. }
                | PlanRefusal::PaymentDay { .. }
                | PlanRefusal::Denied(_)
                | PlanRefusal::Stored(_)
                | PlanRefusal::Money(_)),
            ) => panic!("{other}"),
        };
        let flight = Flight::begin(claim, &call, &declared::keys()).unwrap();
        self.write(model, &Transaction::claimed(call.draft.clone(), claim, &flight).unwrap())
    }

    fn claim(&self, principal: Principal, operation: Operation, key: &str) -> Claim {
        let actor = match principal {
            Principal::Customer(id) => Actor::Customer(id),
            Principal::Staff(id) => Actor::Staff(id),
            Principal::Merchant(_) | Principal::Terminal(_) => panic!("not here"),
        };
        Claim {
            tenant: self.tenant.clone(),
            principal,
            actor,
            operation,
            key: IdempotencyKey::parse(key).unwrap().into(),
            request: CanonicalRequest { method: "POST", path: "/v1/x".to_owned(), fields: Fields::new() },
            window: Window::of(operation),
            now: self.now,
        }
    }

    fn cx(&self, resource: Uuid) -> Context {
        let more = |by: u128| Uuid::from_u128(resource.as_u128() ^ (by << 40));
        Context {
            now: self.now,
            transaction_id: TransactionId::new(more(1)),
            resource_id: resource,
            audit_id: AuditId::new(more(2)),
            secret: [7; 16],
            salt: [7; 16],
        }
    }
}

pub(crate) fn topup_id(topup: usize) -> TopupId {
    TopupId::new(id(0x1000 + topup as u128))
}

/// The id of a top-up's refund.
pub(crate) fn refund_id(topup: usize, refund: usize) -> RefundId {
    RefundId::new(id(0x2000 + 0x10 * topup as u128 + refund as u128))
}

pub(crate) fn yen(units: u64) -> Amount {
    Amount::parse(&AssetSpec::ECOPAY, &units.to_string()).unwrap()
}

/// A UUIDv7 that contains a number.
fn id(number: u128) -> Uuid {
    Uuid::from_u128(0x019a_a510_0000_7000_8000_0000_0000_0000 | number)
}

/// An id derived from the key.
fn numbered(key: &str) -> Uuid {
    id(key.bytes().fold(0x3000, |sum: u128, byte| (sum * 257 + u128::from(byte)) & 0xff_ffff))
}

fn answer() -> Answer {
    let body = "{\"ok\":true}".to_owned();
    Answer { status: 201, content_type: "application/json".to_owned(), location: None, body }
}

fn whole(key: &Key, mut item: Item) -> Item {
    item.insert(attr::PK.to_owned(), Value::s(key.pk()));
    item.insert(attr::SK.to_owned(), Value::s(key.sk()));
    item
}
