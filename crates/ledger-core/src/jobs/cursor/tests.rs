//! Tries, slices and stops of jobs that go through lists.

use super::*;
use crate::ids::JobId;
use crate::keys::JobKind;
use uuid::Uuid;

fn at() -> Timestamp {
    Timestamp::from_millis(1_795_230_000_000)
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Nothing;

impl Details for Nothing {
    const KIND: JobKind = JobKind::WindDown;

    fn read(_: &Item) -> Result<Self, ItemError> {
        Ok(Self)
    }

    fn attributes(&self) -> Item {
        Item::new()
    }
}

fn job(in_flight: &[&str]) -> CursorJob<Nothing> {
    let request = Request { id: JobId::new(Uuid::from_u128(1)), staff: None, reason: None, total: None, now: at() };
    let of = |subject: &&str| InFlight { subject: (*subject).to_owned(), tries: 0, due_at: None };
    let in_flight = in_flight.iter().map(of).collect();
    CursorJob { in_flight, cursor: Some(END.to_owned()), ..CursorJob::requested(request, Nothing) }
}

#[test]
fn subject_without_a_certain_outcome_has_a_failed_line_after_five_tries() {
    let (mut job, mut now) = (job(&["a", "b"]), at());
    let mut minutes = Vec::new();
    loop {
        let due = job.due(now);
        let uncertain = |subject: String| (subject, Outcome::Uncertain("unavailable".to_owned()));
        let counted = job.counted(&due.into_iter().map(uncertain).collect(), now);
        let Some(next) = counted.in_flight.first().and_then(|of| of.due_at) else {
            let codes: Vec<_> =
                counted.lines.iter().map(|line| (line.subject.as_str(), line.code.as_deref())).collect();
            assert_eq!(codes, [("a", Some("unavailable")), ("b", Some("unavailable"))]);
            assert_eq!((counted.counts.failed, counted.in_flight.len()), (2, 0));
            break;
        };
        assert_eq!((counted.certain(), counted.lines.len()), (0, 0));
        minutes.push((next.millis() - now.millis()) / 60_000);
        job.in_flight = counted.in_flight;
        assert_eq!(job.due(next.minus(Duration::from_millis(1))), Vec::<String>::new());
        now = next;
    }
    assert_eq!(minutes, [1, 2, 4, 8]);
}

#[test]
fn subject_that_a_slice_did_not_reach_stays_in_flight_and_is_not_counted() {
    let job = job(&["a", "b", "c"]);
    let outcomes = BTreeMap::from([
        ("a".to_owned(), Outcome::Listed(LineState::Done)),
        ("b".to_owned(), Outcome::Unlisted),
        ("x".to_owned(), Outcome::Listed(LineState::Done)),
    ]);
    let counted = job.counted(&outcomes, at());
    assert_eq!(counted.in_flight().collect::<Vec<_>>(), ["c"]);
    assert_eq!((counted.counts.done, counted.certain(), counted.room()), (1, 1, 0));
}

#[test]
fn subject_that_a_stop_left_is_skipped_and_has_a_line() {
    let mut job = job(&["a", "b"]);
    assert_eq!(job.next(), Next::Work);
    job.head.state = JobState::Stopping;
    assert_eq!(job.next(), Next::SettleStop(vec!["a".to_owned(), "b".to_owned()]));
    let lines = BTreeMap::from([("a".to_owned(), LineState::Done)]);
    let settled = job.settle_stop(&Tenant::parse("demo").unwrap(), &lines, at()).unwrap();
    let keys: Vec<&str> = settled.items().iter().map(|item| item.key().sk()).collect();
    assert_eq!(keys, ["JOB", "LINE#b"]);
    job.head.state = JobState::Stopped;
    assert_eq!(job.next(), Next::Nothing);
}
