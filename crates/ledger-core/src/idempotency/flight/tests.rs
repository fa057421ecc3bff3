//! The state machine of an operation in flight: who may do what, until when, and under which PSP key. The writes are
//! in the golden vectors.

use super::*;
use crate::dynamo::Item;
use crate::idempotency::marker::free;
use crate::idempotency::{Answer, CanonicalRequest, Fields, KeyVerdict, Marker, MarkerState};
use crate::ids::{Actor, CustomerId};
use crate::psp::PspTerms;
use crate::psp::Step;
use crate::time::CLOCK_SKEW;
use crate::transaction::{Draft, Reason, ReasonCode, RenderedAction, Verdict};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn now() -> Timestamp {
    Timestamp::parse("2026-11-21T03:00:00Z").unwrap()
}

fn claim() -> Claim {
    let customer = CustomerId::new(Uuid::from_u128(1));
    Claim {
        tenant: Tenant::parse("demo").unwrap(),
        principal: Principal::Customer(customer),
        actor: Actor::Customer(customer),
        operation: Operation::Topup,
        key: ClaimKey::parse("k").unwrap(),
        request: CanonicalRequest { method: "POST", path: "/".to_owned(), fields: Fields::new().with("a", "1") },
        window: Window::PSP,
        now: now(),
    }
}

fn flight() -> Flight {
    held().into_record()
}

/// A claim with its first holder.
fn held() -> Leased<Flight> {
    let topup = TopupId::new(Uuid::from_u128(7));
    let terms = PspTerms { ledger: "l".to_owned(), livemode: false, account: Some("acct_1".to_owned()) };
    let charge = crate::money::Amount::parse(&crate::money::AssetSpec::ECOPAY, "100").unwrap();
    let request = PspRequest::create_intent(&claim().tenant, topup, &charge, &terms);
    let shards = Shards::new(3).unwrap();
    let call = PlannedCall { draft: Draft::default(), resource: topup.uuid(), topup, request, shards };
    Flight::begin(&claim(), &call, &MarkerKeys::of_tests()).unwrap()
}

fn answer() -> Answer {
    Answer { status: 201, content_type: "text/plain".to_owned(), location: Some("/x".to_owned()), body: "b".to_owned() }
}

/// The marker as stored by the claim.
fn stored(flight: &Flight) -> Item {
    put(&flight.marker(&claim(), None))
}

fn put(item: &TransactItem) -> Item {
    match item.render().unwrap().action {
        RenderedAction::Put(item) => item,
        RenderedAction::Update(..) | RenderedAction::ConditionCheck(_) => {
            panic!("the action is not a put")
        }
    }
}

/// The marker after the response was stored.
fn landed(flight: &Flight, at: Timestamp) -> Item {
    let mut item = stored(flight);
    for attribute in ["lease_until", attr::DUE_PK, attr::DUE_SK] {
        item.remove(attribute).unwrap();
    }
    item.extend([
        ("state".to_owned(), Value::s(COMPLETED)),
        ("processed_at".to_owned(), Value::s(at)),
        (attr::TTL.to_owned(), Value::int(Window::PSP.ttl(at, None))),
        ("status".to_owned(), Value::int(201)),
        ("content_type".to_owned(), Value::s("text/plain")),
        ("location".to_owned(), Value::s("/x")),
        ("body".to_owned(), Value::s("b")),
    ]);
    item
}

fn holds(transaction: &Transaction, item: &Item) -> bool {
    transaction.items()[0].clauses().iter().all(|clause| clause.condition.holds(Some(item)))
}

#[test]
fn claimed_flight_is_read_back_unchanged() {
    let flight = flight();
    assert_eq!(Flight::read(&stored(&flight)), Ok(flight.clone()));
    let parked = Flight { phase: Phase::Parked, parked: Some(Parked::NotFound), ..flight.clone() };
    let mut item = stored(&parked);
    item.insert("parked".to_owned(), Value::s("not_found"));
    assert_eq!(Flight::read(&item), Ok(parked));
    assert!(!stored(&flight).contains_key(attr::TTL), "a marker without an answer has no ttl");
    for broken in ["lease_until", "fence", "psp_body", "principal", "topup_id", "fp", "due_shards"] {
        let mut item = stored(&flight);
        item.remove(broken).unwrap();
        assert!(Flight::read(&item).is_err(), "{broken}");
    }
}

