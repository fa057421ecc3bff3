//! One top-up and the PSP's facts about it: late, twice, in any order and by several ways.
//! Each fact moves money once, and after all facts no repetition moves more.

use crate::properties::world::*;
use ledger_core::account::Account;
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Claim, EventClaim, Flight, Marker, MarkerState};
use ledger_core::ids::{Principal, RefundId, TopupId};
use ledger_core::journal::JournalEntry;
use ledger_core::keys::{self, Key, Partition};
use ledger_core::money::{Asset, Balance};
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::plan::PlanRefusal;
use ledger_core::psp::{
    Dispute, EventId, Fact, IntentStatus, PaymentIntent, PspId, PspMoney, PspRefund, PspTerms, RefundStatus, Tags,
};
use ledger_core::terms::{TenantTerms, TopupTerms};
use ledger_core::topups::{Clawback, Routed, TopupRecord, TopupRefund, View, claim as topup, refund, route};
use ledger_core::transaction::{Transaction, Verdict};
use ledger_core::wallets::SeenWallet;
use ledger_tests::declared;
use ledger_tests::engine::{Contents, Table};
use ledger_tests::holders;
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use uuid::Uuid;

const CHARGE: u64 = 1000;

struct TopupScene {
    table: Table,
    terms: TenantTerms,
    events: u32,
}

fn id(text: &str) -> PspId {
    PspId::parse(text).unwrap()
}

fn psp() -> PspTerms {
    PspTerms { ledger: "l".to_owned(), livemode: false, account: None }
}

fn topup_id() -> TopupId {
    TopupId::new(Uuid::from_u128(7 << 64 | 2))
}

fn refund_id() -> RefundId {
    RefundId::new(Uuid::from_u128(8 << 64 | 2))
}

fn by_customer() -> Claim {
    claim(Principal::Customer(customer(0xa)), Operation::Topup, "k")
}

fn by_staff() -> Claim {
    claim(Principal::Staff(staff(1)), Operation::TopupRefund, "k")
}

fn yen_of(minor: u64) -> PspMoney {
    PspMoney { minor, currency: "jpy".to_owned() }
}

fn intent(status: IntentStatus) -> Fact {
    Fact::Intent(PaymentIntent {
        id: id("pi_1"),
        amount: yen_of(CHARGE),
        received: if status == IntentStatus::Succeeded { CHARGE } else { 0 },
        status,
        livemode: false,
        client_secret: None,
        tags: Some(Tags { tenant: tenant(), topup: topup_id(), refund: None }),
    })
}

fn refunded(of: &str, ours: bool, amount: u64, status: RefundStatus) -> Fact {
    let tags = ours.then(|| Tags { tenant: tenant(), topup: topup_id(), refund: Some(refund_id()) });
    Fact::Refund(PspRefund { id: id(of), intent: Some(id("pi_1")), amount: yen_of(amount), status, tags })
}

fn dispute(amount: u64) -> Dispute {
    Dispute { id: id("dp_1"), intent: Some(id("pi_1")), amount: yen_of(amount), livemode: false, movements: 0 }
}

impl TopupScene {
    /// A wallet with `money` and `spare` points, and a claimed top-up.
    fn new(terms: &TenantTerms, money: u64, spare: u64) -> Self {
        let topup = TopupTerms { points_rate: terms.points_rate, abandoned_after: Duration::from_secs(60) };
        let scene = Self { table: Table::new(), terms: TenantTerms { topup: Some(topup), ..terms.clone() }, events: 0 };
        for (asset, balance) in [(Asset::Ecopay, money), (Asset::Point, spare)] {
            let key = Partition::customer(&tenant(), customer(0xa)).balance(&asset);
            let balance = json!({ "N": balance.to_string() });
            scene.table.put(&json!({
                "uuid": { "S": key.pk() }, "type": { "S": key.sk() }, "balance": balance, "held": { "N": "0" },
                "exposure": balance,
            }));
        }
        let command = topup::Topup { customer: customer(0xa), charge: yen(CHARGE) };
        let call = topup::plan(&command, &by_customer(), &scene.terms, &psp(), &cx(7)).unwrap();
        let flight = Flight::begin(&by_customer(), &call, &declared::keys()).unwrap();
        scene
            .table
            .execute(Transaction::claimed(call.draft.clone(), &by_customer(), &flight).unwrap().items())
            .unwrap();
        scene
    }

    fn get(&self, key: &Key) -> Option<Item> {
        self.table.contents().get(&(key.pk().to_owned(), key.sk().to_owned())).cloned()
    }

