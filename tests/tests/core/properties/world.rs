//! Random requests in one small world: terms, amounts, parts and ids, all made from numbers.

use ledger_core::dynamo::{Attributes, Item};
use ledger_core::idempotency::{Answer, CanonicalRequest, Claim, Fields, IdempotencyKey, Window};
use ledger_core::ids::{
    Actor, AuditId, CardId, CustomerId, MerchantId, Principal, StaffId, Tenant, TerminalId, TransactionId,
};
use ledger_core::journal::expand;
use ledger_core::keys::{Partition, Shards};
use ledger_core::money::{Amount, Asset, AssetSpec, Rate, RegionalKey, Share};
use ledger_core::operation::Operation;
use ledger_core::payments::{Parts, PaymentRecord};
use ledger_core::plan::Context;
use ledger_core::terms::{
    AssetTerms, CardPinTerms, CashBonusTerms, CeilingTerms, Co2Terms, DisplayName, GrantLimits, KeyPhase,
    MerchantTerms, SignInTerms, SpentPoints, TenantTerms, TermsVersion,
};
use ledger_core::time::Timestamp;
use ledger_core::transaction::{Draft, RenderedAction, TransactItem, Transaction};
use ledger_tests::declared::{self, declared};
use ledger_tests::engine::{Contents, Table};
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde_json::json;
use uuid::Uuid;

pub(crate) fn now() -> Timestamp {
    Timestamp::parse("2026-11-21T03:00:00Z").unwrap()
}

pub(crate) fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

pub(crate) fn customer(number: u128) -> CustomerId {
    CustomerId::new(Uuid::from_u128(number))
}

pub(crate) fn card() -> CardId {
    CardId::new(Uuid::from_u128(0xc))
}

pub(crate) fn terminal() -> TerminalId {
    TerminalId::new(Uuid::from_u128(0xd))
}

pub(crate) fn staff(number: u128) -> StaffId {
    StaffId::new(Uuid::from_u128(number))
}

pub(crate) fn merchant() -> MerchantTerms {
    let id = MerchantId::new(Uuid::from_u128(0xe));
    MerchantTerms { id, name: "Aoba Bakery".to_owned(), open: true, closing: false, shards: Shards::new(7).unwrap() }
}

pub(crate) fn yen(units: u64) -> Amount {
    Amount::parse(&AssetSpec::ECOPAY, &units.to_string()).unwrap()
}

/// What the merchant may refund, in yen: more than any case refunds.
const REFUND_CEILING: u64 = 1_000_000_000;

/// Writes the merchant's refund room, as its opening would.
pub(crate) fn begin_refund_room(table: &Table) {
    let key = Partition::merchant(&tenant(), merchant().id).refund_room();
    let n = json!({ "N": REFUND_CEILING.to_string() });
    table.put(&json!({ "uuid": { "S": key.pk() }, "type": { "S": key.sk() }, "ceiling": n, "room": n }));
}

pub(crate) fn points(units: u64) -> Amount {
    Amount::parse(&AssetSpec::POINT, &units.to_string()).unwrap()
}

/// A regional currency with the yen's scale, so that it can be part of a payment in yen.
pub(crate) fn regional_spec() -> AssetSpec {
    AssetSpec::regional(RegionalKey::parse("aoba").unwrap(), 0).unwrap()
}

pub(crate) fn regional(units: u64) -> Amount {
    Amount::parse(&regional_spec(), &units.to_string()).unwrap()
}

/// Random terms of a tenant.
pub(crate) fn terms() -> impl Strategy<Value = TenantTerms> {
    let rate = || prop_oneof![Just("0"), Just("0.01"), Just("0.005"), Just("0.123456"), Just("1"), Just("3.5")];
    let share = || prop_oneof![Just("0"), Just("0.01"), Just("0.005"), Just("0.123456"), Just("0.5")];
    (share(), rate(), share(), any::<bool>(), 1..64_u32).prop_map(|(point, co2, bonus, deduct, shards)| {
        let share = |text: &str| Share::parse(text).unwrap();
        let asset = |spec: AssetSpec| (spec.asset().clone(), AssetTerms::running(spec, None));
        let mut assets: std::collections::BTreeMap<Asset, AssetTerms> =
            [AssetSpec::ECOPAY, AssetSpec::POINT, regional_spec()].map(asset).into();
        assets.get_mut(&Asset::Ecopay).unwrap().cap = Some(yen(1_000_000_000));
        TenantTerms {
            version: TermsVersion::FIRST,
            display_name: DisplayName::parse("Aoba").unwrap(),
            key_phase: KeyPhase::Mandatory,
            assets,
            co2: Co2Terms { rate: Rate::parse(co2).unwrap(), source: "estimate".to_owned(), version: "1".to_owned() },
            points_rate: share(point),
            card_cap: yen(1_000_000_000),
            card_bonus_rate: share(bonus),
            card_pin: CardPinTerms::NotUsed,
            spent_points: if deduct { SpentPoints::Deduct } else { SpentPoints::Forgive },
            due_shards: Shards::new(shards).unwrap(),
            topup: None,
            requests_per_second: None,
            hold_hours: None,
            limits: None,
            settlement: None,
            settlement_schedule: None,
            cash_bonus: CashBonusTerms::Never,
            ceilings: CeilingTerms { refund: yen(REFUND_CEILING).as_balance(), ..CeilingTerms::zero() },
            grant_limits: GrantLimits::default(),
            sign_ins: SignInTerms::OwnIds,
        }
    })
}