#[test]
fn holder_renews_its_lease_until_its_time_limit() {
    let flight = held();
    let (next, beat) = flight.heartbeat(now().plus(10 * SECOND)).unwrap().unwrap();
    assert_eq!(*next, Flight { lease_until: now().plus(40 * SECOND), ..(*flight).clone() });
    assert!(holds(&beat, &stored(&flight)));
    assert!(flight.heartbeat(now().plus(HOLDER_TIME_MAX).minus(MILLISECOND)).unwrap().is_some());
    for late in [HOLDER_TIME_MAX, HOLDER_TIME_MAX + SECOND, DAY] {
        assert!(flight.heartbeat(now().plus(late)).unwrap().is_none());
        assert!(!flight.may_hold(now().plus(late)), "a holder past its time limit sends nothing");
    }
    assert!(flight.may_hold(now().plus(HOLDER_TIME_MAX).minus(MILLISECOND)));
    // A new holder has its own time limit.
    let (second, _) = flight.take_over(now().plus(HOLDER_TIME_MAX)).unwrap().unwrap();
    assert!(second.heartbeat(now().plus(HOLDER_TIME_MAX + HOLDER_TIME_MAX).minus(MILLISECOND)).unwrap().is_some());
}

#[test]
fn flight_is_taken_over_once_the_lease_has_ended() {
    let flight = flight();
    let end = flight.lease_until;
    assert_eq!(end, now().plus(CLAIM_LEASE));
    assert!(flight.take_over(end.minus(MILLISECOND)).unwrap().is_none());
    let (second, taken) = flight.take_over(end).unwrap().unwrap();
    assert_eq!(*second, Flight { fence: 2, leased_at: end, lease_until: end.plus(CLAIM_LEASE), ..flight.clone() });
    assert_eq!(second.psp_key(), flight.psp_key());
    // Refused if the marker has another token, a renewed lease, or a response.
    assert!(holds(&taken, &stored(&flight)));
    for moved in [
        Flight { fence: 2, ..flight.clone() },
        Flight { lease_until: end.plus(SECOND), ..flight.clone() },
        Flight { phase: Phase::FailedRetry, ..flight.clone() },
    ] {
        assert!(!holds(&taken, &stored(&moved)));
    }
    assert!(!holds(&taken, &landed(&flight, end)));
}

#[test]
fn a_late_holder_writes_nothing() {
    let first = held();
    let end = first.lease_until;
    let (second, _) = first.take_over(end).unwrap().unwrap();
    let item = stored(&second);
    let late = [
        first.heartbeat(end).unwrap().unwrap().1,
        first.release(end).unwrap().1,
        first.fail_retryably(true, end).unwrap().1,
        first.park(Parked::NotFound, end).unwrap().1,
        first.take_over(end).unwrap().unwrap().1,
    ];
    assert!(late.iter().all(|transaction| !holds(transaction, &item)));
    let landing = first.land(&answer(), false, end);
    assert!(landing.clauses().iter().any(|clause| !clause.condition.holds(Some(&item))));
    // The rejected write returns the stored marker.
    let from = crate::transaction::Provenance::from(&claim());
    let transaction = Transaction::landed(Draft::default(), landing, &from).unwrap();
    let reasons = [Reason { code: ReasonCode::ConditionalCheckFailed, item: Some(item.clone()) }];
    assert_eq!(transaction.classify(&reasons), Verdict::MarkerExists(item.clone()));
    // An outcome from outside needs no token. It requires only that no response is stored.
    let outside = |item: &Item| {
        let landing = first.land_from_outside(&answer(), false, end);
        landing.clauses().iter().all(|clause| clause.condition.holds(Some(item)))
    };
    assert!(outside(&item));
    assert!(!outside(&landed(&second, end)));
}

#[test]
fn released_flight_can_be_taken_at_once() {
    let flight = held();
    let at = now().plus(5 * SECOND);
    let (next, _) = flight.release(at).unwrap();
    assert_eq!(next.take_over(at).unwrap().unwrap().0.fence(), 2);
}

