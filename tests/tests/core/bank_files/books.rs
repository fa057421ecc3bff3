//! What holds after each event, and by what two tables continue alike.

use crate::bank_files::desk::{PAID, SeenFile, SeenSettlement, World, is_free, merchant, now, tenant};
use ledger_core::bank_files::{BankFileState, BankTransfer, Content};
use ledger_core::ids::BankFileId;
use ledger_core::jobs::Next;
use ledger_core::keys::{Partition, attr};
use ledger_core::money::Asset;
use ledger_core::reconcile::{Fact, GroupFact, Groups, Limits, Observation, Scope, of_item};
use ledger_core::settlements::SettlementState;
use ledger_tests::audit::number;
use rust_decimal::Decimal;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Whether the bank may get a file, has it, or has paid it.
fn is_live(state: BankFileState) -> bool {
    match state {
        BankFileState::Assigning | BankFileState::Written | BankFileState::Accepted | BankFileState::Debited => true,
        BankFileState::Rejected | BankFileState::Withdrawn | BankFileState::Empty => false,
    }
}

/// Whether the bank has debited the sum of the file that has a transfer.
pub(crate) fn is_debited(world: &World, transfer: &BankTransfer) -> bool {
    transfer.file.is_some_and(|file| world.file(file).file.state == BankFileState::Debited)
}

/// Checks what holds at any moment.
pub(crate) fn check(world: &World) {
    sums(world);
    for (number, of) in world.settlements.iter().enumerate() {
        let Some(transfer) = &of.transfer else { continue };
        one_file(world, (number, transfer));
        waits(world, transfer, of.is_due);
    }
    world.files.iter().for_each(|file| counted(world, file));
}

/// `bank_clearing` is what is booked and neither debited nor returned, `bank` what was debited and not returned. What is returned is
/// its merchant's, once.
fn sums(world: &World) {
    let account = |name: &str| (name.to_owned(), "ECOPAY".to_owned());
    let sum = |name: &str| world.posted.get(&account(name)).copied().unwrap_or_default();
    let (mut clearing, mut bank) = (Decimal::ZERO, Decimal::ZERO);
    for (place, of) in world.settlements.iter().enumerate() {
        let amount = Decimal::from(PAID[place].0);
        let is_returned = of.transfer.as_ref().is_some_and(|of| of.returned_at.is_some());
        let is_booked = of.settlement.state == SettlementState::Booked;
        assert_eq!(of.transfer.is_some() && !is_returned, is_booked, "settlement {place}");
        match of.transfer.as_ref().filter(|_| !is_returned) {
            Some(transfer) if is_debited(world, transfer) => bank += amount,
            Some(_) => clearing += amount,
            None => {}
        }
        let own = Partition::merchant(tenant(), merchant(place)).balance(&Asset::Ecopay);
        let own = world.table.get(&own).unwrap();
        let if_so = |holds: bool| if holds { amount } else { Decimal::ZERO };
        assert_eq!(number(own, attr::BALANCE), if_so(is_returned), "available to merchant {place}");
        assert_eq!(number(own, attr::HELD), if_so(of.transfer.is_none()), "held of merchant {place}");
    }
    assert_eq!((sum("bank_clearing"), sum("bank")), (clearing, bank), "bank_clearing and bank");
}

/// A transfer is in the parts of one live file at most: the one that it names.
fn one_file(world: &World, (number, transfer): (usize, &BankTransfer)) {
    let has = |of: &&SeenFile| of.parts.iter().flatten().any(|other| *other == number);
    let live: Vec<_> = world
        .files
        .iter()
        .map(Arc::as_ref)
        .filter(|of| is_live(of.file.state))
        .filter(has)
        .map(|of| of.file.id)
        .collect();
    assert!(live.len() <= 1, "transfer {number} is in {live:?}");
    assert!(live.iter().all(|id| transfer.file == Some(*id)), "transfer {number} is in {live:?}: {transfer:?}");
    assert!(transfer.file.is_none_or(|id| has(&world.file(id))), "transfer {number} is in no part of its file");
}

/// What is neither debited nor returned is due: by itself, by the job that takes it, or by the file that waits for a person.
fn waits(world: &World, transfer: &BankTransfer, is_due: bool) {
    assert_eq!(is_due, is_free(transfer), "{transfer:?}");
    let Some(of) = transfer.file.map(|id| world.file(id)) else { return };
    let is_due = match (of.file.state, of.file.superseded_by) {
        _ if transfer.returned_at.is_some() => return,
        (BankFileState::Debited, _) => return,
        (BankFileState::Assigning, _) => of.is_job_due,
        (_, Some(by)) => world.file(by).is_job_due,
        (_, None) => of.is_due,
    };
    assert!(is_due, "{transfer:?} waits for nothing that is due");
}

