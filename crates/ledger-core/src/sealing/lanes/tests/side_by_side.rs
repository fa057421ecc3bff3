//! Two workers at once on one table, of this release and of the one before it: every interleaving of their steps.

use super::super::{Finishing, Heads, LaneHead, LaneRejection, LaneSegment, WrittenSegment};
use super::{Rows, all, apply, heads, key_of, no_credits, record, start, tenant};
use crate::keys::{self, Key};
use crate::lease::Leased;
use crate::sealing::{BatchRejection, Finding, Sealable, SealedDay, Sealing, Segment, Trail};
use crate::transaction::{Reason, ReasonCode, Rejection, TransactItem, Transaction, Verdict};
use std::collections::BTreeSet;

/// A worker, step by step: of this release, or of one that knows the chain of days alone.
enum Worker {
    Days { lease: Option<Leased<Trail>>, waiting: Option<Vec<Sealable>>, is_over: bool },
    Lanes { heads: Option<Heads>, waiting: Option<Vec<Sealable>>, is_over: bool },
}

impl Worker {
    fn days() -> Self {
        Self::Days { lease: None, waiting: None, is_over: false }
    }

    fn lanes() -> Self {
        Self::Lanes { heads: None, waiting: None, is_over: false }
    }

    /// Does one read or one write. Returns whether it has done anything.
    fn step(&mut self, rows: &mut Rows) -> bool {
        match self {
            Self::Days { is_over: true, .. } | Self::Lanes { is_over: true, .. } => return false,
            Self::Days { lease: lease @ None, is_over, .. } => {
                let seen = rows.get(&keys::sealing(&tenant())).map(|item| Sealing::read(item).unwrap());
                match Trail::take(&tenant(), seen.as_ref(), start()).unwrap() {
                    Some((taken, take)) => *lease = try_apply(rows, &take).is_ok().then_some(taken),
                    None => *is_over = true,
                }
                *is_over |= lease.is_none();
            }
            Self::Days { waiting: waiting @ None, .. } => *waiting = Some(unsealed(rows)),
            Self::Days { lease: Some(lease), waiting: Some(waiting), is_over } => {
                let of_day = start().utc_day();
                let so_far = rows.get(&keys::sealed_day(&tenant(), of_day)).map(|item| SealedDay::read(item).unwrap());
                let few = &waiting[..waiting.len().min(2)];
                let Some(batch) = lease.batch(of_day, so_far.as_ref(), few, start()).unwrap() else {
                    *is_over = true;
                    return try_apply(rows, &lease.release(start(), start()).unwrap()).is_ok();
                };
                match try_apply(rows, batch.transaction()) {
                    Ok(()) => {
                        waiting.drain(..batch.records());
                        *lease = batch.into_next();
                    }
                    Err(rejection) => match batch.explain(&rejection) {
                        Some(BatchRejection::Sealed(at)) => drop_at(waiting, &at),
                        Some(BatchRejection::LeaseLost) => *is_over = true,
                        other => panic!("{other:?}"),
                    },
                }
            }
            Self::Lanes { heads: known @ None, .. } => {
                if !rows.contains_key(&keys::seal_head(&tenant())) {
                    let days = rows.get(&keys::sealing(&tenant())).map(|item| Sealing::read(item).unwrap());
                    let (_, open) = Heads::open(&tenant(), days.as_ref(), start()).unwrap();
                    try_apply(rows, &open).unwrap();
                    let (_, raise) = heads(rows).raise(&tenant(), None, start()).unwrap().unwrap();
                    try_apply(rows, &raise).unwrap();
                }
                *known = Some(heads(rows));
            }
            Self::Lanes { waiting: waiting @ None, .. } => *waiting = Some(unsealed(rows)),
            Self::Lanes { heads: Some(heads), waiting: Some(waiting), is_over } => {
                let lanes = heads.trail.lanes;
                let Some(lane) = waiting.first().map(|record| lanes.lane_of(record.key())) else {
                    *is_over = true;
                    return false;
                };
                let of_lane = waiting.iter().filter(|record| lanes.lane_of(record.key()) == lane);
                let few: Vec<Sealable> = of_lane.take(2).cloned().collect();
                let head = &mut heads.lanes[lane as usize];
                let batch = head.batch(&tenant(), &few, &no_credits(), None, start()).unwrap().unwrap();
                match try_apply(rows, batch.transaction()) {
                    Ok(()) => {
                        waiting.retain(|record| !few.contains(record));
                        *head = batch.into_next();
                    }
                    Err(rejection) => match batch.explain(&rejection) {
                        Some(LaneRejection::Sealed(at)) => {
                            let sealed: Vec<Sealable> = at.iter().map(|at| few[*at].clone()).collect();
                            waiting.retain(|record| !sealed.contains(record));
                        }
                        // The lane is left to the other worker.
                        Some(LaneRejection::HeadMoved) => {
                            waiting.retain(|record| lanes.lane_of(record.key()) != lane);
                        }
                        other => panic!("{other:?}"),
                    },
                }
            }
        }
        true
    }
}

