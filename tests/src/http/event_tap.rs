//! A receiver of events for tests: it records every delivery, and loses, refuses or holds the next ones as planned.

use futures::future::{BoxFuture, FutureExt};
use ledger_core::events::{Announcement, DeadLetter, Event};
use ledger_runtime::announcer::Announcer;
use ledger_runtime::publishing::{BATCH_ITEMS, EventSink, Sent, SinkError};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::Notify;

/// A fault of the delivery of a batch, a dead letter or an announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// Not delivered; the sender gets an error.
    Lost,
    /// Delivered; the sender gets an error.
    AnswerLost,
    /// Every second event of the batch is delivered.
    Half,
    /// Not delivered; the call never returns.
    Held,
    /// Delivered; the call never returns.
    AnswerHeld,
}

/// A delivered event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The event's group.
    pub group: String,
    /// The event's id.
    pub id: String,
    /// The event's body.
    pub body: String,
}

/// A receiver of events. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct EventTap {
    state: Arc<Mutex<State>>,
    held: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    delivered: Vec<Delivery>,
    letters: Vec<Value>,
    announced: Vec<Announcement>,
    /// Faults of the next calls, one each; `None` delivers.
    next: VecDeque<Option<Mishap>>,
    /// The fault of every call while it is set.
    down: Option<Mishap>,
    /// The result of sending each event of these groups.
    groups: BTreeMap<String, Sent>,
}

impl EventTap {
    /// Plans faults of the next calls, one each; `None` delivers.
    pub fn next_calls(&self, mishaps: impl IntoIterator<Item = Option<Mishap>>) {
        self.state().next.extend(mishaps);
    }

    /// Forgets the planned faults that were not met.
    pub fn no_more_faults(&self) {
        self.state().next.clear();
    }

    /// Sets the fault of every call; `None` ends it.
    pub fn every_call(&self, mishap: Option<Mishap>) {
        self.state().down = mishap;
    }

    /// Sets the result of sending each event of a group; `Taken` restores delivery.
    pub fn group(&self, group: &str, fate: Sent) {
        self.state().groups.insert(group.to_owned(), fate);
    }

    /// Runs a sender until a call is held, and drops it there as a crash would.
    ///
    /// # Panics
    /// When the sender ends before a call is held.
    pub async fn crash_while_held<T: Debug>(&self, sender: impl Future<Output = T>) {
        tokio::select! {
            ended = sender => panic!("no call is held: {ended:?}"),
            () = self.held.notified() => {}
        }
    }

    /// Every delivery so far in order, with repetitions.
    #[must_use]
    pub fn delivered(&self) -> Vec<Delivery> {
        self.state().delivered.clone()
    }

    /// Clears the recorded deliveries.
    pub fn forget(&self) {
        self.state().delivered.clear();
    }

    /// The ids of each group in the order of their first deliveries.
    #[must_use]
    pub fn first_deliveries(&self) -> BTreeMap<String, Vec<String>> {
        let (mut seen, mut firsts) = (BTreeSet::new(), BTreeMap::<String, Vec<String>>::new());
        for Delivery { group, id, .. } in self.delivered() {
            if seen.insert(id.clone()) {
                firsts.entry(group).or_default().push(id);
            }
        }
        firsts
    }

    /// The dead letters.
    #[must_use]
    pub fn letters(&self) -> Vec<Value> {
        self.state().letters.clone()
    }

    /// Every announcement so far in order, with repetitions.
    #[must_use]
    pub fn announced(&self) -> Vec<Announcement> {
        self.state().announced.clone()
    }

    /// Delivers a dead letter or an announcement, unless a fault is planned.
    async fn one(&self, arrives: impl FnOnce(&mut State)) -> Result<(), String> {
        let (mishap, lost) = (self.mishap(), || "from_the_test".to_owned());
        if let Some(Mishap::Lost | Mishap::Half) = mishap {
            return Err(lost());
        }
        if mishap != Some(Mishap::Held) {
            arrives(&mut self.state());
        }
        match mishap {
            Some(Mishap::Held | Mishap::AnswerHeld) => self.hold().await,
            Some(Mishap::AnswerLost) => Err(lost()),
            None | Some(Mishap::Lost | Mishap::Half) => Ok(()),
        }
    }

    async fn hold<T>(&self) -> T {
        self.held.notify_one();
        std::future::pending().await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics while it holds the lock")
    }

    fn mishap(&self) -> Option<Mishap> {
        let mut state = self.state();
        state.next.pop_front().flatten().or(state.down)
    }

    fn take(&self, event: &Event) -> Sent {
        let mut state = self.state();
        match state.groups.get(&event.group) {
            None | Some(Sent::Taken) => {
                let (group, body) = (event.group.clone(), event.body.clone());
                state.delivered.push(Delivery { group, id: event.id.to_string(), body });
                Sent::Taken
            }
            Some(fate) => fate.clone(),
        }
    }
}

fn lost() -> Sent {
    Sent::Later("from_the_test".to_owned())
}

impl EventSink for EventTap {
    fn send<'a>(&'a self, events: &'a [Event]) -> BoxFuture<'a, Vec<Sent>> {
        let groups: BTreeSet<&str> = events.iter().map(|event| event.group.as_str()).collect();
        assert!(groups.len() == events.len() && events.len() <= BATCH_ITEMS, "one of each group: {events:?}");
        async move {
            let mishap = self.mishap();
            let arrives = |at: usize| match mishap {
                None | Some(Mishap::AnswerLost | Mishap::AnswerHeld) => true,
                Some(Mishap::Half) => at % 2 == 1,
                Some(Mishap::Lost | Mishap::Held) => false,
            };
            let sent = events.iter().enumerate().map(|(at, event)| if arrives(at) { self.take(event) } else { lost() });
            let sent: Vec<Sent> = sent.collect();
            match mishap {
                None | Some(Mishap::Half | Mishap::Lost) => sent,
                Some(Mishap::AnswerLost) => vec![lost(); events.len()],
                Some(Mishap::Held | Mishap::AnswerHeld) => self.hold().await,
            }
        }
        .boxed()
    }

    fn keep<'a>(&'a self, letter: &'a DeadLetter) -> BoxFuture<'a, Result<(), SinkError>> {
        let letter = serde_json::from_str(&letter.text()).expect("JSON");
        self.one(|state| state.letters.push(letter)).map(|kept| kept.map_err(SinkError)).boxed()
    }
}

impl Announcer for EventTap {
    fn announce<'a>(&'a self, event: &'a Announcement) -> BoxFuture<'a, Result<(), String>> {
        self.one(|state| state.announced.push(event.clone())).boxed()
    }
}
