//! Payments in each phase of a migration: they write the model or models of the phase, and each failed guard has its
//! meaning there.

use super::Case;
use super::migrating::*;
use super::world::*;
use crate::golden::command::{Change, Does, Money, ProfileChange};
use serde_json::{Value as Json, json};

/// Each phase: the case's id, what the case shows, and the move that led to the phase.
macro_rules! phases {
    ($model:literal: $($number:literal $concern:literal $stage:literal,)*) => {
        &[$((
            concat!("migration/pay-", $model, "-", $number),
            concat!("Money, points and a regional currency in phase ", $number, ": ", $concern, " is at ", $stage, "."),
            ($number, $concern, $stage),
        )),*]
    };
}

type Phases = &'static [(&'static str, &'static str, Moved)];

const FROM_GOD_RECORD: Phases = phases!["god-record":
    "00" "everything" "legacy_only",
    "01" "profile" "dual_write",
    "02" "profile" "backfilled",
    "03" "profile" "read_new",
    "04" "history" "dual_write",
    "05" "history" "backfilled",
    "06" "history" "read_new",
    "07" "metrics" "dual_write",
    "08" "metrics" "backfilled",
    "09" "metrics" "read_new",
    "10" "points" "dual_write",
    "11" "points" "backfilled",
    "12" "points" "read_new",
    "13" "jcredit" "dual_write",
    "14" "jcredit" "backfilled",
    "15" "jcredit" "read_new",
    "16" "regional" "dual_write",
    "17" "regional" "backfilled",
    "18" "regional" "read_new",
    "19" "money" "dual_write",
    "20" "money" "backfilled",
    "21" "money" "read_new",
    "22" "profile" "new_only",
    "23" "history" "new_only",
    "24" "metrics" "new_only",
    "25" "points" "new_only",
    "26" "jcredit" "new_only",
    "27" "regional" "new_only",
    "28" "money" "new_only",
];

const FROM_HALF_WAY: Phases = phases!["half-way":
    "00" "everything but metrics" "legacy_only",
    "01" "profile" "dual_write",
    "02" "profile" "backfilled",
    "03" "profile" "read_new",
    "04" "history" "dual_write",
    "05" "history" "backfilled",
    "06" "history" "read_new",
    "07" "points" "dual_write",
    "08" "points" "backfilled",
    "09" "points" "read_new",
    "10" "jcredit" "dual_write",
    "11" "jcredit" "backfilled",
    "12" "jcredit" "read_new",
    "13" "regional" "dual_write",
    "14" "regional" "backfilled",
    "15" "regional" "read_new",
    "16" "money" "dual_write",
    "17" "money" "backfilled",
    "18" "money" "read_new",
    "19" "profile" "new_only",
    "20" "history" "new_only",
    "21" "points" "new_only",
    "22" "jcredit" "new_only",
    "23" "regional" "new_only",
    "24" "money" "new_only",
];

/// SHA-256 of the canonical JSON of the payments' request.
const FP: &str = "c88a14b5e2c49f84038cb3aa6cbd9901b780dba10dd4ad9b90fbb5c1978bd301";

pub(super) fn cases() -> Vec<Case> {
    let mut all = payments(GOD_RECORD, FROM_GOD_RECORD);
    all.extend(payments(HALF_WAY, FROM_HALF_WAY));
    all.extend(emptied());
    all.extend(refused());
    all.extend(stale());
    all.extend(profiles());
    all.extend(openings_and_freezes());
    all
}

fn pay(id: &'static str, why: &'static str) -> Case {
    let claim = by_a("pay", "/v1/me/payments", json!({ "merchant_id": MERCHANT, "amount": yen("3240") }));
    let does = Does::Pay {
        customer: A.to_owned(),
        merchant: MERCHANT.to_owned(),
        amount: yen("3240"),
        points: Some("500".to_owned()),
        regional: vec![Money { amount: "1000".to_owned(), asset: "REGIONAL#aoba".to_owned() }],
        memo: None,
    };
    Case::new(id, why, Some(claim), does)
}

impl Case {
    /// A customer in a phase, changed by `change`.
    fn in_phase(self, model: &str, phase: usize, change: impl FnOnce(Vec<Json>) -> Vec<Json>) -> Self {
        self.on([migrating(model, phase), merchant()]).on(change(customer(model, phase)))
    }
}

/// The effects of a payment, the same in every phase.
fn paid(case: Case) -> Case {
    case.moves(&[(OF_A, "ECOPAY", "-1740"), (OF_MERCHANT, "ECOPAY", "1740")])
        .moves(&[(OF_A, "REGIONAL#aoba", "-1000"), (OF_MERCHANT, "REGIONAL#aoba", "1000")])
        .moves(&[(OF_A, "POINT", "-483"), (OF_MERCHANT, "POINT", "500"), ("points_issued", "POINT", "-17")])
}

