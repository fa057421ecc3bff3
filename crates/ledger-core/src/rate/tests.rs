//! Windows, the limits of a rate, and the shared budget, which environments never exceed in any order of requests.

use super::*;
use crate::dynamo::{Attributes, Item};
use crate::transaction::RenderedAction;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn rate(per_second: u32) -> RequestRate {
    RequestRate::new(per_second).unwrap()
}

#[test]
fn windows_are_adjacent() {
    for (now, starts, left_ms) in [
        ("2026-11-21T09:30:00.000Z", "2026-11-21T09:30:00Z", 10_000),
        ("2026-11-21T09:30:09.999Z", "2026-11-21T09:30:00Z", 1),
        ("2026-11-21T09:30:10.000Z", "2026-11-21T09:30:10Z", 10_000),
        ("1969-12-31T23:59:59.500Z", "1969-12-31T23:59:50Z", 500),
    ] {
        let window = RateWindow::of(at(now));
        assert_eq!((window.starts_at(), window.left(at(now))), (at(starts), Duration::from_millis(left_ms)), "{now}");
        assert_eq!(RateWindow::of(window.ends_at()).starts_at(), window.ends_at());
    }
    let window = RateWindow::of(at("2026-11-21T09:30:00Z"));
    assert_eq!(window.left(at("2026-11-21T09:31:00Z")), Duration::ZERO, "no time is left after the end of a window");
}

#[test]
fn rate_outside_1_to_100_000_is_refused() {
    assert_eq!((RequestRate::new(0), RequestRate::new(100_001)), (None, None));
    for (per_second, budget, chunk, free) in
        [(1, 10, 1, 1), (2, 20, 1, 1), (11, 110, 3, 1), (200, 2_000, 40, 20), (100_000, 1_000_000, 20_000, 10_000)]
    {
        let rate = rate(per_second);
        assert_eq!((rate.budget(), rate.chunk(), rate.free()), (budget, chunk, free), "{per_second}");
    }
    for per_second in 1..=100_000 {
        let rate = rate(per_second);
        let leases = rate.budget() / rate.chunk();
        assert!((1..=CHUNKS_MAX).contains(&leases), "{per_second}: {leases} leases");
    }
}

#[test]
fn first_request_of_a_window_passes_without_a_rate() {
    let start = at("2026-11-21T09:30:00Z");
    let mut allotment = Allotment::new(start);
    assert_eq!([(); 2].map(|()| allotment.pass_first(start)), [true, false]);
    assert!(allotment.pass_first(start.plus(Duration::from_secs(10))));
    assert!(allotment.pass_first(start), "after the clock is set back, another window begins");
}

#[test]
fn requests_use_free_part_then_grants_until_the_next_window() {
    let now = at("2026-11-21T09:30:04Z");
    let (window, rate) = (RateWindow::of(now), rate(10));
    let mut allotment = Allotment::new(now);
    assert_eq!((rate.free(), rate.chunk()), (1, 2));
    assert_eq!(allotment.take(rate, now), Step::Pass);
    assert_eq!(allotment.take(rate, now), Step::Lease(window));
    allotment.grant(window, rate);
    assert_eq!([(); 3].map(|()| allotment.take(rate, now)), [Step::Pass, Step::Pass, Step::Lease(window)]);
    allotment.refuse(window);
    assert_eq!(allotment.take(rate, window.ends_at().minus(Duration::from_millis(1))), Step::Refuse(window));
    let next = window.ends_at();
    assert_eq!(allotment.take(rate, next), Step::Pass);
    // Late results of an earlier window have no effect on this one.
    allotment.refuse(window);
    allotment.grant(window, rate);
    assert_eq!(allotment.take(rate, next), Step::Lease(RateWindow::of(next)));
}