fn drop_at(waiting: &mut Vec<Sealable>, dropped: &[usize]) {
    let mut at = 0..;
    waiting.retain(|_| !dropped.contains(&at.next().unwrap()));
}

fn unsealed(rows: &Rows) -> Vec<Sealable> {
    rows.values().filter_map(|item| Sealable::read(&tenant(), item).unwrap()).collect()
}

/// Applies a transaction, unless a guard fails.
fn try_apply(rows: &mut Rows, transaction: &Transaction) -> Result<(), Rejection> {
    let reason = |item: &TransactItem| {
        let old = rows.get(item.key());
        let failed = item.failure_on(old).is_some();
        let code = if failed { ReasonCode::ConditionalCheckFailed } else { ReasonCode::None };
        Reason { code, item: old.cloned() }
    };
    let reasons: Vec<Reason> = transaction.items().iter().map(reason).collect();
    if reasons.iter().any(|reason| reason.code != ReasonCode::None) {
        let Verdict::Rejected(rejection) = transaction.classify(&reasons) else { panic!("it is rejected") };
        return Err(rejection);
    }
    apply(rows, transaction);
    Ok(())
}

/// Whose steps are done, in their order, if the first worker crashes after so many of its own.
fn steps_done(order: u32, crash: usize) -> Vec<usize> {
    let mut own = 0;
    let mut is_done = |whose: usize| {
        own += usize::from(whose == 0);
        whose == 1 || own <= crash
    };
    (0..10).map(|at| (order >> at & 1) as usize).filter(|whose| is_done(*whose)).collect()
}

/// Whether a table is not among those that were seen, to which it is added.
fn is_first(seen: &mut Vec<Rows>, rows: &Rows) -> bool {
    let is_first = !seen.contains(rows);
    if is_first {
        seen.push(rows.clone());
    }
    is_first
}

/// Plays every order of the steps of two workers, with a crash before any of them. Returns in how many both forms of chains
/// have segments.
fn every_interleaving(make: [fn() -> Worker; 2]) -> u32 {
    let (mut seen, mut both_sealed) = (BTreeSet::new(), 0);
    // Most orders lead to the same few tables: each is looked at once.
    let (mut sounded, mut ended) = (Vec::<Rows>::new(), Vec::<Rows>::new());
    // Each bit says whose step is next.
    for (crash, order) in (0..7).rev().flat_map(|crash| (0..1_u32 << 10).map(move |order| (crash, order))) {
        // An order in which the worker has no more steps than before its crash is one without a crash.
        if !seen.insert(steps_done(order, crash)) {
            continue;
        }
        let mut rows: Rows = (0..6).map(record).map(|item| (key_of(&item), item)).collect();
        let mut workers = make.map(|make| make());
        for whose in steps_done(order, crash) {
            let _ = workers[whose].step(&mut rows);
            if is_first(&mut sounded, &rows) {
                assert_eq!(sound(&rows), [], "{order:b} {crash}");
            }
        }
        let [days, lanes] =
            ["SEAL#2026", "SEAL#lane"].map(|prefix| rows.keys().any(|key| key.sk().starts_with(prefix)));
        both_sealed += u32::from(days && lanes);
        if !is_first(&mut ended, &rows) {
            continue;
        }
        // What a crash left is sealed at once, without a lease to wait for.
        let mut last = Worker::lanes();
        while last.step(&mut rows) {}
        assert_eq!(unsealed(&rows), [], "{order:b} {crash}");
        assert_eq!(sound(&rows), [], "{order:b} {crash}");
        let listed = listed(&rows);
        assert_eq!((listed.len(), listed.iter().collect::<BTreeSet<_>>().len()), (6, 6), "{order:b} {crash}");
    }
    both_sealed
}