/// While God Records are being emptied, and afterwards.
fn emptied() -> Vec<Case> {
    let contracting = || setting(migrating(GOD_RECORD, 28), "contracting", json!({ "BOOL": true }));
    let contracted = || setting(migrating(GOD_RECORD, 28), "contracted_at", s(EARLIER));
    let emptied = |fence| {
        let mut customer = customer(GOD_RECORD, 28);
        customer[0] = item("customer", A, "customer", json!({ "nickname": s("hana"), "fence_phase": n(fence) }));
        customer
    };
    vec![
        paid(
            pay("migration/pay-before-emptied", "The God Record is looked at, and nothing is said in it any more.")
                .on([contracting(), merchant()])
                .on(customer(GOD_RECORD, 28)),
        ),
        paid(
            pay("migration/pay-emptied", "An empty one lets everybody pass who has read the setting.")
                .on([contracting(), merchant()])
                .on(emptied("28")),
        ),
        pay("migration/pay-emptied-fenced", "And nobody who has not.")
            .on([migrating(GOD_RECORD, 27), merchant()])
            .on(emptied("28"))
            .ends("stale fenced"),
        paid(
            pay("migration/pay-contracted", "When all are empty, God Records are looked at no more.")
                .on([contracted(), merchant()])
                .on(emptied("28")),
        ),
    ]
}

fn payments(model: &str, phases: Phases) -> Vec<Case> {
    let each = phases.iter().enumerate().map(|(phase, (id, why, (number, concern, stage)))| {
        assert_eq!(number.parse(), Ok(phase), "{id}");
        let is_so = phase == 0 || Stages::of(model, phase).stage(concern) == *stage;
        assert!(is_so, "{id}: {concern} is not at {stage}");
        paid(pay(id, why).in_phase(model, phase, |customer| customer))
    });
    each.collect()
}

/// A refused payment has the same reason in either model.
fn refused() -> Vec<Case> {
    let one_yen_short =
        |customer| record_with(record_with(customer, "balance", n("1739")), "balance_exposure", n("1739"));
    let one_point_short = |metrics| with(with(metrics, "point", n("499")), "point_exposure", n("499"));
    vec![
        pay("migration/short-in-the-god-record", "One yen is missing, and the balance stands in the God Record.")
            .in_phase(GOD_RECORD, 10, one_yen_short)
            .ends("rejected insufficient by payer"),
        pay("migration/short-in-both", "Guards stand on the split record; the God Record says the same.")
            .in_phase(GOD_RECORD, 21, |customer| {
                item_with(one_yen_short(customer), "BALANCE#ECOPAY", |_| wallet(A, "ECOPAY", "1739"))
            })
            .ends("rejected insufficient by payer"),
        pay("migration/points-short-among-the-aggregates", "The half-way model has points in METRICS.")
            .in_phase(HALF_WAY, 3, |customer| item_with(customer, "METRICS", one_point_short))
            .ends("rejected insufficient by points"),
        pay("migration/frozen-in-the-god-record", "A balance is frozen where it stands.")
            .in_phase(GOD_RECORD, 10, |customer| record_with(customer, "balance_frozen", s(BY_OTHER)))
            .ends("rejected account_frozen by payer"),
        pay("migration/no-such-currency", "A currency that the God Record's map does not name.")
            .in_phase(GOD_RECORD, 0, |customer| record_with(customer, "regional", json!({ "M": { "yama": n("1") } })))
            .ends("rejected account_missing by payer"),
    ]
}

/// A customer whose items do not match the phase: the plan is stale, and nothing is written.
fn stale() -> Vec<Case> {
    let replayed = pay("migration/replayed", "A retry finds its answer, wherever the customer stands by now.");
    let claim = replayed.given.command.claim.clone().unwrap();
    let with_points_truth = |truth| move |customer| record_with(customer, "truth_points", s(truth));
    vec![
        pay("migration/stale-not-adopted", "The ledger has not taken the customer over.")
            .in_phase(GOD_RECORD, 0, unknown)
            .ends("stale not_adopted"),
        pay("migration/stale-half-way-not-adopted", "The ledger has not taken the customer over.")
            .in_phase(HALF_WAY, 0, unknown)
            .ends("stale not_adopted"),
        pay("migration/stale-without-a-god-record", "Whom split records alone know has to be looked at.")
            .in_phase(GOD_RECORD, 21, |mut customer| customer.split_off(1))
            .ends("stale not_adopted"),
        replayed.in_phase(GOD_RECORD, 0, unknown).on([marker(&claim, EARLIER, "1803006300", FP)]).ends("replay"),
        pay("migration/stale-fenced", "Somebody has written under a later setting.")
            .in_phase(GOD_RECORD, 10, |customer| record_with(customer, "fence_phase", n("11")))
            .ends("stale fenced"),
        pay("migration/stale-fenced-at-the-end", "When all has moved, a later setting may be one that goes back.")
            .in_phase(GOD_RECORD, 28, |customer| record_with(customer, "fence_phase", n("29")))
            .ends("stale fenced"),
        pay("migration/stale-not-copied", "The phase reads points from the split records, which lack some.")
            .in_phase(GOD_RECORD, 12, with_points_truth("legacy"))
            .ends("stale not_copied points"),
        pay("migration/stale-not-copied-back", "The phase went back, and the God Record lacks points.")
            .in_phase(GOD_RECORD, 10, with_points_truth("split"))
            .ends("stale not_copied points"),
        pay("migration/stale-not-copied-before-the-first", "And where the split records are not written.")
            .in_phase(GOD_RECORD, 9, with_points_truth("split"))
            .on([wallet(A, "POINT", "500")])
            .ends("stale not_copied points"),
    ]
}

