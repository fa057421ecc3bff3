//! What the golden vectors do not cover. Records are read back as written, every division of a hold gives a valid
//! transaction, and the tenant's hold time has bounds.

use super::super::authorize::{self, Authorize};
use super::super::capture::{self, Capture};
use super::super::code::{self, PaymentCode};
use super::super::hold::*;
use super::super::{Parts, expire};
use crate::idempotency::{Answer, Claim};
use crate::ids::{AuditId, CustomerId, MerchantId, TransactionId};
use crate::money::{Amount, AssetSpec, Rate, RegionalKey, Share};
use crate::terms::{
    AssetTerms, CardPinTerms, CashBonusTerms, CeilingTerms, Co2Terms, DisplayName, GrantLimits, HoldHours, KeyPhase,
    MerchantTerms, SignInTerms, SpentPoints, TermsVersion,
};
use crate::transaction::{RenderedAction, Transaction};
use std::collections::BTreeMap;
use std::time::Duration;
use uuid::Uuid;

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn regional() -> AssetSpec {
    AssetSpec::regional(RegionalKey::parse("yama").unwrap(), 2).unwrap()
}

fn terms(hold_hours: Option<HoldHours>) -> TenantTerms {
    let asset = |spec: AssetSpec| (spec.asset().clone(), AssetTerms::running(spec, None));
    TenantTerms {
        version: TermsVersion::FIRST,
        display_name: DisplayName::parse("Aoba").unwrap(),
        key_phase: KeyPhase::Mandatory,
        assets: [AssetSpec::ECOPAY, AssetSpec::POINT, regional()].map(asset).into(),
        co2: Co2Terms { rate: Rate::parse("0.01").unwrap(), source: "s".to_owned(), version: "1".to_owned() },
        points_rate: Share::parse("0.1").unwrap(),
        card_cap: Amount::parse(&AssetSpec::ECOPAY, "1").unwrap(),
        card_bonus_rate: Share::ZERO,
        card_pin: CardPinTerms::NotUsed,
        spent_points: SpentPoints::Deduct,
        due_shards: Shards::ONE,
        topup: None,
        requests_per_second: None,
        hold_hours,
        limits: None,
        settlement: None,
        settlement_schedule: None,
        cash_bonus: CashBonusTerms::Never,
        ceilings: CeilingTerms::zero(),
        grant_limits: GrantLimits::default(),
        sign_ins: SignInTerms::OwnIds,
    }
}

fn cx(number: u128) -> Context {
    Context {
        now: Timestamp::parse("2026-11-21T03:00:00Z").unwrap(),
        transaction_id: TransactionId::new(Uuid::from_u128(number)),
        resource_id: Uuid::from_u128(7),
        audit_id: AuditId::new(Uuid::from_u128(number)),
        secret: [0; 16],
        salt: [0; 16],
    }
}

fn merchant() -> MerchantTerms {
    let id = MerchantId::new(Uuid::from_u128(3));
    MerchantTerms { id, name: "Aoba".to_owned(), open: true, closing: false, shards: Shards::ONE }
}

/// An authorized payment of 10 points, 20 of regional currency and `money`, read back from its stored form.
fn authorized(money: u64) -> (PaymentRecord, Transaction) {
    let amount = |spec: &AssetSpec, units: u64| Amount::parse(spec, &units.to_string()).unwrap();
    let (terms, at) = (terms(HoldHours::new(2)), cx(1));
    let code = code::plan(&tenant(), CustomerId::new(Uuid::from_u128(9)), None, &at).unwrap().receipt.code;
    let total = amount(&AssetSpec::ECOPAY, money.saturating_add(30));
    let parts = Parts::split(total, Some(amount(&AssetSpec::POINT, 10)), vec![amount(&regional(), 20)], &terms);
    let command = Authorize {
        tenant: tenant(),
        merchant: merchant(),
        code: PaymentCode::parse(code.expose()).unwrap(),
        shop: None,
        parts: parts.unwrap(),
        memo: None,
    };
    let planned = authorize::plan(&command, &terms, &at).unwrap();
    let assembled = assemble(&planned.draft);
    let item = assembled.items().iter().find(|item| item.role() == Role::Payment).unwrap();
    let RenderedAction::Put(item) = item.render().unwrap().action else { panic!("the action is not a put") };
    assert!(
        !item.contains_key(attr::DUE_PK) && item.contains_key(attr::OWNER_PK),
        "the hold is in the owner's list and not in the due index"
    );
    (PaymentRecord::read(&item).unwrap(), assembled)
}