/// A file counts its transfers and those that were returned. Its content has the hash that was fixed, and what the bank gets has no
/// transfer that was returned. It is due while it waits for a person.
fn counted(world: &World, of: &SeenFile) {
    let (file, transfers) = (&of.file, world.content(of));
    if file.sha256.is_some() {
        let content = Content::of(file, &transfers);
        assert!(content.is_ok(), "{file:?}: {content:?}");
    }
    assert_eq!(file.transfers as usize, transfers.len(), "{file:?}");
    let own = transfers.iter().filter(|of| of.file == Some(file.id));
    let returned = own.filter(|of| of.returned_at.is_some()).count();
    assert_eq!(file.returned as usize, returned, "{file:?}");
    let is_to_give = matches!(file.state, BankFileState::Assigning | BankFileState::Written);
    assert!(!is_to_give || returned == 0, "the bank would pay what was returned: {file:?}");
    let waits = match file.state {
        BankFileState::Written | BankFileState::Accepted => true,
        BankFileState::Rejected | BankFileState::Withdrawn => file.is_to_supersede(),
        BankFileState::Assigning | BankFileState::Debited | BankFileState::Empty => false,
    };
    assert_eq!(of.is_due, waits, "{file:?}");
}

/// The reconciliation finds nothing in the items of bank files.
pub(crate) fn reconciled(world: &World) {
    let scope = Scope { began_at: now(), at_one_moment: true, listed: None };
    let is_of_files = |pk: &str| ["#bank_file#", "#bank_transfers#", "#own#bank"].iter().any(|kind| pk.contains(kind));
    let items = world.table.iter().filter(|((pk, _), _)| is_of_files(pk));
    let mut groups = Groups::default();
    for observation in items.flat_map(|(_, item)| of_item(item, now(), Limits::default())) {
        match observation {
            Observation::Fact(fact @ Fact { content: GroupFact::BankFile(..), .. }) => groups.take(fact, &scope),
            Observation::Fact(_) => {}
            other @ (Observation::Break(_) | Observation::Newer(_)) => panic!("{other:?}"),
        }
    }
    let findings = groups.findings(&scope);
    assert!(findings.is_empty(), "{findings:?}");
}

/// By what a table continues. Versions and times only grow, and numbers of files say only how many there are. A file that was rejected
/// continues as one that was withdrawn; one that nothing is to be done with, as any other such file; a transfer that was returned or
/// debited, as if no file had it.
pub(crate) fn signature(world: &World) -> u64 {
    let mut all = DefaultHasher::new();
    for of in &world.settlements {
        let place = of.transfer.as_ref().map(|of| match of.returned_at {
            Some(_) => "returned",
            None if is_debited(world, of) => "debited",
            None if of.file.is_some() => "in a file",
            None => "free",
        });
        (place, of.is_due).hash(&mut all);
    }
    let alone: Vec<u64> = world.files.iter().map(|of| file_signature(world, of)).collect();
    let with_others = world.files.iter().zip(&alone).map(|(of, own)| {
        let other = |id: Option<BankFileId>| id.and_then(|id| world.files.iter().position(|of| of.file.id == id));
        let source = of.job.details.source.filter(|_| of.job.next() == Next::Work).map(|(source, _)| source);
        let by = of.file.superseded_by.filter(|_| !is_done(world, of));
        let others = [source, by].map(|id| other(id).map(|place| alone[place]));
        (*own, others)
    });
    let mut lines: Vec<_> = with_others.collect();
    lines.sort_unstable();
    lines.hash(&mut all);
    all.finish()
}

/// Whether nothing is to be done with a file: its transfers are debited, returned, or in another one.
fn is_done(world: &World, of: &SeenFile) -> bool {
    let is_taken = || of.file.superseded_by.is_some_and(|by| world.file(by).job.next() == Next::Nothing);
    match of.file.state {
        BankFileState::Debited | BankFileState::Empty => true,
        BankFileState::Rejected | BankFileState::Withdrawn => is_taken() || of.file.left() == 0,
        BankFileState::Assigning | BankFileState::Written | BankFileState::Accepted => false,
    }
}

fn file_signature(world: &World, of: &SeenFile) -> u64 {
    let (mut hasher, file) = (DefaultHasher::new(), &of.file);
    if is_done(world, of) {
        "done".hash(&mut hasher);
    } else {
        let waits = |of: &BankTransfer| of.file == Some(file.id) && of.returned_at.is_none();
        let has = |of: &Arc<SeenSettlement>| of.transfer.as_ref().map(waits);
        let own: Vec<_> = world.settlements.iter().map(has).collect();
        let state = if file.is_over() { "over" } else { file.state.name() };
        (state, of.is_due, own, &of.parts, file.transfers, file.returned).hash(&mut hasher);
    }
    if of.job.next() == Next::Work {
        let days: Vec<String> = of.job.details.days.iter().map(ToString::to_string).collect();
        let parts = of.job.details.source.map(|(_, parts)| parts);
        (of.job.cursor(), days, parts, of.is_job_due).hash(&mut hasher);
    }
    hasher.finish()
}