#[test]
fn fifth_refusal_parks_the_flight() {
    let mut flight = held();
    let mut at = now();
    for (attempt, pause_s) in [(1, 30), (2, 60), (3, 120), (4, 240)] {
        at = at.plus(SECOND);
        let (failed, _) = flight.fail_retryably(true, at).unwrap();
        assert_eq!((failed.phase, failed.attempts, failed.fence), (Phase::FailedRetry, attempt, attempt));
        let again = at.plus(Duration::from_secs(pause_s));
        assert_eq!(failed.lease_until, again);
        assert!(
            failed.take_over(again.minus(MILLISECOND)).unwrap().is_none(),
            "the flight is not taken over before its pause ends"
        );
        flight = failed.take_over(again).unwrap().unwrap().0;
        assert_eq!((flight.phase, flight.fence()), (Phase::InFlight, i64::from(attempt) + 1));
        at = again;
    }
    let (parked, _) = flight.fail_retryably(true, at).unwrap();
    assert_eq!((parked.phase, parked.parked, parked.attempts), (Phase::Parked, Some(Parked::Attempts), MAX_ATTEMPTS));
    assert_eq!(parked.epoch, flight.epoch, "a parked flight keeps its PSP key");
    for later in [SECOND, DAY, 400 * DAY] {
        assert!(parked.take_over(at.plus(later)).unwrap().is_none(), "a worker does not take over a parked flight");
    }
    assert_eq!(pause(6), Duration::from_secs(15 * 60), "the pause has a maximum");
    assert_eq!(pause(u32::MAX), Duration::from_secs(15 * 60));
}

#[test]
fn epoch_advances_only_if_the_key_is_burnt() {
    let flight = held();
    let at = now().plus(20 * SECOND);
    let (kept, _) = flight.fail_retryably(false, at).unwrap();
    assert_eq!((kept.epoch, kept.first_sent_at), (1, now()));
    assert_eq!(kept.psp_key(), flight.psp_key());
    let (burnt, _) = flight.fail_retryably(true, at).unwrap();
    assert_eq!((burnt.epoch, burnt.first_sent_at), (2, at));
    assert_ne!(burnt.psp_key(), flight.psp_key());
}

#[test]
fn psp_key_depends_on_resource_step_and_epoch() {
    let flight = flight();
    let key = flight.psp_key();
    assert_eq!(key.as_str(), "ecopay-00000000-0000-0000-0000-000000000007-create_intent-1");
    let same = [
        Flight { fence: 9, ..flight.clone() },
        Flight { attempts: 4, ..flight.clone() },
        Flight { phase: Phase::Parked, parked: Some(Parked::Attempts), ..flight.clone() },
        Flight { leased_at: now().plus(HOUR), lease_until: now().plus(HOUR), ..flight.clone() },
        Flight { first_sent_at: now().plus(HOUR), ..flight.clone() },
    ];
    assert!(same.iter().all(|other| other.psp_key() == key));
    let step = PspRequest { step: Step::CreateRefund, ..flight.request.clone() };
    let others = [
        Flight { epoch: 2, ..flight.clone() },
        Flight { resource: Uuid::from_u128(8), ..flight.clone() },
        Flight { request: step, ..flight.clone() },
    ];
    assert!(others.iter().all(|other| other.psp_key() != key));
}

#[test]
fn request_nearly_a_day_old_is_not_sent_again() {
    let flight = held();
    assert!(flight.may_send(now()));
    assert!(flight.may_send(now().plus(23 * HOUR).minus(MILLISECOND)));
    for old in [23 * HOUR, 24 * HOUR, 400 * DAY] {
        assert!(!flight.may_send(now().plus(old)));
    }
    // A clock slightly behind still sends; one that is off by a day does not.
    assert!(flight.may_send(now().minus(CLOCK_SKEW)));
    assert!(!flight.may_send(now().minus(23 * HOUR)));
    // The age is counted per epoch.
    let (burnt, _) = flight.fail_retryably(true, now().plus(22 * HOUR)).unwrap();
    assert!(burnt.may_send(now().plus(44 * HOUR)));
}

/// The sender and the reader may be two machines whose clocks differ by `CLOCK_SKEW`.
#[test]
fn absence_is_confirmed_after_the_skew_of_clocks() {
    let (flight, listed) = (flight(), Duration::from_secs(10 * 60));
    for confirmed in [Flight::is_absence_confirmed, Flight::is_settled] {
        assert!(!confirmed(&flight, now().plus(listed)));
        assert!(!confirmed(&flight, now().plus(listed + CLOCK_SKEW).minus(MILLISECOND)));
        assert!(confirmed(&flight, now().plus(listed + CLOCK_SKEW)));
    }
}

