//! `Transaction::classify` against every combination of reasons for one to four actions.
//! The oracle is a table of the precedence of DESIGN section 5.

use ledger_core::account::Account;
use ledger_core::dynamo::{Item, Value};
use ledger_core::failure::Failure;
use ledger_core::forms;
use ledger_core::idempotency::{
    Answer, CanonicalRequest, Claim, EventClaim, Fields, Flight, IdempotencyKey, PlannedCall, Window,
};
use ledger_core::ids::{Actor, CardId, CustomerId, Principal, Tenant, TopupId};
use ledger_core::keys::{self, Key, Shards};
use ledger_core::money::{Amount, AssetSpec};
use ledger_core::operation::Operation;
use ledger_core::plan::PlanRefusal;
use ledger_core::psp::{EventId, PspRequest, Step};
use ledger_core::time::Timestamp;
use ledger_core::transaction::{
    Broken, Draft, Provenance, Reason, ReasonCode, Rejection, Role, TransactItem, Transaction, Verdict,
};
use ledger_tests::declared;
use ledger_tests::names;

/// Every code, and one that the service may add.
const CODES: [&str; 8] = [
    "None",
    "ConditionalCheckFailed",
    "TransactionConflict",
    "ProvisionedThroughputExceeded",
    "ThrottlingError",
    "ItemCollectionSizeLimitExceeded",
    "ValidationError",
    "ACodeOfTomorrow",
];

/// What each code means by itself.
const KINDS: [(&str, &str); 8] = [
    ("None", "fine"),
    ("ConditionalCheckFailed", "condition"),
    ("TransactionConflict", "conflict"),
    ("ProvisionedThroughputExceeded", "throttled"),
    ("ThrottlingError", "throttled"),
    ("ItemCollectionSizeLimitExceeded", "broken"),
    ("ValidationError", "broken"),
    ("ACodeOfTomorrow", "broken"),
];

/// The precedence after the marker: the first kind that any action has. No kind at all is broken too.
const PRECEDENCE: [(&str, &str); 4] =
    [("condition", "rejected"), ("broken", "broken"), ("throttled", "throttled"), ("conflict", "conflict")];

fn now() -> Timestamp {
    Timestamp::parse("2026-11-21T03:00:00Z").unwrap()
}

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn customer() -> CustomerId {
    CustomerId::parse("019a0000-0000-7000-8000-00000000000a").unwrap()
}

fn claim() -> Claim {
    Claim {
        tenant: tenant(),
        principal: Principal::Customer(customer()),
        actor: Actor::Customer(customer()),
        operation: Operation::Pay,
        key: IdempotencyKey::parse("k").unwrap().into(),
        request: CanonicalRequest { method: "POST", path: "/".to_owned(), fields: Fields::new() },
        window: Window::WALLET,
        now: now(),
    }
}

/// An action, and the failure that its guard means.
struct Guard {
    item: TransactItem,
    failure: Failure,
    /// An item on which the guard fails; `None` if that is a missing item.
    bad: Option<Item>,
    /// An item on which the guard holds: returned with a failure, the failure is unexplained.
    good: Item,
}

fn slot(name: &str) -> Key {
    let card = |digit: &str| CardId::parse(&format!("019a0000-0000-7000-8000-0000000000c{digit}")).unwrap();
    keys::card(&tenant(), card(name))
}

/// Guards of different meanings, not in the order of their precedence.
fn guards() -> Vec<Guard> {
    let code_item = |state: &str| {
        Item::from([
            ("uuid".to_owned(), Value::s("x")),
            ("token_hash".to_owned(), Value::s("h")),
            ("state".to_owned(), Value::s(state)),
            ("expires_at".to_owned(), Value::s("2030-01-01T00:00:00.000Z")),
        ])
    };
    let code = |at: &str| forms::consume_code(slot(at), "h".to_owned(), now());
    let check = |account: &str, role: Role| {
        // Both amounts cancel out: only the guard remains, and no value moves.
        let amount = Amount::parse(&AssetSpec::ECOPAY, "10").unwrap();
        let account = Account::parse(account).unwrap();
        let both = (Some(&amount), Some(&amount));
        forms::settle(&tenant(), role, account, both, Failure::Insufficient, true, now()).unwrap()
    };
    let wallet = |balance: &str, frozen: bool| {
        let mut item =
            Item::from([("uuid".to_owned(), Value::s("x")), ("balance".to_owned(), Value::N(balance.to_owned()))]);
        if frozen {
            item.insert("frozen".to_owned(), Value::s("staff:x"));
        }
        item
    };
    let a = "customer:019a0000-0000-7000-8000-00000000000a";
    let b = "customer:019a0000-0000-7000-8000-00000000000b";
    vec![
        Guard {
            item: check(a, Role::Payer),
            failure: Failure::Insufficient,
            bad: Some(wallet("9", false)),
            good: wallet("10", false),
        },
        Guard {
            item: code("1"),
            failure: Failure::WrongState,
            bad: Some(code_item("used")),
            good: code_item("active"),
        },
        Guard {
            item: check(b, Role::Points),
            failure: Failure::AccountFrozen,
            bad: Some(wallet("10", true)),
            good: wallet("10", false),
        },
        Guard { item: code("2"), failure: Failure::AccountMissing, bad: None, good: code_item("active") },
    ]
}

