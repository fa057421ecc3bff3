//! What the API, the deliveries and the dev controls share, behind one lock.
//! Every change goes through here: it is saved before anybody hears of it.

use crate::clock::Clock;
use crate::config::SimulatorConfig;
use crate::events::Attempt;
use crate::faults::Fault;
use crate::store::{Caller, Change, State};
use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fs, io};
use tokio::sync::watch;

/// Why the simulator did not start. One line each.
#[derive(Debug, thiserror::Error)]
pub enum SimulatorError {
    /// The state of an earlier run cannot be read.
    #[error("cannot read the Stripe simulator's state {path}: {cause}", path = .path.display())]
    StateFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// The HTTP client for deliveries cannot be made.
    #[error("cannot make an HTTP client for webhook deliveries: {0}")]
    Client(String),
}

/// The simulator's inside.
pub(crate) struct Shared {
    pub(crate) api_key: String,
    pub(crate) webhook_secrets: Vec<String>,
    pub(crate) http: reqwest::Client,
    clock: Clock,
    state_file: Option<PathBuf>,
    inner: Mutex<Inner>,
    /// The version of the state that the file holds.
    saved: Mutex<u64>,
    /// Counts the changes, for those who wait for one.
    changes: watch::Sender<u64>,
}

/// What changes.
#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) state: State,
    pub(crate) webhook_url: Option<String>,
    pub(crate) paused: bool,
    pub(crate) faults: Vec<Fault>,
    /// Slots of idempotency keys whose request is running.
    pub(crate) in_flight: HashSet<String>,
    /// Calls that a fault holds.
    pub(crate) held: usize,
    /// How often held calls were released.
    pub(crate) releases: u64,
    pub(crate) attempts: VecDeque<Attempt>,
    version: u64,
}

impl Shared {
    /// Reads the state of an earlier run, if there is one.
    pub(crate) fn open(config: SimulatorConfig, clock: Clock) -> Result<Self, SimulatorError> {
        let SimulatorConfig { api_key, webhook_secrets, state_file } = config;
        let mut state = match &state_file {
            Some(path) => read(path)?,
            None => State::default(),
        };
        state.prune(clock());
        let http = reqwest::Client::builder().build().map_err(|cause| SimulatorError::Client(cause.to_string()))?;
        Ok(Self {
            api_key,
            webhook_secrets,
            http,
            clock,
            state_file,
            inner: Mutex::new(Inner { state, ..Inner::default() }),
            saved: Mutex::new(0),
            changes: watch::Sender::new(0),
        })
    }

    /// Unix seconds by the simulator's clock.
    pub(crate) fn now_s(&self) -> i64 {
        (self.clock)()
    }

    /// The state as it is. A panic elsewhere leaves it usable: changes do not stop half way.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of changes from here on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Changes anything, saves it and tells of it.
    pub(crate) fn update<R>(&self, update: impl FnOnce(&mut Inner) -> R) -> R {
        let (result, version) = {
            let mut inner = self.lock();
            let result = update(&mut inner);
            inner.version = inner.version.saturating_add(1);
            (result, inner.version)
        };
        self.save(version);
        self.changes.send_replace(version);
        result
    }

    /// Changes Stripe's objects on behalf of a caller.
    pub(crate) fn change<R>(&self, caller: Caller, act: impl FnOnce(&mut Change<'_>) -> R) -> R {
        let now_s = self.now_s();
        self.update(|inner| {
            let queue_events = inner.webhook_url.is_some();
            act(&mut Change { state: &mut inner.state, now_s, caller, queue_events })
        })
    }

    /// Answers a caller who changes nothing: nothing is saved for it.
    pub(crate) fn look<R>(&self, caller: Caller, act: impl FnOnce(&mut Change<'_>) -> R) -> R {
        let now_s = self.now_s();
        let mut inner = self.lock();
        act(&mut Change { state: &mut inner.state, now_s, caller, queue_events: false })
    }

    /// Marks a key's slot as in use until the guard is dropped; `None` when it is already.
    pub(crate) fn reserve(self: &Arc<Self>, slot: &str) -> Option<InFlight> {
        let fresh = self.lock().in_flight.insert(slot.to_owned());
        fresh.then(|| InFlight { shared: Arc::clone(self), slot: slot.to_owned() })
    }

    /// Waits until `reached` says so of the inside.
    pub(crate) async fn until(&self, reached: impl Fn(&Inner) -> bool) {
        let mut changes = self.changes();
        loop {
            changes.borrow_and_update();
            if reached(&self.lock()) {
                return;
            }
            // The sender lives as long as `self`.
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Writes the state down unless a later one is written already. Whoever comes while a file is
    /// being written waits, and finds the work done.
    fn save(&self, version: u64) {
        let Some(path) = &self.state_file else { return };
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        if *saved >= version {
            return;
        }
        let (text, version) = {
            let inner = self.lock();
            (serde_json::to_string(&inner.state), inner.version)
        };
        let written = text
            .map_err(|error| error.to_string())
            .and_then(|text| write(path, &text).map_err(|error| error.to_string()));
        match written {
            Ok(()) => *saved = version,
            Err(error) => tracing::error!(%error, "the state of the Stripe simulator is not saved"),
        }
    }
}

/// A key in use.
pub(crate) struct InFlight {
    shared: Arc<Shared>,
    slot: String,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.shared.lock().in_flight.remove(&self.slot);
    }
}

/// Replaces the file as a whole: a killed process leaves the state before or the state after.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let temporary = path.with_extension("tmp");
    fs::write(&temporary, text)?;
    fs::rename(&temporary, path)
}

fn read(path: &Path) -> Result<State, SimulatorError> {
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text)
            .map_err(|error| SimulatorError::StateFile { path: path.to_owned(), cause: error.to_string() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::default()),
        Err(error) => Err(SimulatorError::StateFile { path: path.to_owned(), cause: error.to_string() }),
    }
}