#[test]
fn worker_of_days_beside_one_of_lanes_seals_each_record_once_in_every_interleaving() {
    let both_sealed = every_interleaving([Worker::days, Worker::lanes]);
    assert!(both_sealed > 100, "{both_sealed}");
}

#[test]
fn two_workers_of_lanes_seal_each_record_once_in_every_interleaving() {
    let _ = every_interleaving([Worker::lanes, Worker::lanes]);
}

#[test]
fn two_workers_of_days_seal_each_record_once_in_every_interleaving() {
    let _ = every_interleaving([Worker::days, Worker::days]);
}

#[test]
fn segment_that_a_restore_left_without_its_head_is_finished() {
    let mut before: Rows = (0..6).map(record).map(|item| (key_of(&item), item)).collect();
    apply(&mut before, &Heads::open(&tenant(), None, start()).unwrap().1);
    let head = heads(&before).lanes[0].clone();
    let batch = head.batch(&tenant(), &unsealed(&before), &no_credits(), None, start()).unwrap().unwrap();
    let mut after = before.clone();
    apply(&mut after, batch.transaction());
    let segment_key = keys::lane_segment(&tenant(), 0, 1);
    let segment = LaneSegment::read(&tenant(), &segment_key, &after[&segment_key]).unwrap();
    // Every part of the transaction that has the segment and not the head.
    for part in 0..1_u32 << segment.records.len() {
        let mut rows = before.clone();
        rows.insert(segment_key.clone(), after[&segment_key].clone());
        for (at, (key, _)) in segment.records.iter().enumerate() {
            if part >> at & 1 == 1 {
                rows.insert(key.clone(), after[key].clone());
            }
        }
        let items = |rows: &Rows| segment.records.iter().map(|(key, _)| rows.get(key).cloned()).collect::<Vec<_>>();
        let finish = |head: &LaneHead, rows: &Rows| {
            let (records, credits) = (items(rows), no_credits());
            let written = WrittenSegment { item: &rows[&segment_key], records: &records, credits: &credits };
            head.finish(&tenant(), written, start()).unwrap()
        };
        let Finishing::Torn(finished) = finish(&head, &rows) else { panic!("it is finished") };
        apply(&mut rows, finished.transaction());
        assert_eq!(rows, after, "{part:b}");
        assert_eq!(sound(&rows), []);
        // Not if a record is gone or another, or the segment does not follow the head.
        let none = |rows: &Rows| finish(&head, rows) == Finishing::Unreadable;
        let mut gone = rows.clone();
        gone.remove(&segment.records[0].0);
        assert!(none(&gone));
        let mut edited = rows.clone();
        let row = edited.get_mut(&segment.records[0].0).unwrap();
        row.insert("operation".to_owned(), crate::dynamo::Value::s("grant"));
        assert!(none(&edited));
        let next = finished.into_next();
        assert_eq!(finish(&next, &rows), Finishing::Whole);
        // Of the last segment, a record that has its stamp is left to verification.
        assert_eq!(finish(&next, &gone), Finishing::Whole);
        assert_eq!(finish(&next, &edited), Finishing::Whole);
        let row = edited.get_mut(&segment.records[0].0).unwrap();
        row.remove("sealed");
        assert_eq!(finish(&next, &edited), Finishing::Unreadable);
    }
}

/// What verification finds in both forms of chains.
fn sound(rows: &Rows) -> Vec<Finding> {
    let mut found = crate::sealing::tests::all(rows);
    if rows.contains_key(&keys::seal_head(&tenant())) {
        found.extend(all(rows));
    }
    found
}

/// The keys that all segments list.
fn listed(rows: &Rows) -> Vec<Key> {
    let of_lane = |(key, item)| Some(LaneSegment::read(&tenant(), key, item).ok()?.records.into_iter().map(|of| of.0));
    let of_day = |item| Some(Segment::read(&tenant(), item).ok()?.records.into_iter().map(|of| of.0));
    rows.iter().filter_map(of_lane).flatten().chain(rows.values().filter_map(of_day).flatten()).collect()
}