fn assembled(guards: &[Guard]) -> Transaction {
    let draft = Draft { entry: None, items: guards.iter().map(|guard| guard.item.clone()).collect() };
    Transaction::assemble(draft.clone(), &claim(), &answer(), &declared::keys()).unwrap()
}

fn answer() -> Answer {
    Answer { status: 201, content_type: "application/json".to_owned(), location: None, body: "{}".to_owned() }
}

/// Which item is returned with one action's reason.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Back {
    Nothing,
    /// One on which the guard fails.
    Bad,
    /// One on which it holds: the failure is unexplained.
    Good,
}

const BACKS: [Back; 3] = [Back::Nothing, Back::Bad, Back::Good];

fn kind(code: &str) -> &'static str {
    KINDS.iter().find(|(name, _)| *name == code).unwrap().1
}

/// The verdict by the table of precedence; `marker`: whether the first reason is the marker's.
fn oracle(guards: &[Guard], marker: bool, given: &[(&str, Back)]) -> String {
    let (first, rest) = if marker { (Some(given[0]), &given[1..]) } else { (None, given) };
    if let Some((code, back)) = first {
        match (kind(code), back) {
            ("fine", _) => {}
            ("condition", Back::Bad | Back::Good) => return "marker_stands".to_owned(),
            ("condition", Back::Nothing) => return "broken".to_owned(),
            (other, _) => return other.to_owned(),
        }
    }
    let kinds: Vec<&str> = rest.iter().map(|(code, _)| kind(code)).collect();
    let Some((_, outcome)) = PRECEDENCE.iter().find(|(kind, _)| kinds.contains(kind)) else {
        return "broken".to_owned();
    };
    if *outcome != "rejected" {
        return (*outcome).to_owned();
    }
    let mut failed = Vec::new();
    for (guard, (code, back)) in guards.iter().zip(rest) {
        if kind(code) != "condition" {
            continue;
        }
        match back {
            Back::Good => return "broken".to_owned(),
            // A missing item fails the first clause, that the account or code exists.
            Back::Nothing => failed.push((Failure::AccountMissing, guard.item.role())),
            Back::Bad => failed.push((guard.failure, guard.item.role())),
        }
    }
    let rank = |failure: Failure| Failure::ALL.iter().position(|other| *other == failure).unwrap();
    // The first one of the highest precedence.
    let best = failed.iter().copied().reduce(|best, next| if rank(next.0) < rank(best.0) { next } else { best });
    let (failure, role) = best.unwrap();
    format!("rejected {} by {}", names::failure(failure), names::role(role))
}

/// Every combination of `len` reasons.
fn combinations(len: usize) -> Vec<Vec<(&'static str, Back)>> {
    let each: Vec<(&str, Back)> = CODES.iter().flat_map(|code| BACKS.map(|back| (*code, back))).collect();
    (0..len).fold(vec![Vec::new()], |so_far, _| {
        so_far
            .iter()
            .flat_map(|reasons: &Vec<(&'static str, Back)>| {
                each.iter().map(|one| [reasons.as_slice(), &[*one]].concat()).collect::<Vec<_>>()
            })
            .collect()
    })
}

