mod booked;
mod pay_on;
mod payout_day;
mod periods;

use super::record::SettlementState as S;
use super::saga::{STEPS, TASK_WAIT};
use super::*;
use crate::bank::{AccountKind, BankAccount, BankParts, Sender, SenderParts};
use crate::calendar::BankDeadline;
use crate::dynamo::{Attributes, Item, Value};
use crate::ids::{MerchantId, SettlementId, StaffId, Tenant};
use crate::keys::Shards;
use crate::money::{Asset, Balance, RegionalKey, Share};
use crate::terms::{SettlementTerms, TermsVersion};
use crate::time::{BusinessDate, CLOCK_SKEW, Timestamp};
use crate::transaction::{RenderedAction, Role, Transaction};
use std::collections::BTreeMap;
use std::time::Duration;

fn parts<'a>() -> BankParts<'a> {
    BankParts {
        bank_code: "0005",
        bank_name: None,
        branch_code: "001",
        branch_name: None,
        kind: AccountKind::Ordinary,
        number: "1234567",
        holder: "ﾐﾄﾞﾘ",
    }
}

fn tenant() -> Tenant {
    Tenant::parse("aoba").unwrap()
}

fn now() -> Timestamp {
    Timestamp::parse("2026-11-30T15:00:00Z").unwrap()
}

fn quantity(asset: &Asset, number: &str) -> Balance {
    Balance::from_stored(asset.clone(), number).unwrap()
}

/// A settlement in `state` with the totals `(asset, taken, refunded, carried in)`.
fn settlement(state: S, totals: &[(&Asset, &str, &str, &str)]) -> Settlement {
    let of = |(asset, taken, refunded, carried): &(&Asset, &str, &str, &str)| {
        let totals = AssetTotals {
            taken: quantity(asset, taken),
            refunded: quantity(asset, refunded),
            payouts_returned: quantity(asset, "0"),
            cash_taken: quantity(asset, "0"),
            cash_reversed: quantity(asset, "0"),
            deposited: quantity(asset, "0"),
            refund_room: quantity(&Asset::Ecopay, "0"),
            carried_in: quantity(asset, carried),
        };
        ((*asset).clone(), totals)
    };
    Settlement {
        id: SettlementId::parse("019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5e").unwrap(),
        merchant: MerchantId::parse("019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5f").unwrap(),
        state,
        undo_reason: None,
        stuck_at: None,
        requested_by: Some(StaffId::parse("019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d60").unwrap()),
        run: None,
        created_at: now(),
        pay_on: BusinessDate::parse("2026-12-01").unwrap(),
        destination: Destination::Bank(BankAccount::new(&parts()).unwrap()),
        terms: SettlementTerms {
            fee_rate: Share::parse("0.015").unwrap(),
            tax_rate: Share::parse("0.1").unwrap(),
            sender: Some(Sender::new(&SenderParts { code: "1234567890", account: parts() }).unwrap()),
            registration: None,
            deadline: BankDeadline::DEFAULT,
        },
        psp: None,
        records: 3,
        batches: 1,
        closed: Vec::new(),
        totals: totals.iter().map(of).collect(),
        carried_base: quantity(&Asset::Ecopay, "0"),
        carried_rooms: RoomDebts::none(),
        returned_rooms: ReturnedRooms::default(),
        to_review: false,
        paid_before: 0,
        held_amounts: BTreeMap::new(),
        held_at: None,
        net: None,
        fee: None,
        tax: None,
        payable: None,
        sending: None,
        booked_at: None,
        transfer_on: None,
        paid_at: None,
        payout_reference: None,
        returned_at: None,
        runs: 0,
        shards: Shards::ONE,
        due_shards: Shards::ONE,
        terms_version: TermsVersion::FIRST,
    }
}

fn written(settlement: &Settlement, task: Task) -> Transaction {
    match next_move(&tenant(), settlement, task, now()).unwrap() {
        Move::Write(transaction) => *transaction,
        other @ (Move::Ended(_) | Move::Collect | Move::GiveBack | Move::Check | Move::Pay) => {
            panic!("{task:?} on {} has {other:?}", settlement.state)
        }
    }
}

/// The postings of a transaction, as `account bucket asset delta`.
fn postings(transaction: &Transaction) -> Vec<String> {
    let entry = transaction.items().iter().find_map(|item| match item.render().unwrap().action {
        RenderedAction::Put(put) if item.role() == Role::Journal => {
            crate::journal::expand_under(item.key(), &put).unwrap().get("postings").cloned()
        }
        RenderedAction::Put(_) | RenderedAction::Update(..) | RenderedAction::ConditionCheck(_) => None,
    });
    let Some(Value::L(list)) = entry else { return Vec::new() };
    let text = |item: &Item, name: &str| item.opt_text(name).unwrap().unwrap_or_default().to_owned();
    let line = |posting: &Value| {
        let Value::M(item) = posting else { return String::new() };
        let account = text(item, "account");
        let account = account.split(':').next().unwrap();
        let delta = item.number("delta").unwrap();
        format!("{account} {} {} {delta}", text(item, "bucket"), text(item, "asset"))
    };
    list.iter().map(line).collect()
}