    fn wallet(&self) -> SeenWallet {
        SeenWallet::read(SeenWallet::keys(&tenant(), customer(0xa)).map(|key| self.get(&key))).unwrap()
    }

    fn topup(&self) -> TopupRecord {
        TopupRecord::read(&self.get(&keys::topup(&tenant(), topup_id())).unwrap()).unwrap()
    }

    fn refund(&self) -> Option<TopupRefund> {
        let item = self.get(&keys::topup_refund(&tenant(), topup_id(), refund_id()))?;
        Some(TopupRefund::read(&item).unwrap())
    }

    fn balance(&self, asset: Asset) -> Balance {
        let item = self.get(&Partition::customer(&tenant(), customer(0xa)).balance(&asset)).unwrap();
        Balance::from_stored(asset, item.number("balance").unwrap()).unwrap()
    }

    /// Requests our refund; returns whether it was claimed.
    fn request_refund(&self, amount: u64) -> bool {
        let (topup, points) = (self.topup(), self.balance(Asset::Point));
        let command = refund::RefundTopup {
            actor: by_staff().actor,
            topup: &topup,
            amount: Some(&yen(amount)),
            points: Some(&points),
            reason: &FreeText::parse("why", 140).unwrap(),
        };
        let call = match refund::plan(&command, &by_staff(), &self.terms, &psp(), &cx(8)) {
            Ok(call) => call,
            Err(
                PlanRefusal::Refused(_)
                | PlanRefusal::Invalid { .. }
                | PlanRefusal::InState { .. }
                | PlanRefusal::StillOpen(_),
            ) => return false,
            Err(
                other @ (PlanRefusal::Denied(_)
                | PlanRefusal::PaymentDay { .. }
                | PlanRefusal::Limit(_)
                | PlanRefusal::OfPayment { .. }
                | PlanRefusal::Stored(_)
                | PlanRefusal::Money(_)),
            ) => panic!("{other}"),
        };
        let flight = Flight::begin(&by_staff(), &call, &declared::keys()).unwrap();
        let transaction = Transaction::claimed(call.draft.clone(), &by_staff(), &flight).unwrap();
        match self.table.execute(transaction.items()) {
            Ok(()) => true,
            Err(reasons) => {
                let verdict = transaction.classify(&reasons);
                assert!(matches!(verdict, Verdict::MarkerExists(_) | Verdict::Rejected(_)), "{verdict:?}");
                false
            }
        }
    }

    /// Applies a fact, under a new event id or, if `by_look`, under the id of a lookup.
    fn apply_fact(&mut self, fact: &Fact, by_look: bool) {
        let (topup, refund, wallet) = (self.topup(), self.refund(), self.wallet());
        let (ours, other) = match fact {
            Fact::Intent(_) => (None, None),
            Fact::Refund(psp_refund) if psp_refund.tags.is_some() => match &refund {
                Some(refund) => (Some(refund), None),
                // Stripe has no refund that was never requested.
                None => return,
            },
            Fact::Refund(psp_refund) => (None, Some(&psp_refund.id)),
            Fact::Withdrawn(dispute) | Fact::Reinstated(dispute) => (None, Some(&dispute.id)),
        };
        let clawback = other.and_then(|id| self.get(&keys::clawback(&tenant(), topup_id(), id)));
        let clawback = clawback.map(|item| Clawback::read(&item).unwrap());
        let (slug, at) = (tenant(), now());
        let view = View {
            tenant: &slug,
            topup: &topup,
            refund: ours,
            clawback: clawback.as_ref(),
            wallet: &wallet,
            spent_points: self.terms.spent_points,
            terms_version: self.terms.version,
        };
        let mut effect = match route::route(fact, &view, at).unwrap() {
            Routed::Apply(effect) => *effect,
            Routed::Behind | Routed::Ahead => return,
            Routed::Contradiction(contradiction) => panic!("{contradiction:?}: {fact:?} on {topup:?} {refund:?}"),
        };
        let marker = ours.map_or_else(|| topup.marker_key(&slug), |refund| refund.marker_key(&slug));
        if let (true, Some(MarkerState::InFlight(flight))) =
            (effect.lands, self.get(&marker).map(|item| Marker::read(&item).unwrap().state))
        {
            effect.draft.items.push(flight.land_from_outside(&answer(), false, at));
        }
        self.events += 1;
        let event = if by_look { fact.seen_as() } else { EventId::parse(&format!("evt_{}", self.events)).unwrap() };
        let claim = EventClaim { tenant: slug.clone(), event, kind: "event".to_owned(), now: at };
        let transaction = Transaction::of_event(effect.draft.clone(), &claim, &effect.provenance(&slug, at)).unwrap();
        if let Err(reasons) = self.table.execute(transaction.items()) {
            panic!("{:?} of {fact:?}", transaction.classify(&reasons));
        }
    }

