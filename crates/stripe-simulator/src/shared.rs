//! The state shared by the API, the deliveries and the dev controls, behind one lock. A change is saved before its
//! result is returned.

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

/// Why the simulator could not start. The text is one line.
#[derive(Debug, thiserror::Error)]
pub enum SimulatorError {
    /// The state file cannot be read.
    #[error("cannot read the Stripe simulator's state {path}: {cause}", path = .path.display())]
    StateFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// The HTTP client for deliveries cannot be created.
    #[error("cannot make an HTTP client for webhook deliveries: {0}")]
    Client(String),
}

/// The shared parts of a simulator.
pub(crate) struct Shared {
    pub(crate) api_key: String,
    pub(crate) webhook_secrets: Vec<String>,
    pub(crate) http: reqwest::Client,
    clock: Clock,
    state_file: Option<PathBuf>,
    inner: Mutex<Inner>,
    /// The version of the state in the file.
    saved: Mutex<u64>,
    /// The version of the last change, for tasks that wait for one.
    changes: watch::Sender<u64>,
}

/// The mutable part, behind the lock.
#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) state: State,
    pub(crate) webhook_url: Option<String>,
    pub(crate) paused: bool,
    pub(crate) faults: Vec<Fault>,
    /// Account and key of each idempotency key in use.
    pub(crate) in_flight: HashSet<String>,
    /// The number of calls held by a fault.
    pub(crate) held: usize,
    /// How often held calls have been released.
    pub(crate) releases: u64,
    pub(crate) attempts: VecDeque<Attempt>,
    version: u64,
}

impl Shared {
    /// Reads the state file, if there is one.
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

    /// Locks the mutable part. A panic elsewhere leaves it usable, because no change stops half way.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A receiver of all further changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Changes the mutable part, saves it and notifies the receivers of changes.
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

    /// Changes Stripe's objects for a caller.
    pub(crate) fn change<R>(&self, caller: Caller, act: impl FnOnce(&mut Change<'_>) -> R) -> R {
        let now_s = self.now_s();
        self.update(|inner| {
            let queue_events = inner.webhook_url.is_some();
            act(&mut Change { state: &mut inner.state, now_s, caller, queue_events })
        })
    }

    /// Runs a call that changes nothing, so nothing is saved.
    pub(crate) fn look<R>(&self, caller: Caller, act: impl FnOnce(&mut Change<'_>) -> R) -> R {
        let now_s = self.now_s();
        let mut inner = self.lock();
        act(&mut Change { state: &mut inner.state, now_s, caller, queue_events: false })
    }

    /// Marks an idempotency key as in use until the guard is dropped; `None` if it is in use already.
    pub(crate) fn reserve(self: &Arc<Self>, slot: &str) -> Option<InFlight> {
        let fresh = self.lock().in_flight.insert(slot.to_owned());
        fresh.then(|| InFlight { shared: Arc::clone(self), slot: slot.to_owned() })
    }

    /// Waits until `reached` returns true.
    pub(crate) async fn until(&self, reached: impl Fn(&Inner) -> bool) {
        let mut changes = self.changes();
        loop {
            changes.borrow_and_update();
            if reached(&self.lock()) {
                return;
            }
            // Not reachable: the sender exists as long as `self`.
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Writes the state file, unless it holds this version or a later one.
    ///
    /// A caller that waits for another write usually finds its version written.
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

/// An idempotency key in use, until this is dropped.
pub(crate) struct InFlight {
    shared: Arc<Shared>,
    slot: String,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.shared.lock().in_flight.remove(&self.slot);
    }
}

/// Replaces the file atomically: a killed process leaves either the old or the new state.
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