#[test]
fn scenario_six_is_paid_to_the_yen() {
    let yen = Asset::Ecopay;
    let start = settlement(S::Collecting, &[(&yen, "412300", "12300", "0")]);
    let hold = written(&start, Task::Do(Step::Hold));
    assert_eq!(postings(&hold), ["merchant  ECOPAY -400000", "merchant held ECOPAY 400000"]);
    let net = crate::money::Amount::parse(&crate::money::AssetSpec::ECOPAY, "400000").unwrap();
    let held = Settlement {
        state: S::Released,
        held_amounts: BTreeMap::from([(yen.clone(), net.as_balance())]),
        net: Some(net),
        ..start
    };
    let fee = written(&held, Task::Do(Step::Fee));
    let want =
        ["merchant held ECOPAY -6000", "fees  ECOPAY 6000", "merchant held ECOPAY -600", "consumption_tax  ECOPAY 600"];
    assert_eq!(postings(&fee), want);
    let charged =
        held.terms.charge(held.net.as_ref().unwrap(), &held.net.as_ref().unwrap().as_balance()).unwrap().unwrap();
    let payable = Some(charged.payable);
    let charged = Settlement { state: S::Charged, fee: charged.fee, tax: charged.tax, payable, ..held };
    let booked = written(&charged, Task::Do(Step::Payout));
    assert_eq!(postings(&booked), ["merchant held ECOPAY -393400", "bank_clearing  ECOPAY 393400"]);
    let paid = paid(&tenant(), &Settlement { state: S::Paying, ..charged }, "po_1", now()).unwrap();
    assert_eq!(postings(&paid), ["merchant held ECOPAY -393400", "stripe_clearing  ECOPAY 393400"]);
}

#[test]
fn points_and_regional_currency_become_yen_and_debts_are_netted() {
    let (yen, point) = (Asset::Ecopay, Asset::Point);
    let town = Asset::Regional(RegionalKey::parse("aoba").unwrap());
    let totals = [(&yen, "0", "100", "0"), (&point, "300", "0", "20"), (&town, "12.75", "2", "0")];
    let start = settlement(S::Collecting, &totals);
    let hold = written(&start, Task::Do(Step::Hold));
    let want = [
        "merchant  POINT -320",
        "merchant held POINT 320",
        "merchant  REGIONAL#aoba -10",
        "merchant held REGIONAL#aoba 10",
    ];
    assert_eq!(postings(&hold), want);
    let held = [(&yen, "-100"), (&point, "320"), (&town, "10")];
    let held = held.map(|(asset, number)| (asset.clone(), quantity(asset, number)));
    let held = Settlement { state: S::Verified, held_amounts: held.into(), ..start };
    let release = written(&held, Task::Do(Step::Release));
    let want = [
        "merchant  ECOPAY 100",
        "merchant held ECOPAY 230",
        "merchant held POINT -320",
        "merchant held REGIONAL#aoba -10",
        "points_issued  ECOPAY -330",
        "points_issued  POINT 320",
        "points_issued  REGIONAL#aoba 10",
    ];
    assert_eq!(postings(&release), want);
    // The compensation posts the inverse.
    let undoing = Settlement { state: S::Released, undo_reason: Some(UndoReason::KycRefused), ..held };
    let undone = postings(&written(&undoing, Task::Undo(Compensation::Release)));
    assert!(undone.contains(&"merchant held ECOPAY -230".to_owned()), "{undone:?}");
    assert!(undone.contains(&"points_issued  REGIONAL#aoba -10".to_owned()), "{undone:?}");
}

#[test]
fn settlement_of_zero_posts_nothing() {
    let yen = Asset::Ecopay;
    for totals in [vec![], vec![(&yen, "500", "500", "0")], vec![(&yen, "100", "50", "-51")]] {
        let start = settlement(S::Collecting, &totals);
        assert_eq!(postings(&written(&start, Task::Do(Step::Hold))), [""; 0]);
    }
}