fn compare(transaction: &Transaction, guards: &[Guard], marker: bool, given: &[(&str, Back)]) {
    let standing = Item::from([("uuid".to_owned(), Value::s("m"))]);
    let item = |at: usize, back: Back| {
        if marker && at == 0 {
            return (back != Back::Nothing).then(|| standing.clone());
        }
        let guard = &guards[at - usize::from(marker)];
        match back {
            Back::Nothing => None,
            Back::Bad => guard.bad.clone(),
            Back::Good => Some(guard.good.clone()),
        }
    };
    let reasons: Vec<Reason> = given
        .iter()
        .enumerate()
        .map(|(at, (code, back))| Reason { code: ReasonCode::parse(code), item: item(at, *back) })
        .collect();
    let got = names::verdict(&transaction.classify(&reasons));
    assert_eq!(got, oracle(guards, marker, given), "{reasons:#?}");
}

#[test]
fn every_combination_of_reasons_with_a_marker_is_classified() {
    for guarded in 0..4 {
        let guards: Vec<Guard> = guards().into_iter().take(guarded).collect();
        let transaction = assembled(&guards);
        for given in combinations(guarded + 1) {
            compare(&transaction, &guards, true, &given);
        }
    }
}

#[test]
fn every_combination_of_reasons_without_a_marker_is_classified() {
    for guarded in 1..=4 {
        let guards: Vec<Guard> = guards().into_iter().take(guarded).collect();
        let items = guards.iter().map(|guard| guard.item.clone()).collect();
        let transaction = Transaction::unkeyed(items).unwrap();
        for given in combinations(guarded) {
            compare(&transaction, &guards, false, &given);
        }
    }
}

/// Markers of money from outside: of a completed flight, a claimed one, and an event.
#[test]
fn every_combination_of_reasons_with_psp_markers_is_classified() {
    let topup = TopupId::parse("019a0000-0000-7000-8000-0000000000a1").unwrap();
    let account = None;
    let request = PspRequest { step: Step::CreateIntent, path: String::new(), body: String::new(), account };
    let (draft, shards) = (Draft::default(), Shards::ONE);
    let call = PlannedCall { draft, resource: topup.uuid(), topup, request, shards };
    let flight = Flight::begin(&claim(), &call, &declared::keys()).unwrap();
    let event = EventId::parse("evt_1").unwrap();
    let event = EventClaim { tenant: tenant(), event, kind: String::new(), now: now() };
    let from = Provenance::from(&claim());
    for guarded in 0..3 {
        let guards: Vec<Guard> = guards().into_iter().take(guarded).collect();
        let draft = Draft { entry: None, items: guards.iter().map(|guard| guard.item.clone()).collect() };
        let landed = Transaction::landed(draft.clone(), flight.land(&answer(), false, now()), &from).unwrap();
        let claimed = Transaction::claimed(draft.clone(), &claim(), &flight).unwrap();
        let of_event = Transaction::of_event(draft.clone(), &event, &from).unwrap();
        for given in combinations(guarded + 1) {
            for transaction in [&landed, &claimed, &of_event] {
                compare(transaction, &guards, true, &given);
            }
        }
    }
}

#[test]
fn wrong_number_of_reasons_is_broken() {
    let transaction = assembled(&guards());
    for count in [0, 1, 4, 6, 100] {
        let reasons = vec![Reason { code: ReasonCode::TransactionConflict, item: None }; count];
        let want = Verdict::Broken(Broken::WrongCount { reasons: count, items: 5 });
        assert_eq!(transaction.classify(&reasons), want);
    }
}

#[test]
fn condition_failure_of_unguarded_action_is_broken() {
    let transaction = Transaction::unkeyed(vec![forms::end_code(slot("3"), now())]).unwrap();
    let reasons = [Reason { code: ReasonCode::ConditionalCheckFailed, item: None }];
    assert_eq!(transaction.classify(&reasons), Verdict::Broken(Broken::Unexplained(Role::Code)));
}