fn profiles() -> Vec<Case> {
    let patch = |id, why, phase| {
        let set = |text: &str| Change::Set(text.to_owned());
        let change =
            ProfileChange { name: Some("Hana".to_owned()), email: set("new@example.jp"), phone: Change::Clear };
        let fields = json!({ "name": "Hana", "email": "new@example.jp", "phone": null });
        let does = Does::ProfilePatch { customer: A.to_owned(), change };
        Case::new(id, why, Some(by_a("profile_patch", "/v1/me", fields)), does)
            .on([migrating(GOD_RECORD, phase)])
            .on(customer(GOD_RECORD, phase))
    };
    vec![
        patch("migration/profile-patch-legacy-only", "Two set, one cleared, in the God Record.", 0),
        patch("migration/profile-patch-dual-write", "In both, the God Record guarded.", 1),
        patch("migration/profile-patch-backfilled", "In both, the God Record guarded.", 2),
        patch("migration/profile-patch-read-new", "In both, the split record guarded.", 3),
        patch("migration/profile-patch-new-only", "In the split record alone.", 22),
    ]
}

fn openings_and_freezes() -> Vec<Case> {
    let open = |id, why, model, phase| {
        let claim = by_staff("customer_open", "/v1/admin/customers", json!({ "name": "Hanako" }));
        let does = Does::CustomerOpen {
            customer: None,
            actor: BY_STAFF.to_owned(),
            name: "Hanako".to_owned(),
            email: Some("hanako@example.jp".to_owned()),
            phone: None,
        };
        Case::new(id, why, Some(claim), does).on([migrating(model, phase)])
    };
    let patch = |id, why, status: &str, model, phase| {
        let path = format!("/v1/admin/customers/{A}");
        let does = Does::CustomerPatch {
            customer: A.to_owned(),
            change: ProfileChange { name: None, email: Change::Keep, phone: Change::Keep },
            status: Some(status.to_owned()),
            actor: BY_STAFF.to_owned(),
            reason: Some("asked for".to_owned()),
        };
        Case::new(id, why, Some(by_staff("customer_patch", &path, json!({ "reason": "asked for" }))), does)
            .on([migrating(model, phase)])
    };
    let thawing = || {
        let words = ["profile", "balance", "jcredit", "point", "regional_aoba", "regional_yama"];
        let named = |record, word: &&str| record_with(record, &format!("{word}_frozen"), s(BY_OTHER));
        let customer = words.iter().fold(customer(GOD_RECORD, 13), named);
        let split = |item: Json| item["type"] == s("PROFILE") || item["type"].to_string().contains("BALANCE#");
        customer.into_iter().map(move |item| if split(item.clone()) { frozen(item) } else { item })
    };
    vec![
        open("migration/open-00", "A customer is opened in the God Record alone.", GOD_RECORD, 0),
        open("migration/open-10", "Profile and points in both, money in the God Record alone.", GOD_RECORD, 10),
        open("migration/open-21", "All in both.", GOD_RECORD, 21),
        open("migration/open-28", "All in split records; the God Record says that it is empty.", GOD_RECORD, 28),
        open("migration/open-half-way-00", "Points and J-Credits among the aggregates.", HALF_WAY, 0),
        open("migration/open-over-a-raw-one", "Whoever the ledger does not know is taken over first.", GOD_RECORD, 10)
            .on([item("customer", RESOURCE, "customer", json!({ "name": s("Taro"), "balance": n("10") }))])
            .ends("stale not_adopted"),
        open("migration/open-exists", "A customer who is there is written over by nobody.", GOD_RECORD, 10)
            .on([item("customer", RESOURCE, "customer", json!({ "fence_phase": n("0"), "truth_money": s("legacy") }))])
            .ends("rejected already_exists by profile"),
        patch("migration/freeze-13", "A wallet is frozen where each of its balances stands.", "frozen", GOD_RECORD, 13)
            .on(customer(GOD_RECORD, 13)),
        patch("migration/freeze-half-way-10", "The same with points among the aggregates.", "frozen", HALF_WAY, 10)
            .on(customer(HALF_WAY, 10)),
        patch("migration/unfreeze-13", "And back.", "active", GOD_RECORD, 13).on(thawing()),
    ]
}