#[test]
fn every_task_in_every_state_has_a_move_or_is_out_of_order() {
    let yen = Asset::Ecopay;
    let net = crate::money::Amount::parse(&crate::money::AssetSpec::ECOPAY, "400000").unwrap();
    for state in S::ALL {
        for undo_reason in [None, Some(UndoReason::KycRefused)] {
            let at = Settlement {
                undo_reason,
                held_amounts: BTreeMap::from([(yen.clone(), net.as_balance())]),
                net: Some(net.clone()),
                payable: Some(net.clone()),
                ..settlement(state, &[(&yen, "400000", "0", "0")])
            };
            for task in Task::all() {
                let next = next_move(&tenant(), &at, task, now());
                let over = next == Ok(Move::Ended(Outcome::Over));
                assert_eq!(state.is_over(), over && state != S::Paying, "{task:?} on {state}");
                if let Task::Do(_) = task
                    && undo_reason.is_some()
                    && !state.is_over()
                {
                    assert_eq!(next, Ok(Move::Ended(Outcome::Undo)), "{task:?} on {state}");
                }
                // Once money may have left, only the payout task decides.
                if state == S::Paying && matches!(task, Task::Undo(_)) {
                    assert_eq!(next, Ok(Move::Ended(Outcome::Over)));
                }
            }
        }
    }
}

#[test]
fn compensations_run_in_reverse_order_of_the_steps() {
    let undone: Vec<&str> = Compensation::ALL.iter().map(|c| c.name()).collect();
    let done: Vec<&str> = STEPS.iter().rev().filter(|s| s.compensation().is_some()).map(|s| s.name()).collect();
    assert_eq!(undone, done);
    for step in STEPS {
        assert_eq!(Task::Do(step).after(Outcome::Undo), Some(Task::Undo(Compensation::Fee)));
    }
    for task in Task::all() {
        assert_eq!(Task::parse(&task.name()), Some(task));
    }
    let mut task = Task::Do(Step::Collect);
    let mut names = vec![task.name()];
    while let Some(next) = task.after(Outcome::Next) {
        task = next;
        names.push(task.name());
    }
    assert_eq!(names, STEPS.map(|step| step.name().to_owned()));
}

