//! Lines of files of facts: each fact has one line, and a line that differs in anything is an error.

use super::*;
use crate::bank_files::BankFileState;
use crate::cards::bonus::BonusState;
use crate::ids::{BankFileId, SettlementId};
use crate::operation::Operation;
use crate::payment_state::PaymentState;
use crate::payments::ReturnKind;
use crate::psp::{IntentStatus, PayoutStatus, RefundStatus};
use crate::reconcile::fact::{BonusFact, BonusPart};
use crate::settlements::SettlementState;
use crate::time::BusinessDate;
use crate::topups::{ClawbackState, EntryDecision, RefundState, TopupState};
use serde_json::Value as Json;

/// Attributes with free text: evidence, and names that a report shows.
const FREE_TEXTS: [&str; 4] = ["by", "sk", "attribute", "principal"];

fn account_facts() -> Vec<AccountFact> {
    let some = BalanceAmounts { exposure: Some(num("1")), corrected_at: Some(5), ..amounts("1", "2", "3", 4) };
    vec![
        posted(true, "-1.5", 7),
        AccountFact::Debt { delta: num("1"), at: 1 },
        stored("1", "2", "3", 4),
        AccountFact::Balance { item: BalanceItem::Metrics, amounts: some },
        AccountFact::UnreadableBalance {
            item: BalanceItem::GodRecord,
            sk: "customer".to_owned(),
            attribute: "point".to_owned(),
        },
        AccountFact::Location { in_legacy_model: true },
        AccountFact::Hold { amount: num("1"), by: "payment:1".to_owned() },
        AccountFact::Reservation { amount: num("1"), by: "topup:1".to_owned() },
    ]
}

fn entry_facts() -> Vec<EntryFact> {
    let (operation, key) = (Operation::Pay, KeyDigest::new([7; 16]));
    vec![
        EntryFact::Entry { home: wallet(), operation, key },
        named(None, None),
        named(Some(wallet()), Some(EntryClaim { operation, key })),
        EntryFact::Reference { by: "payment:1".to_owned(), home: None, merchant: Some(merchant_id()), claim: None },
    ]
    .into_iter()
    .chain(bonus_facts())
    .collect()
}

fn bonus_facts() -> impl Iterator<Item = EntryFact> {
    let entry = transaction(2);
    let states = BonusState::ALL.map(|state| BonusPart::Recorded { state, was_granted: true });
    let parts = [BonusPart::Due, BonusPart::Granted { entry }, BonusPart::TakenBack { entry }];
    let of = |part| BonusFact { part, merchant: merchant_id(), card: wallet(), amount: num("1") };
    states.into_iter().chain(parts).map(move |part| EntryFact::Bonus(of(part)))
}

fn key_facts() -> Vec<KeyFact> {
    let fact = |window_ms| KeyFact {
        at: 1,
        entry: transaction(1),
        operation: Operation::Opening,
        principal: "customer:1".to_owned(),
        window_ms,
        accounts: [wallet()].into(),
    };
    vec![fact(None), fact(Some(5))]
}

fn payment_facts() -> Vec<PaymentFact> {
    let money = || nums(&[("ECOPAY", "1"), ("REGIONAL#aoba", "2.5")]);
    let mut facts =
        vec![PaymentFact::Entry(PaymentEntry { entry: transaction(1), home: wallet(), delta: money(), by_seal: true })];
    for state in PaymentState::ALL {
        let (payer, entry, merchant) = (wallet(), transaction(1), merchant_id());
        let (authorized, captured, refundable) = (money(), money(), Nums::new());
        facts.push(PaymentFact::Record(RecordedPayment {
            state,
            merchant,
            payer,
            entry,
            authorized,
            captured,
            refundable,
            has_hold: true,
        }));
        facts.push(PaymentFact::Hold(RecordedHold { state, payer, held: money() }));
    }
    let returned = |kind| RecordedReturn { id: refund_id(), kind, entry: transaction(2), delta: money() };
    facts.extend(ReturnKind::ALL.map(|kind| PaymentFact::Return(returned(kind))));
    facts
}