/// An action whose failed guard means `failure`, and an item on which it fails.
fn meaning(failure: Failure, at: &str) -> (TransactItem, Option<Item>) {
    let a = Account::parse(&format!("customer:019a0000-0000-7000-8000-0000000000{at}")).unwrap();
    let amount = Amount::parse(&AssetSpec::POINT, "10").unwrap();
    let both = (Some(&amount), Some(&amount));
    let short = |failure| forms::settle(&tenant(), Role::Points, a, both, failure, true, now()).unwrap();
    let poor = Item::from([("uuid".to_owned(), Value::s("x")), ("balance".to_owned(), Value::int(0))]);
    match failure {
        Failure::StalePlan
        | Failure::Decided
        | Failure::CashRoomExceeded
        | Failure::CashNotOutstanding
        | Failure::RefundRoomExceeded
        | Failure::BudgetExceeded
        | Failure::ApprovalExpired
        | Failure::ReversalTooLate
        | Failure::PinRequired
        | Failure::PinLocked
        | Failure::PinWrong
        | Failure::OverRefund
        | Failure::LimitExceeded
        | Failure::Insufficient
        | Failure::AlreadyExists
        | Failure::FourEyes
        | Failure::CapExceeded
        | Failure::WrongState
        | Failure::RecipientUnavailable => (short(failure), Some(poor)),
        Failure::AccountMissing => (short(Failure::Insufficient), None),
        Failure::AccountFrozen => {
            let mut frozen = poor;
            frozen.insert("frozen".to_owned(), Value::s("staff:x"));
            (short(Failure::Insufficient), Some(frozen))
        }
    }
}

#[test]
fn failures_take_precedence_in_declared_order() {
    assert_eq!(Failure::ALL.len(), 21);
    for (rank, first) in Failure::ALL.iter().enumerate() {
        for then in &Failure::ALL[rank..] {
            for (one, other) in [(first, then), (then, first)] {
                let (a, b) = (meaning(*one, "0a"), meaning(*other, "0b"));
                let transaction = Transaction::unkeyed(vec![a.0, b.0]).unwrap();
                let reasons = [a.1, b.1].map(|item| Reason { code: ReasonCode::ConditionalCheckFailed, item });
                let Verdict::Rejected(Rejection { failure, old, .. }) = transaction.classify(&reasons) else {
                    panic!("{one:?} {other:?}");
                };
                assert_eq!(failure, *first, "{one:?} before {other:?}");
                // Of two equal failures, the first action's item is returned.
                let winner = if one == first { &reasons[0].item } else { &reasons[1].item };
                assert_eq!(&old, winner);
            }
        }
    }
}

#[test]
fn clauses_are_classified_in_their_order() {
    // Missing, frozen and short at once: one failure after the other as the item improves.
    let amount = Amount::parse(&AssetSpec::ECOPAY, "10").unwrap();
    let account = Account::Customer(customer());
    let item = forms::settle(
        &tenant(),
        Role::Payer,
        account,
        (Some(&amount), Some(&amount)),
        Failure::Insufficient,
        true,
        now(),
    );
    let transaction = Transaction::unkeyed(vec![item.unwrap()]).unwrap();
    let with = |attributes: &[(&str, Value)]| {
        Some(attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<Item>())
    };
    let (uuid, frozen) = (("uuid", Value::s("x")), ("frozen", Value::s("staff:x")));
    let steps = [
        (None, Failure::AccountMissing),
        (with(&[uuid.clone(), frozen, ("balance", Value::int(0))]), Failure::AccountFrozen),
        (with(&[uuid.clone(), ("balance", Value::int(9))]), Failure::Insufficient),
        (with(&[uuid.clone(), ("balance", Value::s("text"))]), Failure::Insufficient),
        (with(&[uuid]), Failure::Insufficient),
    ];
    for (item, want) in steps {
        let reasons = [Reason { code: ReasonCode::ConditionalCheckFailed, item }];
        match transaction.classify(&reasons) {
            Verdict::Rejected(rejection) => assert_eq!(rejection.failure, want),
            other @ (Verdict::MarkerExists(_) | Verdict::Broken(_) | Verdict::Throttled | Verdict::Conflict) => {
                panic!("{other:?}")
            }
        }
    }
}

#[test]
fn only_failures_that_may_be_stored_are_terminal() {
    let terminal: Vec<&str> =
        Failure::ALL.iter().filter(|failure| failure.is_terminal()).map(|failure| failure.code()).collect();
    let stored = [
        "wrong_state",
        "account_frozen",
        "wrong_state",
        "approval_expired",
        "cash_room_exceeded",
        "cash_not_outstanding",
        "refund_room_exceeded",
        "budget_exceeded",
        "reversal_too_late",
        "pin_required",
        "pin_locked",
        "pin_wrong",
        "over_refund",
        "cap_exceeded",
        "limit_exceeded",
        "insufficient_balance",
        "recipient_unavailable",
    ];
    assert_eq!(terminal, stored);
    assert_eq!(PlanRefusal::Refused(Failure::OverRefund).to_string(), "refused: over_refund");
}
