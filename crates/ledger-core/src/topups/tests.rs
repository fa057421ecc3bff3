//! What the golden vectors do not cover. Records are read back as written, points are settled over several refunds,
//! and a refund's marker is found under its key.

use super::*;
use crate::dynamo::Item;
use crate::idempotency::{CanonicalRequest, Claim, ClaimKey, Fields, Window};
use crate::ids::{Actor, AuditId, CustomerId, Principal, RefundId, StaffId, Tenant, TransactionId};
use crate::keys::Shards;
use crate::money::{Amount, Asset, AssetSpec, Balance, Rate, Share};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::psp::{PspId, PspTerms, Step};
use crate::terms::{
    AssetTerms, CardPinTerms, CashBonusTerms, CeilingTerms, Co2Terms, DisplayName, GrantLimits, KeyPhase, SignInTerms,
    SpentPoints, TenantTerms, TermsVersion, TopupTerms,
};
use crate::time::Timestamp;
use crate::transaction::{RenderedAction, Role, TransactItem};
use std::collections::BTreeMap;
use std::time::Duration;
use uuid::Uuid;

fn now() -> Timestamp {
    Timestamp::parse("2026-11-21T03:00:00Z").unwrap()
}

fn yen(amount: &str) -> Amount {
    Amount::parse(&AssetSpec::ECOPAY, amount).unwrap()
}

fn points(amount: &str) -> Balance {
    Balance::from_stored(Asset::Point, amount).unwrap()
}

fn claim(operation: Operation) -> Claim {
    let staff = StaffId::new(Uuid::from_u128(5));
    Claim {
        tenant: Tenant::parse("demo").unwrap(),
        principal: Principal::Staff(staff),
        actor: Actor::Staff(staff),
        operation,
        key: ClaimKey::parse("k").unwrap(),
        request: CanonicalRequest { method: "POST", path: "/".to_owned(), fields: Fields::new() },
        window: Window::PSP,
        now: now(),
    }
}