fn topup_facts() -> Vec<TopupFact> {
    let one = || num("1");
    let mut facts = Vec::new();
    for state in TopupState::ALL {
        for intent in [None, Some(psp_id("pi_1"))] {
            facts.push(TopupFact::Record(RecordedTopup {
                state,
                wallet: wallet(),
                charge: one(),
                refundable: one(),
                taken_back: one(),
                suspense: num("-1"),
                given_up: one(),
                intent,
                at: 1,
            }));
        }
    }
    for state in RefundState::ALL {
        facts.push(TopupFact::Refund(RecordedTopupRefund {
            id: refund_id(),
            state,
            amount: one(),
            paid: one(),
            settled: one(),
            suspense: one(),
            given_up: one(),
            at: 1,
        }));
    }
    for state in ClawbackState::ALL {
        let (id, lowered, settled) = (psp_id("dp_1"), one(), one());
        facts.push(TopupFact::Clawback(RecordedClawback { id, state, round: 3, lowered, settled }));
    }
    let mut steps = vec![
        TopupStep::Credit,
        TopupStep::RefundHold(refund_id()),
        TopupStep::RefundPayout(refund_id()),
        TopupStep::RefundReturn(refund_id()),
        TopupStep::ClawbackTaken(psp_id("dp_1")),
        TopupStep::ClawbackReturned(psp_id("dp_1")),
        TopupStep::Suspense,
        TopupStep::Unknown { operation: Operation::Pay, decision: None },
    ];
    let unknown = |decision| TopupStep::Unknown { operation: Operation::Topup, decision: Some(decision) };
    steps.extend(EntryDecision::ALL.map(unknown));
    let entry = |step| TopupEntry { entry: transaction(1), home: wallet(), step, suspense: num("-1") };
    facts.extend(steps.into_iter().map(|step| TopupFact::Entry(entry(step))));
    for status in [IntentStatus::Open, IntentStatus::Succeeded, IntentStatus::Canceled] {
        facts.push(TopupFact::Charge(Charge { id: psp_id("pi_1"), status, received: one() }));
    }
    for status in [RefundStatus::Pending, RefundStatus::Succeeded, RefundStatus::Failed] {
        let (id, refund) = (psp_id("re_1"), refund_id());
        facts.push(TopupFact::ProviderRefund(ProviderRefund { id, refund, status, amount: one() }));
    }
    facts
}

fn settlement_facts() -> Vec<SettlementFact> {
    let mut facts = Vec::new();
    let asset = || Asset::parse("REGIONAL#aoba").unwrap();
    let sums: SettledSums =
        SettledSide::ALL.into_iter().map(|side| (SettledSum { side, asset: asset() }, num("1"))).collect();
    let days = [None, Some(BusinessDate::parse("2026-12-10").unwrap())];
    for (state, (provider_paid_at, transfer_on)) in
        SettlementState::ALL.into_iter().flat_map(|state| [(state, (None, days[1])), (state, (Some(1), days[0]))])
    {
        let (net, fee, tax, payable) = (num("4"), num("1"), num("1"), num("2"));
        let (merchant, totals, records) = (merchant_id(), sums.clone(), 3);
        facts.push(SettlementFact::Record(RecordedSettlement {
            merchant,
            state,
            records,
            totals,
            net,
            fee,
            tax,
            payable,
            provider_paid_at,
            is_by_bank: transfer_on.is_some(),
            transfer_on,
        }));
    }
    let (records, totals) = (3, sums);
    facts.push(SettlementFact::Period(SettledPeriod { merchant: merchant_id(), records, totals }));
    facts.push(SettlementFact::Stamp(Stamp { merchant: merchant_id(), delta: nums(&[("REGIONAL#aoba", "3")]) }));
    for is_returned in [false, true] {
        let (merchant, day, amount) = (merchant_id(), BusinessDate::parse("2026-12-10").unwrap(), num("1"));
        facts.push(SettlementFact::Transfer(SettledTransfer { merchant, day, amount, is_returned }));
    }
    for operation in Operation::MOVING_MERCHANTS.into_iter().chain([Operation::Pay]) {
        let step = SettlementStep::of(operation);
        facts.push(SettlementFact::Entry(SettlementEntry {
            home: wallet(),
            step,
            out: num("1"),
            booked: num("2"),
            bank: num("-1"),
        }));
    }
    for status in [PayoutStatus::Sent, PayoutStatus::Failed] {
        let payout = ProviderPayout { id: psp_id("po_1"), merchant: merchant_id(), amount: num("1"), status };
        facts.push(SettlementFact::ProviderPayout(payout));
    }
    facts
}