#[test]
fn no_lease_is_requested_for_one_second_after_unknown_outcome() {
    let now = at("2026-11-21T09:30:09.5Z");
    let rate = rate(1);
    let mut allotment = Allotment::new(now);
    assert!(allotment.pass_first(now));
    allotment.unknown(now);
    let later = |ms| now.plus(Duration::from_millis(ms));
    assert_eq!(allotment.take(rate, later(499)), Step::PassUncounted);
    // The next window has its own free requests, and the pause continues.
    assert_eq!([500, 999].map(|ms| allotment.take(rate, later(ms))), [Step::Pass, Step::PassUncounted]);
    assert_eq!(allotment.take(rate, later(1000)), Step::Lease(RateWindow::of(later(1000))));
    // A clock that is set back does not extend the pause.
    allotment.unknown(later(1000));
    let hour_ago = now.minus(Duration::from_secs(3600));
    assert!(allotment.pass_first(hour_ago));
    assert_eq!(allotment.take(rate, hour_ago), Step::Lease(RateWindow::of(hour_ago)));
}

/// The item after a lease; `None` if its guard does not hold.
fn leased(item: Option<&Item>, rate: RequestRate, window: RateWindow) -> Option<Item> {
    let tenant = Tenant::parse("demo").unwrap();
    let lease = lease(&tenant, window, rate).unwrap();
    let [action] = lease.items() else { panic!("one item") };
    if action.failure_on(item).is_some() {
        return None;
    }
    let rendered = action.render().unwrap();
    assert_eq!(rendered.action, RenderedAction::Update(key(window), "ADD #leased :chunk SET #ttl = :ttl".to_owned()));
    let before = item.map_or(0, |item| item.int::<i64>("leased").unwrap());
    let Some(Value::N(chunk)) = rendered.values.get(":chunk") else { panic!("a number") };
    Some(Item::from([("leased".to_owned(), Value::int(before.saturating_add(chunk.parse().unwrap())))]))
}

fn key(window: RateWindow) -> Item {
    let pk = format!("demo#rate#{}", window.starts_at().seconds());
    Item::from([("uuid".to_owned(), Value::S(pk)), ("type".to_owned(), Value::s("RATE"))])
}

/// Random requests of environments that share an item: at most the budget and the free part of each environment pass. A
/// single environment uses all of that.
#[test]
fn environments_together_stay_within_the_budget() {
    let now = at("2026-11-21T09:30:00Z");
    let window = RateWindow::of(now);
    let mut seed = 1_u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    for round in 0..400 {
        let rate = rate(u32::try_from(random(60) + 1).unwrap());
        let mut environments = vec![Allotment::new(now); random(8) + 1];
        let (mut item, mut passed, mut leases) = (None, 0_u32, 0_u32);
        // Several leases may be under way at a time; they are decided in random order.
        let mut under_way: Vec<usize> = Vec::new();
        for _ in 0..rate.budget() * 9 {
            let which = random(environments.len());
            match environments[which].take(rate, now) {
                Step::Pass => passed += 1,
                Step::Refuse(of) => assert_eq!(of, window),
                Step::PassUncounted => panic!("no lease has an unknown outcome"),
                Step::Lease(_) if under_way.contains(&which) => {}
                Step::Lease(_) => under_way.push(which),
            }
            if !under_way.is_empty() && random(2) == 0 {
                let which = under_way.swap_remove(random(under_way.len()));
                match leased(item.as_ref(), rate, window) {
                    Some(after) => {
                        leases += 1;
                        environments[which].grant(window, rate);
                        item = Some(after);
                    }
                    None => environments[which].refuse(window),
                }
            }
        }
        let sum = item.as_ref().map_or(0, |item| item.int::<i64>("leased").unwrap());
        assert_eq!(sum, i64::from(leases * rate.chunk()));
        assert!(sum <= rate.budget().into() && leases <= CHUNKS_MAX, "round {round}: {sum} of {rate:?}");
        let free = u32::try_from(environments.len()).unwrap() * rate.free();
        assert!(passed <= rate.budget() + free, "round {round}: {passed} passed of {rate:?}");
        if environments.len() == 1 {
            assert_eq!(
                passed,
                leases * rate.chunk() + rate.free(),
                "round {round}: a lone environment uses the whole budget"
            );
            assert_eq!(leases, rate.budget() / rate.chunk(), "round {round}");
        }
    }
}