    /// The sum of an account's postings of money.
    fn posted(&self, account: &str) -> Decimal {
        sums(&self.table.contents()).get(account).copied().unwrap_or_default()
    }

    fn check(&self, money: u64, spare: u64) {
        let contents = self.table.contents();
        let mut books = BTreeMap::<Asset, Decimal>::new();
        for entry in entries(&contents) {
            assert!(ledger_core::account::unbalanced(&entry.postings).unwrap().is_empty());
            for posting in entry.postings.iter().filter(|p| p.account == Account::Customer(customer(0xa))) {
                *books.entry(posting.delta.asset().clone()).or_default() += posting.delta.value();
            }
        }
        for (asset, before) in [(Asset::Ecopay, money), (Asset::Point, spare)] {
            let item = self.get(&Partition::customer(&tenant(), customer(0xa)).balance(&asset)).unwrap();
            let number = |name: &str| -> Decimal { item.opt_number(name).unwrap().unwrap_or("0").parse().unwrap() };
            let [balance, held, reserved] = ["balance", "held", "reserved"].map(number);
            assert!([balance, held, reserved].iter().all(|part| *part >= Decimal::ZERO), "{asset} below zero");
            assert_eq!(number("exposure"), balance + held + reserved, "{asset} against the cap");
            let posted = books.get(&asset).copied().unwrap_or_default();
            assert_eq!(balance + held, posted + Decimal::from(before), "{asset}: parts and postings");
        }
        let owed = |asset| self.wallet().get(asset).unwrap().owed.value();
        assert_eq!(self.posted("disputes"), -owed(&Asset::Ecopay), "the balance of `disputes` is what is owed");
    }
}

fn entries(contents: &Contents) -> Vec<JournalEntry> {
    let entries = contents.iter().filter(|((_, sk), _)| sk.starts_with("TXN#"));
    entries.map(|(_, item)| JournalEntry::read(item).unwrap()).collect()
}

fn sums(contents: &Contents) -> BTreeMap<String, Decimal> {
    let mut sums = BTreeMap::new();
    for posting in entries(contents).into_iter().flat_map(|entry| entry.postings) {
        if *posting.delta.asset() == Asset::Ecopay {
            *sums.entry(posting.account.to_string()).or_default() += posting.delta.value();
        }
    }
    sums
}

/// The final state at the PSP.
#[derive(Clone, Copy, Debug)]
struct Story {
    paid: bool,
    /// The refund that we request, and whether it failed in the end.
    refund: Option<(u64, bool)>,
    /// The disputed amount, and whether it was reinstated.
    dispute: Option<(u64, bool)>,
    /// The amount refunded at the PSP, and whether that refund failed.
    beside: Option<(u64, bool)>,
}

impl Story {
    /// All facts of the story; `paid_out` is the refund's amount in our record.
    fn facts(self, paid_out: Option<u64>) -> Vec<Fact> {
        let mut all = vec![intent(IntentStatus::Open)];
        if !self.paid {
            all.push(intent(IntentStatus::Canceled));
            return all;
        }
        all.push(intent(IntentStatus::Succeeded));
        if let (Some((_, failed)), Some(amount)) = (self.refund, paid_out) {
            let of = |status| refunded("re_1", true, amount, status);
            all.extend([of(RefundStatus::Pending), of(RefundStatus::Succeeded)]);
            all.extend(failed.then(|| of(RefundStatus::Failed)));
        }
        if let Some((amount, is_reinstated)) = self.dispute {
            all.push(Fact::Withdrawn(dispute(amount)));
            all.extend(is_reinstated.then(|| Fact::Reinstated(dispute(amount))));
        }
        if let Some((amount, failed)) = self.beside {
            let of = |status| refunded("re_9", false, amount, status);
            all.extend([of(RefundStatus::Pending), of(RefundStatus::Succeeded)]);
            all.extend(failed.then(|| of(RefundStatus::Failed)));
        }
        all
    }

    /// What the PSP has taken back, less what it has received.
    fn at_the_provider(self, paid_out: Option<u64>) -> Decimal {
        if !self.paid {
            return Decimal::ZERO;
        }
        let stays = |of: Option<(u64, bool)>| of.filter(|(_, is_undone)| !is_undone).map_or(0, |(amount, _)| amount);
        let refunded = paid_out.filter(|_| self.refund.is_some_and(|(_, failed)| !failed)).unwrap_or(0);
        Decimal::from(stays(self.dispute) + stays(self.beside) + refunded) - Decimal::from(CHARGE)
    }
}