fn period_facts() -> Vec<PeriodFact> {
    let asset = || Asset::parse("REGIONAL#aoba").unwrap();
    let totals: SettledSums =
        SettledSide::ALL.into_iter().map(|side| (SettledSum { side, asset: asset() }, num("1"))).collect();
    let sums = || PeriodTotals { records: 3, totals: totals.clone() };
    let settlement = SettlementId::parse(ID).unwrap();
    vec![
        PeriodFact::Open { sums: sums(), until: 1 },
        PeriodFact::Closed { sums: sums(), settlement: None },
        PeriodFact::Closed { sums: sums(), settlement: Some(settlement) },
        PeriodFact::Taken { sums: None, settlement },
        PeriodFact::Taken { sums: Some(sums()), settlement },
        PeriodFact::Credited { sums: sums(), at: 1, segment: None },
        PeriodFact::Credited { sums: sums(), at: 1, segment: Some(7) },
    ]
}

fn cash_room_facts() -> Vec<CashRoomFact> {
    let owner = TerminalOwner::Merchant(merchant_id());
    vec![
        CashRoomFact::Allotted { owner, amount: num("50") },
        CashRoomFact::Allotted { owner: TerminalOwner::Operator, amount: num("50") },
        CashRoomFact::Room { owner, room: num("20"), changed_at: 1 },
        CashRoomFact::Outstanding { amount: num("20"), changed_at: 1 },
        CashRoomFact::Taken { amount: num("-30"), at: 1 },
        CashRoomFact::Collected { amount: num("30"), at: 1 },
    ]
}

fn rooms_facts() -> Vec<RoomsFact> {
    let of_sum = |of| {
        [
            RoomsFact::Recorded { of, amount: num("50"), changed_at: 1 },
            RoomsFact::Changed { of, amount: num("-30"), at: 1 },
        ]
    };
    RoomSum::ALL.into_iter().flat_map(of_sum).collect()
}

fn bank_file_facts() -> Vec<BankFileFact> {
    let (day, settlement) = (BusinessDate::parse("2026-12-10").unwrap(), SettlementId::parse(ID).unwrap());
    let one = || num("1");
    let record = |state| RecordedFile {
        state,
        superseded_by: None,
        parts: 1,
        transfers: 2,
        sum: one(),
        returned: 1,
        returned_sum: one(),
        debited_sum: None,
        debit: None,
        changed_at: 1,
    };
    let mut facts: Vec<BankFileFact> =
        BankFileState::ALL.into_iter().map(|state| BankFileFact::Record(record(state))).collect();
    let superseded_by = Some(BankFileId::parse("2026-12-10-02").unwrap());
    let (debited_sum, debit) = (Some(one()), Some(transaction(1)));
    let full = RecordedFile { superseded_by, debited_sum, debit, ..record(BankFileState::Debited) };
    facts.push(BankFileFact::Record(full));
    facts.push(BankFileFact::Listed { part: 1, day, settlement });
    for is_returned in [false, true] {
        facts.push(BankFileFact::Transfer(FileTransfer { day, settlement, amount: one(), is_returned, changed_at: 1 }));
    }
    let (entry, operation) = (transaction(1), Operation::BankFileDebit);
    facts.push(BankFileFact::Entry(FileEntry { entry, home: wallet(), operation, out: one(), paid: one(), at: 1 }));
    facts
}

/// At least one fact of every type, in every state.
fn every_fact() -> Vec<Fact> {
    let key = KeyDigest::new([7; 16]);
    [
        facts_of(&group(&format!("account/customer:{ID}/REGIONAL#aoba")), &account_facts()),
        facts_of(&group(&format!("transaction/{ID}")), &entry_facts()),
        facts_of(&group(&format!("key/{key}")), &key_facts()),
        facts_of(&group(&format!("payment/{ID}")), &payment_facts()),
        facts_of(&group(&format!("topup/{ID}")), &topup_facts()),
        facts_of(&group(&format!("settlement/{ID}")), &settlement_facts()),
        facts_of(&group(&format!("period/{ID}/L3/2")), &period_facts()),
        facts_of(&group(&format!("cash_room/{ID}")), &cash_room_facts()),
        facts_of(&group(&format!("rooms/{ID}")), &rooms_facts()),
        facts_of(&group("bank_file/2026-12-10-01"), &bank_file_facts()),
    ]
    .concat()
}

#[test]
fn names_of_kinds_read_back() {
    for kind in BreakKind::ALL {
        assert_eq!(BreakKind::parse(kind.name()), Some(kind));
    }
}