#[test]
fn unparked_flight_starts_in_a_new_epoch() {
    let first = held();
    let at = now().plus(2 * DAY);
    let (parked, _) = first.park(Parked::NotFound, now().plus(DAY)).unwrap();
    assert!(!parked.may_send(at));
    let mut item = stored(&parked);
    item.insert("parked".to_owned(), Value::s("not_found"));
    let action = parked.unpark(at);
    assert!(action.clauses().iter().all(|clause| clause.condition.holds(Some(&item))));
    let RenderedAction::Update(_, update) = action.render().unwrap().action else { panic!("not an update") };
    assert!(update.ends_with("REMOVE #parked, #owner_pk, #owner_sk"), "{update}");
    let values = action.render().unwrap().values;
    let number = |name: &str| values.get(name).cloned();
    assert_eq!(number(":to_fence"), Some(Value::int(1)), "unparking keeps the fencing token");
    assert_eq!(number(":epoch"), Some(Value::int(2)));
    assert_eq!(number(":attempts"), Some(Value::int(0)));
    assert_eq!(number(":first_sent_at"), Some(Value::s(at)));
}

fn verdict(item: &Item, at: Timestamp) -> KeyVerdict {
    Claim { now: at, ..claim() }.verdict(&Marker::read(item).unwrap(), Some(&MarkerKeys::of_tests())).unwrap()
}

#[test]
fn marker_without_response_never_lapses() {
    let flight = flight();
    let retry = Flight { phase: Phase::FailedRetry, attempts: 2, ..flight.clone() };
    let mut parked = stored(&Flight { phase: Phase::Parked, ..flight.clone() });
    parked.insert("parked".to_owned(), Value::s("attempts"));
    for item in [stored(&flight), stored(&retry), parked] {
        for later in [SECOND, DAY, 2 * DAY + 2 * CLOCK_SKEW, 4000 * DAY] {
            let at = now().plus(later);
            assert!(matches!(verdict(&item, at), KeyVerdict::InFlight(_)));
            assert!(!Marker::read(&item).unwrap().lapsed(at));
            // No other claim can overwrite it.
            let free = free(at, Failure::AlreadyExists);
            assert!(!free.condition.holds(Some(&item)));
        }
    }
}

#[test]
fn a_key_in_flight_is_bound_to_its_request() {
    let item = stored(&flight());
    let mut other = claim();
    other.request.fields = Fields::new().with("a", "2");
    let verdict = other.verdict(&Marker::read(&item).unwrap(), Some(&MarkerKeys::of_tests()));
    assert_eq!(verdict, Ok(KeyVerdict::Reused));
}

#[test]
fn response_is_replayed_for_a_day_then_refused_for_a_day() {
    let flight = flight();
    let at = now().plus(3 * DAY);
    let item = landed(&flight, at);
    let MarkerState::Completed { answer: stored, .. } = Marker::read(&item).unwrap().state else { panic!("answered") };
    assert_eq!(stored, (&answer()).into());
    let expired = KeyVerdict::Expired { original_request_at: at };
    assert_eq!(verdict(&item, at), KeyVerdict::Replay(answer()));
    assert_eq!(verdict(&item, at.plus(DAY).minus(MILLISECOND)), KeyVerdict::Replay(answer()));
    assert_eq!(verdict(&item, at.plus(DAY)), expired);
    assert_eq!(verdict(&item, at.plus(2 * DAY)), expired);
    // The `ttl` includes the clock skew, and a reader allows for the same skew again.
    assert_eq!(verdict(&item, at.plus(2 * DAY + 2 * CLOCK_SKEW)), expired);
    assert_eq!(verdict(&item, at.plus(2 * DAY + 2 * CLOCK_SKEW + SECOND)), KeyVerdict::Free);
}

#[test]
fn landing_stores_the_response_and_removes_the_due_entry() {
    let flight = held();
    let at = now().plus(SECOND);
    for (refused, state) in [(false, COMPLETED), (true, FAILED_TERMINAL)] {
        for item in [flight.land(&answer(), refused, at), flight.land_from_outside(&answer(), refused, at)] {
            let rendered = item.render().unwrap();
            assert_eq!(rendered.values.get(":landed"), Some(&Value::s(state)));
            assert_eq!(rendered.values.get(":ttl"), Some(&Value::int(Window::PSP.ttl(at, None))));
            let RenderedAction::Update(_, update) = rendered.action else { panic!("not an update") };
            assert!(
                update.ends_with("REMOVE #_due_pk, #_due_sk, #owner_pk, #owner_sk, #lease_until, #parked"),
                "{update}"
            );
            assert!(update.contains("#location = :location"), "{update}");
        }
    }
    let mut refused = landed(&flight, at);
    refused.insert("state".to_owned(), Value::s(FAILED_TERMINAL));
    assert_eq!(verdict(&refused, at), KeyVerdict::Replay(answer()), "a stored refusal is replayed");
}
