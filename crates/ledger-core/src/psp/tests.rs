//! The exact bytes of requests to the payment provider, and the reading of its objects and events.

use super::*;
use crate::ids::{RefundId, Tenant, TopupId};
use crate::money::{Amount, AssetSpec};
use uuid::Uuid;

const TOPUP: &str = "019aa000-0000-7000-8000-000000000081";
const REFUND: &str = "019aa000-0000-7000-8000-000000000082";

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn topup() -> TopupId {
    TopupId::parse(TOPUP).unwrap()
}

fn yen(amount: &str) -> Amount {
    Amount::parse(&AssetSpec::ECOPAY, amount).unwrap()
}

fn id(text: &str) -> PspId {
    PspId::parse(text).unwrap()
}

fn terms(account: Option<&str>) -> PspTerms {
    PspTerms { ledger: "eco & pay=1".to_owned(), livemode: true, account: account.map(str::to_owned) }
}

#[test]
fn requests_have_the_expected_bytes() {
    let refund = RefundId::parse(REFUND).unwrap();
    let create = PspRequest::create_intent(&tenant(), topup(), &yen("5000"), &terms(None));
    assert_eq!(create.path, "/v1/payment_intents");
    assert_eq!(create.account, None);
    assert_eq!(
        create.body,
        "amount=5000&currency=jpy&automatic_payment_methods%5Benabled%5D=true\
         &metadata%5Becopay_ledger%5D=eco+%26+pay%3D1&metadata%5Becopay_tenant%5D=demo\
         &metadata%5Becopay_topup%5D=019aa000-0000-7000-8000-000000000081"
    );
    let refund = PspRequest::create_refund(
        &tenant(),
        (topup(), refund),
        &id("pi_1"),
        &yen("1987"),
        &terms(None).ledger,
        Some("acct_1"),
    );
    assert_eq!((refund.path.as_str(), refund.account.as_deref()), ("/v1/refunds", Some("acct_1")));
    assert_eq!(
        refund.body,
        "payment_intent=pi_1&amount=1987&metadata%5Becopay_ledger%5D=eco+%26+pay%3D1\
         &metadata%5Becopay_tenant%5D=demo&metadata%5Becopay_topup%5D=019aa000-0000-7000-8000-000000000081\
         &metadata%5Becopay_refund%5D=019aa000-0000-7000-8000-000000000082"
    );
    let cancel = PspRequest::cancel_intent(&id("pi_1"), Some("acct_1"));
    assert_eq!(cancel.path, "/v1/payment_intents/pi_1/cancel");
    assert_eq!((cancel.body.as_str(), cancel.account.as_deref()), ("cancellation_reason=abandoned", Some("acct_1")));
    assert_eq!([create.step, refund.step, cancel.step], [Step::CreateIntent, Step::CreateRefund, Step::CancelIntent]);
}

#[test]
fn keys_differ_by_resource_step_and_epoch() {
    let of = Uuid::parse_str(TOPUP).unwrap();
    let key = PspKey::new(of, Step::CancelIntent, 3);
    assert_eq!(key.to_string(), "ecopay-019aa000-0000-7000-8000-000000000081-cancel_intent-3");
    let mut all: Vec<String> = Vec::new();
    for resource in [of, Uuid::parse_str(REFUND).unwrap()] {
        for step in Step::ALL {
            assert_eq!(Step::parse(step.name()), Some(step));
            all.extend([1, 2, 12].map(|epoch| PspKey::new(resource, step, epoch).to_string()));
        }
    }
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
    assert!(all.iter().all(|key| key.len() <= 255), "a PSP key has at most 255 bytes");
    assert_eq!(Step::parse("create_transfer"), None);
}

#[test]
fn ids_are_letters_digits_and_underscores() {
    for fits in ["pi_3QAbc", "x", "evt_1", &"a".repeat(255)] {
        assert_eq!(PspId::parse(fits).map(|id| id.to_string()).as_deref(), Some(fits));
    }
    // None of these may change our paths or keys.
    for not in ["", "pi/1", "pi#1", "pi 1", "../x", "pi-1", "pi?x=1", "ぴ", &"a".repeat(256)] {
        assert_eq!((PspId::parse(not), EventId::parse(not)), (None, None), "{not}");
    }
}

