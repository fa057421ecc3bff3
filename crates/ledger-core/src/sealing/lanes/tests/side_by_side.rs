//! Two workers at once on one table: every interleaving of their steps.

use super::super::{Finishing, Heads, LaneHead, LaneRejection, LaneSegment, WrittenSegment};
use super::{Rows, all, apply, heads, key_of, no_credits, record, start, tenant};
use crate::keys::{self, Key};
use crate::sealing::{Finding, Sealable};
use crate::transaction::{Reason, ReasonCode, Rejection, TransactItem, Transaction, Verdict};
use std::collections::BTreeSet;

/// A worker, step by step.
#[derive(Default)]
struct Worker {
    heads: Option<Heads>,
    waiting: Option<Vec<Sealable>>,
    is_over: bool,
}

impl Worker {
    /// Does one read or one write. Returns whether it has done anything.
    fn step(&mut self, rows: &mut Rows) -> bool {
        if self.is_over {
            return false;
        }
        let Some(heads) = &mut self.heads else {
            if !rows.contains_key(&keys::lanes(&tenant())) {
                let (_, open) = Heads::open(&tenant(), start()).unwrap();
                try_apply(rows, &open).unwrap();
                let (_, raise) = super::heads(rows).raise(&tenant(), &super::unbound(rows), start()).unwrap().unwrap();
                try_apply(rows, &raise).unwrap();
            }
            self.heads = Some(super::heads(rows));
            return true;
        };
        let Some(waiting) = &mut self.waiting else {
            self.waiting = Some(unsealed(rows));
            return true;
        };
        let lanes = heads.trail.lanes;
        let Some(lane) = waiting.first().map(|record| lanes.lane_of(record.key())) else {
            self.is_over = true;
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
                Some(LaneRejection::HeadMoved) => waiting.retain(|record| lanes.lane_of(record.key()) != lane),
                other => panic!("{other:?}"),
            },
        }
        true
    }
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

/// Plays every order of the steps of two workers, with a crash of the first before any of its own.
#[test]
fn two_workers_seal_each_record_once_in_every_interleaving() {
    let mut seen = BTreeSet::new();
    // Most orders lead to the same few tables: each is looked at once.
    let (mut sounded, mut ended) = (Vec::<Rows>::new(), Vec::<Rows>::new());
    // Each bit says whose step is next.
    for (crash, order) in (0..7).rev().flat_map(|crash| (0..1_u32 << 10).map(move |order| (crash, order))) {
        // An order in which the worker has no more steps than before its crash is one without a crash.
        if !seen.insert(steps_done(order, crash)) {
            continue;
        }
        let mut rows: Rows = (0..6).map(record).map(|item| (key_of(&item), item)).collect();
        let mut workers = [Worker::default(), Worker::default()];
        for whose in steps_done(order, crash) {
            let _ = workers[whose].step(&mut rows);
            if is_first(&mut sounded, &rows) {
                assert_eq!(sound(&rows), [], "{order:b} {crash}");
            }
        }
        if !is_first(&mut ended, &rows) {
            continue;
        }
        // What a crash left is sealed at once, without a lease to wait for.
        let mut last = Worker::default();
        while last.step(&mut rows) {}
        assert_eq!(unsealed(&rows), [], "{order:b} {crash}");
        assert_eq!(sound(&rows), [], "{order:b} {crash}");
        let listed = listed(&rows);
        assert_eq!((listed.len(), listed.iter().collect::<BTreeSet<_>>().len()), (6, 6), "{order:b} {crash}");
    }
}

#[test]
fn segment_that_a_restore_left_without_its_head_is_finished() {
    let mut before: Rows = (0..6).map(record).map(|item| (key_of(&item), item)).collect();
    apply(&mut before, &Heads::open(&tenant(), start()).unwrap().1);
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
        row.remove("_sealed");
        assert_eq!(finish(&next, &edited), Finishing::Unreadable);
    }
}

/// What verification finds, once the lanes are opened.
fn sound(rows: &Rows) -> Vec<Finding> {
    if rows.contains_key(&keys::lanes(&tenant())) { all(rows) } else { Vec::new() }
}

/// The keys that all segments list.
fn listed(rows: &Rows) -> Vec<Key> {
    let of_lane = |(key, item)| Some(LaneSegment::read(&tenant(), key, item).ok()?.records.into_iter().map(|of| of.0));
    rows.iter().filter_map(of_lane).flatten().collect()
}