#[test]
fn each_fact_reads_back_from_its_line() {
    for fact in every_fact() {
        let line = fact.line().unwrap();
        assert_eq!(Fact::parse_line(&line), Ok(fact), "{line}");
        assert_eq!(line.lines().count(), 1);
    }
    for fact in facts_of(&group("rooms/operator"), &rooms_facts()) {
        assert_eq!(Fact::parse_line(&fact.line().unwrap()), Ok(fact));
    }
    let of_lane = format!("demo/period/{ID}/L0/3");
    assert_eq!(Group::parse(&of_lane).unwrap().to_string(), of_lane);
    for odd in
        ["demo/period/1/1", &format!("demo/period/{ID}"), &format!("demo/period/{ID}/3"), &format!("{of_lane}/1")]
    {
        assert_eq!(Group::parse(odd), None, "{odd}");
    }
    for odd in ["", "demo/payment/x", "demo/account/customer:1/ECOPAY", &format!("demo/payment/{ID}/ECOPAY")] {
        assert_eq!(Group::parse(odd), None, "{odd}");
        assert_eq!(Fact::parse_line(&format!("{odd}\t{{}}")), Err(FactLineError::UnknownGroup), "{odd}");
    }
    for odd in ["demo/key/00ff", &format!("demo/key/{}", "AB".repeat(16)), &format!("demo/once/{}", "00".repeat(16))] {
        assert_eq!(Group::parse(odd), None, "{odd}");
    }
    assert_eq!(Fact::parse_line(""), Err(FactLineError::NoGroup));
}

/// A fact is refused under every other kind of group.
#[test]
fn fact_of_another_group_is_refused() {
    let facts = every_fact();
    let mut groups: Vec<Group> = facts.iter().map(Fact::group).collect();
    groups.dedup();
    for fact in &facts {
        let line = fact.line().unwrap();
        let (own, json) = line.split_once('\t').unwrap();
        for group in groups.iter().filter(|group| group.to_string() != own) {
            let moved = Fact::parse_line(&format!("{group}\t{json}"));
            assert_eq!(moved, Err(FactLineError::UnknownFact), "{group} {json}");
        }
    }
}

/// The JSON with one change at every place: a field removed, added or emptied, a text replaced.
fn changed(json: &Json) -> Vec<(String, Json)> {
    let mut all = Vec::new();
    match json {
        Json::Object(fields) => {
            let mut more = fields.clone();
            more.insert("more".to_owned(), Json::from(1));
            all.push(("added".to_owned(), Json::Object(more)));
            for (name, value) in fields {
                let mut fewer = fields.clone();
                fewer.remove(name);
                all.push((format!("without {name}"), Json::Object(fewer)));
                for (why, value) in changed(value) {
                    if FREE_TEXTS.contains(&name.as_str()) && why == "foreign" {
                        continue;
                    }
                    let mut other = fields.clone();
                    other.insert(name.clone(), value);
                    all.push((format!("{name} {why}"), Json::Object(other)));
                }
            }
        }
        Json::String(_) => all.push(("foreign".to_owned(), Json::from("a foreign text"))),
        Json::Array(_) => all.push(("of a foreign value".to_owned(), Json::from(vec!["a foreign text"]))),
        Json::Number(_) | Json::Bool(_) => all.push(("a text".to_owned(), Json::from("5"))),
        Json::Null => all.push(("foreign".to_owned(), Json::from("a foreign text"))),
    }
    all
}

/// Whether the change adds or removes an asset of a sum: that gives another valid fact.
fn is_other_sum(why: &str) -> bool {
    let sums = ["authorized", "captured", "refundable", "delta", "held", "totals"];
    sums.iter().any(|of| why.contains(&format!("{of} without")))
}

#[test]
fn line_with_any_change_is_an_error() {
    let mut tried = 0;
    for fact in every_fact() {
        let line = fact.line().unwrap();
        let (group, json) = line.split_once('\t').unwrap();
        for (why, other) in changed(&serde_json::from_str(json).unwrap()) {
            if is_other_sum(&why) {
                continue;
            }
            tried += 1;
            let read = Fact::parse_line(&format!("{group}\t{other}"));
            assert_eq!(read, Err(FactLineError::UnknownFact), "{why}: {other}");
        }
    }
    assert!(tried > 500, "{tried}");
}