#[test]
fn only_jpy_amounts_are_yen() {
    let money = |minor, currency: &str| PspMoney { minor, currency: currency.to_owned() }.yen();
    assert_eq!(money(5000, "jpy"), Some(yen("5000")));
    for (minor, currency) in
        [(0, "jpy"), (5000, "usd"), (5000, "JPY"), (5000, ""), (1_000_000_000_000_000, "jpy"), (u64::MAX, "jpy")]
    {
        assert_eq!(money(minor, currency), None, "{minor} {currency}");
    }
}

#[test]
fn metadata_must_be_complete_and_of_this_deployment() {
    let read = |pairs: &[(&str, &'static str)]| {
        let at = |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        Tags::read("eco", at)
    };
    let ours = [("ecopay_ledger", "eco"), ("ecopay_tenant", "demo"), ("ecopay_topup", TOPUP)];
    assert_eq!(read(&ours), Some(Tags { tenant: tenant(), topup: topup(), refund: None }));
    let of_refund = [ours[0], ours[1], ours[2], ("ecopay_refund", REFUND)];
    let refund = Some(RefundId::parse(REFUND).unwrap());
    assert_eq!(read(&of_refund), Some(Tags { tenant: tenant(), topup: topup(), refund }));
    assert_eq!(read(&[]), None);
    for without in 0..3 {
        let some: Vec<_> = ours.iter().enumerate().filter(|(at, _)| *at != without).map(|(_, pair)| *pair).collect();
        assert_eq!(read(&some), None, "{without}");
    }
    for (at, wrong) in [(0, "another"), (1, "De mo"), (2, "1"), (3, "1")] {
        let mut tags = of_refund;
        tags[at].1 = wrong;
        assert_eq!(read(&tags), None, "{wrong}");
    }
}

#[test]
fn unknown_status_words_are_not_final() {
    for open in ["requires_payment_method", "requires_action", "processing", "requires_capture", "Succeeded", "", "new"]
    {
        assert_eq!(IntentStatus::reported(open), IntentStatus::Open, "{open}");
    }
    assert_eq!(IntentStatus::reported("succeeded"), IntentStatus::Succeeded);
    assert_eq!(IntentStatus::reported("canceled"), IntentStatus::Canceled);
    for pending in ["pending", "requires_action", "", "new", "Failed"] {
        assert_eq!(RefundStatus::reported(pending), RefundStatus::Pending, "{pending}");
    }
    assert_eq!(RefundStatus::reported("succeeded"), RefundStatus::Succeeded);
    assert_eq!([RefundStatus::reported("failed"), RefundStatus::reported("canceled")], [RefundStatus::Failed; 2]);
}

fn intent() -> PaymentIntent {
    PaymentIntent {
        id: id("pi_1"),
        amount: PspMoney { minor: 5000, currency: "jpy".to_owned() },
        received: 0,
        status: IntentStatus::Open,
        livemode: false,
        client_secret: None,
        tags: Some(Tags { tenant: tenant(), topup: topup(), refund: None }),
    }
}

fn refund() -> PspRefund {
    PspRefund {
        id: id("re_1"),
        intent: Some(id("pi_1")),
        amount: intent().amount,
        status: RefundStatus::Pending,
        tags: None,
    }
}

fn dispute() -> Dispute {
    Dispute { id: id("dp_1"), intent: Some(id("pi_1")), amount: intent().amount, livemode: false, movements: 0 }
}

/// The fact of an event, by its type and the object that it carries.
#[test]
fn event_gives_a_fact_about_the_object_it_carries() {
    let subjects = [
        ("intent", Subject::Intent(intent())),
        ("refund", Subject::Refund(refund())),
        ("dispute", Subject::Dispute(dispute())),
        ("other", Subject::Other),
    ];
    let table: &[(&str, &str, Option<&str>)] = &[
        ("payment_intent.created", "intent", Some("intent")),
        ("payment_intent.processing", "intent", Some("intent")),
        ("payment_intent.requires_action", "intent", Some("intent")),
        ("payment_intent.amount_capturable_updated", "intent", Some("intent")),
        ("payment_intent.partially_funded", "intent", Some("intent")),
        ("payment_intent.payment_failed", "intent", Some("intent")),
        ("payment_intent.succeeded", "intent", Some("intent")),
        ("payment_intent.canceled", "intent", Some("intent")),
        ("refund.created", "refund", Some("refund")),
        ("refund.updated", "refund", Some("refund")),
        ("refund.failed", "refund", Some("refund")),
        ("charge.refund.updated", "refund", Some("refund")),
        ("charge.refunded", "other", None),
        ("charge.succeeded", "other", None),
        ("charge.failed", "other", None),
        ("charge.updated", "other", None),
        ("charge.dispute.created", "dispute", None),
        ("charge.dispute.updated", "dispute", None),
        ("charge.dispute.closed", "dispute", None),
        ("charge.dispute.funds_withdrawn", "dispute", Some("withdrawn")),
        ("charge.dispute.funds_reinstated", "dispute", Some("reinstated")),
        ("payout.paid", "other", None),
        ("payout.failed", "other", None),
        ("account.updated", "other", None),
        ("balance.available", "other", None),
        ("checkout.session.completed", "other", None),
        ("setup_intent.succeeded", "other", None),
        ("a.type.of.tomorrow", "other", None),
        ("", "other", None),
        // An event whose object does not fit its type has no fact.
        ("payment_intent.succeeded", "refund", None),
        ("payment_intent.succeeded", "dispute", None),
        ("payment_intent.succeeded", "other", None),
        ("refund.created", "intent", None),
        ("charge.dispute.funds_withdrawn", "refund", None),
        ("charge.dispute.funds_withdrawn", "intent", None),
        ("setup_intent.succeeded", "intent", None),
        ("payment_intents.succeeded", "intent", None),
        ("charge.refunded", "refund", None),
    ];
    for (kind, carries, want) in table {
        let subject = subjects.iter().find(|(name, _)| name == carries).unwrap().1.clone();
        let event = Event {
            id: EventId::parse("evt_1").unwrap(),
            kind: (*kind).to_owned(),
            livemode: false,
            account: None,
            subject,
        };
        let got = event.fact().map(|fact| match fact {
            Fact::Intent(_) => "intent",
            Fact::Refund(_) => "refund",
            Fact::Withdrawn(_) => "withdrawn",
            Fact::Reinstated(_) => "reinstated",
        });
        assert_eq!(got, *want, "{kind} with {carries}");
    }
}

#[test]
fn lookup_has_one_id_for_each_object_and_state() {
    let intents = [IntentStatus::Open, IntentStatus::Succeeded, IntentStatus::Canceled]
        .map(|status| Fact::Intent(PaymentIntent { status, ..intent() }));
    let refunds = [RefundStatus::Pending, RefundStatus::Succeeded, RefundStatus::Failed]
        .map(|status| Fact::Refund(PspRefund { status, ..refund() }));
    let disputes = [Fact::Withdrawn(dispute()), Fact::Reinstated(dispute())];
    let facts = intents.iter().chain(&refunds).chain(&disputes);
    let mut ids: Vec<String> = facts.clone().map(|fact| fact.seen_as().to_string()).collect();
    assert_eq!(ids[1], "seen_pi_1_succeeded");
    // The id depends on the object and its state, not on its other fields.
    let later = Fact::Intent(PaymentIntent { received: 5000, status: IntentStatus::Succeeded, ..intent() });
    assert_eq!(later.seen_as(), intents[1].seen_as());
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 8);
    assert!(facts.clone().all(|fact| fact.intent() == Some(&id("pi_1"))));
    // A dispute has no metadata, nor does a refund that was made at the provider.
    assert_eq!(facts.filter(|fact| fact.tags().is_some()).count(), 3);
}

#[test]
fn a_client_secret_is_not_printed() {
    let secret: ClientSecret = crate::personal::Masked::new("pi_1_secret_x".to_owned());
    let printed = format!("{:?}", PaymentIntent { client_secret: Some(secret), ..intent() });
    assert!(!printed.contains("secret_x"), "{printed}");
}