fn terms(rate: &str, spent_points: SpentPoints) -> TenantTerms {
    let ecopay = AssetTerms::running(AssetSpec::ECOPAY, None);
    TenantTerms {
        version: TermsVersion::FIRST,
        display_name: DisplayName::parse("Aoba").unwrap(),
        key_phase: KeyPhase::Mandatory,
        assets: BTreeMap::from([(Asset::Ecopay, ecopay)]),
        co2: Co2Terms { rate: Rate::ZERO, source: "s".to_owned(), version: "1".to_owned() },
        points_rate: Share::ZERO,
        card_cap: yen("1"),
        card_bonus_rate: Share::ZERO,
        card_pin: CardPinTerms::NotUsed,
        spent_points,
        due_shards: Shards::ONE,
        topup: Some(TopupTerms {
            points_rate: Share::parse(rate).unwrap(),
            abandoned_after: Duration::from_secs(3600),
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
    }
}

fn psp() -> PspTerms {
    PspTerms { ledger: "l".to_owned(), livemode: true, account: Some("acct_1".to_owned()) }
}

fn cx(resource: u128) -> Context {
    Context {
        now: now(),
        transaction_id: TransactionId::new(Uuid::from_u128(1)),
        resource_id: Uuid::from_u128(resource),
        audit_id: AuditId::new(Uuid::from_u128(2)),
        secret: [0; 16],
        salt: [0; 16],
    }
}

/// The item that the action of a role puts, with its key.
fn written(items: &[TransactItem], role: Role) -> Item {
    let item = items.iter().find(|item| item.role() == role).unwrap();
    match item.render().unwrap().action {
        RenderedAction::Put(item) => item,
        RenderedAction::Update(..) | RenderedAction::ConditionCheck(_) => {
            panic!("the action is not a put")
        }
    }
}

fn topup(charge: &str, rate: &str) -> TopupRecord {
    let command = claim::Topup { customer: CustomerId::new(Uuid::from_u128(9)), charge: yen(charge) };
    let terms = terms(rate, SpentPoints::Deduct);
    let call = claim::plan(&command, &claim(Operation::Topup), &terms, &psp(), &cx(7)).unwrap();
    TopupRecord::read(&written(&call.draft.items, Role::Topup)).unwrap()
}

/// A paid top-up of which `refundable` is left.
fn paid(charge: &str, rate: &str, refundable: &str, taken_back: &str) -> TopupRecord {
    TopupRecord {
        state: TopupState::Succeeded,
        intent: PspId::parse("pi_1"),
        refundable: Balance::from_stored(Asset::Ecopay, refundable).unwrap(),
        points_taken_back: points(taken_back),
        ..topup(charge, rate)
    }
}

fn refund_of(
    topup: &TopupRecord,
    amount: Option<&str>,
    there: &str,
    policy: SpentPoints,
) -> Result<TopupRefund, PlanRefusal> {
    let (amount, there) = (amount.map(yen), points(there));
    let command = refund::RefundTopup {
        actor: claim(Operation::TopupRefund).actor,
        topup,
        amount: amount.as_ref(),
        points: Some(&there),
        reason: &FreeText::parse("why", 140).unwrap(),
    };
    let claim = claim(Operation::TopupRefund);
    let call = refund::plan(&command, &claim, &terms("0", policy), &psp(), &cx(8))?;
    assert_eq!((call.resource, call.topup, call.request.step), (Uuid::from_u128(8), topup.id, Step::CreateRefund));
    let refund = TopupRefund::read(&written(&call.draft.items, Role::Refund)).unwrap();
    let expected = format!("amount={}&", refund.paid.text());
    assert!(call.request.body.contains(&expected), "the refund request has the amount paid out: {}", call.request.body);
    Ok(refund)
}

#[test]
fn topup_is_read_back_unchanged() {
    let topup = topup("5000", "0.01");
    assert_eq!(topup.state, TopupState::Requested);
    assert_eq!(topup.points.as_ref().map(Amount::text).as_deref(), Some("50"));
    assert_eq!((topup.livemode, topup.account.as_deref()), (true, Some("acct_1")));
    assert_eq!(topup.expires_at, now().plus(Duration::from_secs(3600)));
    assert_eq!(topup.refundable, Balance::zero(Asset::Ecopay), "an unpaid top-up has nothing to refund");
    assert_eq!((topup.intent.clone(), topup.cancellation()), (None, None));
}

#[test]
fn topup_keeps_the_points_of_its_claim() {
    // The rate may change between the claim and the payment, so the record holds the points.
    assert_eq!(topup("99", "0.01").points, None);
    assert_eq!(topup("100", "0.01").points.map(|points| points.text()).as_deref(), Some("1"));
    assert_eq!(topup("199", "0.01").points.map(|points| points.text()).as_deref(), Some("1"));
}

#[test]
fn partial_refunds_settle_every_point_once() {
    // 1,000 yen with 7 points, refunded by the hundred, with the points still available or spent.
    for (there, policy) in [("7", SpentPoints::Deduct), ("0", SpentPoints::Deduct), ("0", SpentPoints::Forgive)] {
        let (mut left, mut settled, mut paid_out, mut kept) = (1000_u32, 0_u32, 0_u32, 0_u32);
        let number =
            |amount: &Option<Amount>| amount.as_ref().map_or(0, |amount| amount.text().parse::<u32>().unwrap());
        while left > 0 {
            let topup = paid("1000", "0.007", &left.to_string(), &settled.to_string());
            let amount = (left != 100).then_some("100");
            let refund = refund_of(&topup, amount, there, policy).unwrap();
            assert_eq!(refund.amount.text(), "100");
            settled += number(&refund.settled);
            kept += number(&refund.kept);
            paid_out += refund.paid.text().parse::<u32>().unwrap();
            left -= 100;
        }
        assert_eq!(settled, 7);
        assert_eq!(paid_out + kept, 1000, "the amounts paid out and kept sum to the top-up");
        assert_eq!(kept, if there == "0" && policy == SpentPoints::Deduct { 7 } else { 0 });
    }
}

#[test]
fn refund_of_more_than_is_left_or_of_an_unpaid_topup_is_refused() {
    let refused = |failure| Err(PlanRefusal::Refused(failure));
    let topup = paid("1000", "0", "400", "0");
    assert_eq!(refund_of(&topup, Some("401"), "0", SpentPoints::Deduct), refused(Failure::OverRefund));
    assert!(refund_of(&topup, Some("400"), "0", SpentPoints::Deduct).is_ok());
    let none = paid("1000", "0", "0", "0");
    assert_eq!(refund_of(&none, None, "0", SpentPoints::Deduct), refused(Failure::OverRefund));
    for state in [TopupState::Requested, TopupState::Pending, TopupState::Canceled, TopupState::Refused] {
        let other = TopupRecord { state, ..topup.clone() };
        assert_eq!(refund_of(&other, Some("1"), "0", SpentPoints::Deduct), refused(Failure::WrongState));
    }
    // All of the money would be kept for points, and the provider cannot refund zero.
    let generous = paid("100", "0.5", "1", "0");
    assert!(matches!(refund_of(&generous, None, "0", SpentPoints::Deduct), Err(PlanRefusal::Invalid { .. })));
    assert!(refund_of(&generous, None, "50", SpentPoints::Deduct).is_ok());
}

#[test]
fn refund_marker_is_found_under_its_key() {
    let refund = refund_of(&paid("1000", "0", "1000", "0"), Some("1"), "0", SpentPoints::Deduct).unwrap();
    assert_eq!(refund.id, RefundId::new(Uuid::from_u128(8)));
    let tenant = claim(Operation::TopupRefund).tenant;
    assert_eq!(refund.marker_key(&tenant), claim(Operation::TopupRefund).marker_key());
}