fn assemble(draft: &Draft) -> Transaction {
    let record = hold_claim();
    let answer = Answer { status: 200, content_type: "x".to_owned(), location: None, body: "{}".to_owned() };
    Transaction::assemble(draft.clone(), &record, &answer, &crate::idempotency::MarkerKeys::of_tests()).unwrap()
}

fn hold_claim() -> Claim {
    let id = crate::ids::PaymentId::new(Uuid::from_u128(7));
    let payment = PaymentRecord { id, ..blank() };
    expire::claim(&tenant(), &payment, cx(1).now)
}

fn blank() -> PaymentRecord {
    PaymentRecord {
        terminal: None,
        shop: None,
        id: crate::ids::PaymentId::new(Uuid::from_u128(1)),
        transaction_id: TransactionId::new(Uuid::from_u128(1)),
        payer: crate::account::Account::Customer(CustomerId::new(Uuid::from_u128(9))),
        merchant: merchant().id,
        total: Amount::parse(&AssetSpec::ECOPAY, "1").unwrap(),
        scale: 0,
        authorized: BTreeMap::new(),
        expires_at: None,
        captured_at: None,
        captured: BTreeMap::new(),
        refundable: BTreeMap::new(),
        points_earned: None,
        points_taken_back: crate::money::Balance::zero(Asset::Point),
        co2_rate: Rate::ZERO,
        co2: crate::money::Co2Kg::ZERO,
        state: PaymentState::Captured,
        created_at: cx(1).now,
        memo: None,
    }
}

#[test]
fn authorized_payment_is_read_back_unchanged() {
    let (payment, assembled) = authorized(100);
    assert_eq!(payment.state, PaymentState::Authorized);
    assert_eq!(payment.expires_at, Some(cx(1).now.plus(Duration::from_secs(2 * 60 * 60))));
    assert_eq!((payment.authorized.len(), payment.captured.len(), payment.refundable.len()), (3, 0, 0));
    let roles: Vec<Role> = assembled.items().iter().map(TransactItem::role).collect();
    let expected =
        [Role::Marker, Role::Code, Role::Payer, Role::Points, Role::Payer, Role::Payment, Role::Hold, Role::Journal];
    assert_eq!(roles, expected);
}

#[test]
fn every_division_of_a_hold_gives_a_valid_transaction() {
    for money in [1, 99, 100, 110, 1_000] {
        let (payment, _) = authorized(money);
        let (tenant, merchant, terms) = (tenant(), merchant(), terms(None));
        let all = Capture {
            tenant: &tenant,
            merchant: &merchant,
            payment: &payment,
            wallet: &SeenWallet::default(),
            amount: None,
        };
        for taken in 1..=money.saturating_add(30) {
            let amount = Amount::parse(&AssetSpec::ECOPAY, &taken.to_string()).unwrap();
            let planned = capture::plan(&Capture { amount: Some(&amount), ..all.clone() }, &terms, &cx(2)).unwrap();
            let _ = assemble(&planned.draft);
            let of = |asset: &Asset| planned.receipt.captured.get(asset).map(|part| part.text());
            let parts = [Asset::Point, regional().asset().clone(), Asset::Ecopay].map(|asset| of(&asset));
            let some = |units: u64| (units > 0).then(|| units.to_string());
            let expected =
                [some(taken.min(10)), some(taken.saturating_sub(10).min(20)), some(taken.saturating_sub(30))];
            assert_eq!(parts, expected, "{taken} of {money}");
        }
        let whole = capture::plan(&all, &terms, &cx(2)).unwrap();
        assert_eq!(whole.receipt.captured, payment.authorized);
        let _ = assemble(&whole.draft);
    }
}

#[test]
fn hold_time_is_one_hour_to_thirty_days() {
    assert_eq!([0, 721].map(HoldHours::new), [None, None]);
    let days = |days: u64| Duration::from_secs(days * 24 * 60 * 60);
    assert_eq!((terms(None).hold_for(), HoldHours::MAX.duration()), (days(7), days(30)));
    assert_eq!(terms(HoldHours::new(24)).hold_for(), days(1));
    let stored = terms(HoldHours::new(24));
    assert_eq!(TenantTerms::of_attributes(&stored.item()).unwrap(), stored);
}