#[test]
fn retry_pauses_grow_up_to_the_longest_pause() {
    let policy = Task::Undo(Compensation::Hold).retry();
    let pauses: Vec<u64> = (0..11).map_while(|n| policy.pause(n)).map(|pause| pause.as_secs()).collect();
    assert_eq!(pauses, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    assert_eq!(TASK_WAIT, Duration::from_secs(60));
}

#[test]
fn every_state_of_the_machine_exists_and_is_reached() {
    let machine: serde_json::Value = serde_json::from_str(&definition(crate::events::SOURCE)).unwrap();
    let states = machine["States"].as_object().unwrap();
    let mut reached = std::collections::BTreeSet::new();
    let mut open = vec![machine["StartAt"].as_str().unwrap().to_owned()];
    while let Some(name) = open.pop() {
        if !reached.insert(name.clone()) {
            continue;
        }
        let state = states.get(&name).unwrap_or_else(|| panic!("no state {name}"));
        let mut next = vec![state["Next"].clone(), state["Default"].clone()];
        for list in ["Choices", "Catch"] {
            next.extend(state[list].as_array().into_iter().flatten().map(|rule| rule["Next"].clone()));
        }
        open.extend(next.iter().filter_map(|name| name.as_str().map(str::to_owned)));
    }
    assert_eq!(reached, states.keys().cloned().collect());
}

#[test]
fn settlement_is_read_back_unchanged() {
    let yen = Asset::Ecopay;
    let carried = settlement(S::Collecting, &[(&yen, "0", "0", "-500")]);
    let item = carried.item(&tenant());
    assert_eq!(Settlement::read(&item).as_ref(), Ok(&carried));
}

/// A saga that is run again continues from any state of its settlement.
#[test]
fn run_from_the_start_is_in_order_from_every_state() {
    let yen = Asset::Ecopay;
    let net = crate::money::Amount::parse(&crate::money::AssetSpec::ECOPAY, "400000").unwrap();
    for state in S::ALL {
        for undo_reason in [None, Some(UndoReason::KycRefused)] {
            let at = Settlement {
                undo_reason,
                held_amounts: BTreeMap::from([(yen.clone(), net.as_balance())]),
                net: Some(net.clone()),
                payable: Some(net.clone()),
                ..settlement(state, &[(&yen, "400000", "0", "0")])
            };
            let mut task = Some(Task::Do(Step::Collect));
            while let Some(now_) = task {
                task = match next_move(&tenant(), &at, now_, now()) {
                    Ok(Move::Ended(outcome)) => now_.after(outcome),
                    // The saga continues from this state.
                    Ok(Move::Write(_) | Move::Collect | Move::GiveBack | Move::Check | Move::Pay) => None,
                    Err(error) => panic!("{now_:?} on {state}, {undo_reason:?}: {error}"),
                };
            }
        }
    }
}

/// A settlement that Stripe pays, in its first epoch.
fn by_stripe(state: S, sends: u32) -> Settlement {
    let psp = crate::psp::PspTerms { ledger: "demo".to_owned(), livemode: false, account: None };
    let destination = Destination::Stripe { external_account: crate::psp::PspId::parse("ba_1").unwrap() };
    let payable = crate::money::Amount::parse(&crate::money::AssetSpec::ECOPAY, "2951").ok();
    let sending = Some(Sending { since: now(), epoch: 1, epoch_at: now(), sends, sent_at: None });
    Settlement { psp: Some(psp), destination, payable, sending, ..settlement(state, &[]) }
}

#[test]
fn epoch_has_one_request_and_its_own_key() {
    let first = by_stripe(S::Paying, 0);
    let (request, key) = sending::request(&tenant(), &first).unwrap();
    let want = "amount=2951&currency=jpy&destination=ba_1&metadata%5Becopay_ledger%5D=demo\
                &metadata%5Becopay_tenant%5D=aoba\
                &metadata%5Becopay_merchant%5D=019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5f\
                &metadata%5Becopay_settlement%5D=019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";
    assert_eq!((request.path.as_str(), request.body.as_str()), ("/v1/payouts", want));
    assert_eq!(key.as_str(), "ecopay-019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5e-create_payout-1");
    let (sent, _) = sending::send(&tenant(), &first, now()).unwrap();
    assert_eq!(sending::request(&tenant(), &sent), Some((request.clone(), key.clone())));
    let next = Settlement { sending: first.sending.map(|sending| Sending { epoch: 2, ..sending }), ..first };
    let (again, other) = sending::request(&tenant(), &next).unwrap();
    assert_eq!((again == request, other == key), (true, false));
    assert_eq!(sending::request(&tenant(), &settlement(S::Paying, &[])), None);
}

#[test]
fn sending_and_lookup_deadlines_follow_the_clock() {
    let hours = |count: u64| Duration::from_secs(count * 60 * 60);
    let sending = by_stripe(S::Paying, 0).sending.unwrap();
    for (at, may) in [(now(), true), (now().plus(hours(22)), true), (now().plus(hours(23)), false)] {
        assert_eq!(sending.may_send(at), may, "{at}");
    }
    assert!(!sending.may_send(now().minus(hours(23))), "nothing is sent before the first attempt's time");
    assert!(sending.is_quiet(now()));
    let sent = Sending { sent_at: Some(now()), ..sending };
    // The sender and the reader may be two machines whose clocks differ by `CLOCK_SKEW`.
    let quiet = now().plus(Duration::from_secs(90));
    assert!(!sent.is_quiet(quiet) && sent.is_quiet(quiet.plus(CLOCK_SKEW)));
    let listed = now().plus(Duration::from_secs(600));
    assert!(!sent.is_listed(listed) && sent.is_listed(listed.plus(CLOCK_SKEW)));
}

#[test]
fn only_a_paid_payout_is_returned() {
    use super::returned::{PayoutMeaning, meaning_of};
    use crate::psp::{Payout, PayoutStatus, PayoutTags, PspId, PspMoney};
    let tags = |settlement: &Settlement| PayoutTags {
        tenant: tenant(),
        merchant: settlement.merchant,
        settlement: settlement.id,
    };
    for state in S::ALL {
        let settlement = by_stripe(state, 1);
        let outcome = |status| {
            let payout = Payout {
                id: PspId::parse("po_1").unwrap(),
                amount: PspMoney { minor: 2951, currency: "jpy".to_owned() },
                status,
                livemode: false,
                tags: Some(tags(&settlement)),
            };
            match meaning_of(&tenant(), &settlement, &payout, None, now()) {
                PayoutMeaning::Behind => "behind",
                PayoutMeaning::Ahead => "ahead",
                PayoutMeaning::Contradiction(contradiction) => contradiction.name(),
                PayoutMeaning::Return(_) => "back",
            }
        };
        let want = match state {
            S::Paying => ("behind", "ahead"),
            S::Paid => ("behind", "back"),
            S::Returned => ("behind", "behind"),
            S::Collecting | S::Held | S::Verified | S::Released | S::Charged | S::Booked | S::Carried | S::Undone => {
                ("state", "state")
            }
        };
        assert_eq!((outcome(PayoutStatus::Sent), outcome(PayoutStatus::Failed)), want, "{state}");
    }
}

#[test]
fn settlement_is_covered_once_one_is_paid_after_its_opening() {
    let covers = |state, paid_before, paid| {
        let settlement = Settlement { paid_before, ..settlement(state, &[]) };
        Coverage { paid, bonuses_from: None, covered_at: None, is_due: false }.covers(&settlement)
    };
    for state in S::ALL {
        assert!(!covers(state, 0, 0) && !covers(state, 2, 2), "{state}");
        assert!(covers(state, 0, 1) && covers(state, 2, 3) && covers(state, 0, 7), "{state}");
    }
}