fn stories() -> impl Strategy<Value = Story> {
    let part = || proptest::option::of((1..=CHARGE, any::<bool>()));
    (proptest::bool::weighted(0.8), part(), part(), part()).prop_map(|(paid, refund, dispute, beside)| Story {
        paid,
        refund,
        dispute,
        beside,
    })
}

proptest! {
    #![proptest_config(super::cases(60))]

    #[test]
    fn each_psp_fact_moves_money_once(
        terms in terms(),
        story in stories(),
        (money, spare) in (0..2000_u64, 0..2000_u64),
        order in proptest::collection::vec((0..64_usize, any::<bool>()), 0..30),
        request_at in 0..30_usize,
    ) {
        let mut scene = TopupScene::new(&terms, money, spare);
        let mut is_claimed = false;
        for (at, (which, by_look)) in order.into_iter().enumerate() {
            if let (Some((amount, _)), true) = (story.refund, at >= request_at && !is_claimed) {
                is_claimed = scene.request_refund(amount);
            }
            let facts = story.facts(paid_out(&scene));
            scene.apply_fact(&facts[which % facts.len()], by_look);
            scene.check(money, spare);
        }
        // At the end every fact is delivered once more.
        let facts = story.facts(paid_out(&scene));
        for fact in &facts {
            scene.apply_fact(fact, false);
            scene.check(money, spare);
        }
        prop_assert_eq!(scene.posted("stripe_clearing"), story.at_the_provider(paid_out(&scene)));
        let reserved = scene.get(&Partition::customer(&tenant(), customer(0xa)).balance(&Asset::Ecopay)).unwrap();
        prop_assert_eq!(reserved.opt_number("reserved").unwrap(), Some("0"), "no headroom stays reserved");
        prop_assert_eq!(reserved.opt_number("held").unwrap().unwrap_or("0"), "0", "nothing stays held");
        // A further delivery changes nothing.
        let before = scene.table.contents();
        for fact in facts.iter().rev() {
            scene.apply_fact(fact, false);
        }
        prop_assert_eq!(scene.table.contents(), before);
    }

    #[test]
    fn concurrent_plans_of_one_fact_apply_once(terms in terms(), spare in 0..50_u64) {
        // The claim's holder completes what an event has completed: both planned from the same read.
        let scene = TopupScene::new(&terms, 0, spare);
        let topup = scene.topup();
        let view = View {
            tenant: &tenant(),
            topup: &topup,
            refund: None,
            clawback: None,
            wallet: &scene.wallet(),
            spent_points: terms.spent_points,
            terms_version: terms.version,
        };
        let Ok(Routed::Apply(effect)) = route::route(&intent(IntentStatus::Succeeded), &view, now()) else {
            panic!("it applies")
        };
        let marker = Marker::read(&scene.get(&topup.marker_key(&tenant())).unwrap()).unwrap();
        let MarkerState::InFlight(flight) = marker.state else { panic!("in flight") };
        let from = effect.provenance(&tenant(), now());
        let holder = Transaction::landed(effect.draft.clone(), holders::of_claim(&flight).land(&answer(), false, now()), &from).unwrap();
        let mut draft = effect.draft.clone();
        draft.items.push(flight.land_from_outside(&answer(), false, now()));
        let event = |name: &str| EventClaim {
            tenant: tenant(), event: EventId::parse(name).unwrap(), kind: "event".to_owned(), now: now(),
        };
        let [one, two] = ["evt_1", "evt_2"].map(|name| Transaction::of_event(draft.clone(), &event(name), &from).unwrap());
        scene.table.execute(one.items()).unwrap();
        let before = scene.table.contents();
        let reasons = scene.table.execute(two.items()).unwrap_err();
        match two.classify(&reasons) {
            Verdict::Rejected(rejection) => prop_assert_eq!(rejection.failure, Failure::StalePlan),
            other @ (Verdict::MarkerExists(_) | Verdict::Broken(_) | Verdict::Throttled | Verdict::Conflict) => {
                panic!("{other:?}")
            }
        }
        let reasons = scene.table.execute(holder.items()).unwrap_err();
        let Verdict::MarkerExists(stored) = holder.classify(&reasons) else { panic!("the marker exists") };
        let is_answered = matches!(Marker::read(&stored).unwrap().state, MarkerState::Completed { .. });
        prop_assert!(is_answered);
        prop_assert_eq!(scene.table.contents(), before);
        scene.check(0, spare);
    }
}

fn paid_out(scene: &TopupScene) -> Option<u64> {
    scene.refund().map(|refund| refund.paid.value().try_into().unwrap())
}