/// The parts of a payment in yen: money, points, regional currency.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    pub(crate) money: u64,
    pub(crate) points: u64,
    pub(crate) regional: u64,
}

/// A split with a total above zero.
pub(crate) fn splits() -> impl Strategy<Value = Split> {
    let part = || prop_oneof![Just(0_u64), 1..50_u64, 1..5_000_u64];
    (part(), part(), part())
        .prop_filter("something", |(a, b, c)| a + b + c > 0)
        .prop_map(|(money, points, regional)| Split { money, points, regional })
}

impl Split {
    pub(crate) fn total(self) -> u64 {
        self.money + self.points + self.regional
    }

    pub(crate) fn parts(self, terms: &TenantTerms) -> Parts {
        let used = (self.points > 0).then(|| points(self.points));
        let others = if self.regional > 0 { vec![regional(self.regional)] } else { Vec::new() };
        Parts::split(yen(self.total()), used, others, terms).unwrap()
    }
}

/// Ids that differ for each `number`.
pub(crate) fn cx(number: u128) -> Context {
    Context {
        now: now(),
        transaction_id: TransactionId::new(Uuid::from_u128(number << 64 | 1)),
        resource_id: Uuid::from_u128(number << 64 | 2),
        audit_id: AuditId::new(Uuid::from_u128(number << 64 | 3)),
        secret: [7; 16],
        salt: [7; 16],
    }
}

pub(crate) fn claim(principal: Principal, operation: Operation, key: &str) -> Claim {
    let actor = match principal {
        Principal::Customer(id) => Actor::Customer(id),
        Principal::Terminal(id) => Actor::Terminal(id),
        Principal::Staff(id) => Actor::Staff(id),
        Principal::Merchant(_) => Actor::MerchantStaff(staff(1)),
    };
    let fields = Fields::new().with("a", "1");
    Claim {
        tenant: tenant(),
        principal,
        actor,
        operation,
        key: IdempotencyKey::parse(key).unwrap().into(),
        request: CanonicalRequest { method: "POST", path: "/v1/x".to_owned(), fields },
        window: Window::of(operation),
        now: now(),
    }
}

pub(crate) fn answer() -> Answer {
    let body = "{\"ok\":true}".to_owned();
    Answer { status: 201, content_type: "application/json".to_owned(), location: None, body }
}

pub(crate) fn assemble(draft: &Draft, claim: &Claim) -> Transaction {
    Transaction::assemble(draft.clone(), claim, &declared(claim.operation, answer()), &declared::keys()).unwrap()
}

/// The item that an action puts, with its key.
pub(crate) fn put(item: &TransactItem) -> Option<Item> {
    match item.render().unwrap().action {
        RenderedAction::Put(item) => Some(item),
        RenderedAction::Update(..) | RenderedAction::ConditionCheck(_) => None,
    }
}

/// The payment that a transaction records.
pub(crate) fn recorded(transaction: &Transaction) -> PaymentRecord {
    let items = transaction.items().iter().filter(|item| item.key().sk() == "PAYMENT");
    PaymentRecord::read(&items.filter_map(put).next().unwrap()).unwrap()
}

/// What `METRICS` and all balance items have together of a customer's aggregate, by its name in `METRICS`.
pub(crate) fn aggregate(contents: &Contents, name: &str) -> Decimal {
    let beside = format!("aggregate_{name}");
    let number = |item: &Item, name: &str| -> Decimal {
        item.opt_number(name).unwrap().map_or(Decimal::ZERO, |number| number.parse().unwrap())
    };
    let of = |((_, sk), item): (&(String, String), &Item)| match sk.as_str() {
        "METRICS" => number(item, name),
        sk if sk.starts_with("BALANCE#") => number(item, &beside),
        _ => Decimal::ZERO,
    };
    contents.iter().map(of).sum()
}

/// Checks that the aggregates are the sums over the one payment, if it is captured, and its refunds.
pub(crate) fn check_aggregates(contents: &Contents) {
    let (mut expected, mut co2) = ([Decimal::ZERO; 4], Decimal::ZERO);
    let number = |item: &Item, name: &str| -> Decimal { item.number(name).unwrap().parse().unwrap() };
    for ((_, sk), item) in contents {
        if sk == "PAYMENT" && item.keys().any(|name| name.starts_with("captured_")) {
            (expected[0], expected[1]) = (expected[0] + Decimal::ONE, expected[1] + number(item, "total"));
            co2 += number(item, "co2");
        }
        if sk.starts_with("REFUND#") {
            (expected[2], expected[3]) = (expected[2] + Decimal::ONE, expected[3] + number(item, "total"));
        }
        if sk.starts_with("TXN#") {
            let entry = expand(item).unwrap();
            co2 += if entry.contains_key("refund_id") { number(&entry, "co2") } else { Decimal::ZERO };
        }
    }
    let names = ["payments", "paid_total", "refunds", "refunded_total"];
    assert_eq!(names.map(|name| aggregate(contents, name)), expected, "{names:?}");
    assert_eq!(aggregate(contents, "co2_total"), co2, "the CO2 estimate");
}
