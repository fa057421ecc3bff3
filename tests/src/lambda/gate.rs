//! A connection between a function and its store that can be shut: the store's responses are held until it is opened
//! again. A separate process cannot otherwise be stopped in the middle of a request.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

const PATIENCE: Duration = Duration::from_secs(20);

/// A connection that can be shut.
#[derive(Debug)]
pub struct Gate {
    url: String,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    shut: bool,
    /// The number of responses held by the shut gate.
    held: usize,
}

impl Gate {
    /// Listens on a free port and connects to the server at a URL.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn to(url: &str) -> Self {
        let target = url.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = watch::Sender::new(State::default());
        let name = listener.local_addr().expect("an address").to_string();
        tokio::spawn(accept(listener, (name, target), state.clone()));
        Self { url, state }
    }

    /// The URL that the function connects to.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Holds responses from now on.
    pub fn shut(&self) {
        self.state.send_modify(|state| *state = State { shut: true, held: 0 });
    }

    /// Waits until a response is held.
    ///
    /// # Panics
    /// When none is held in time.
    pub async fn holds(&self) {
        let mut state = self.state.subscribe();
        let held = tokio::time::timeout(PATIENCE, state.wait_for(|state| state.held > 0)).await;
        assert!(held.is_ok_and(|held| held.is_ok()), "nothing came to the gate");
    }

    /// Releases the held responses, and lets later ones pass.
    pub fn open(&self) {
        self.state.send_modify(|state| state.shut = false);
    }
}

async fn accept(listener: TcpListener, (name, target): (String, String), state: watch::Sender<State>) {
    // The server answers only under its own name.
    let renamed = Renamed { from: name.into(), to: target.clone().into() };
    while let Ok((near, _)) = listener.accept().await {
        let Ok(far) = TcpStream::connect(&target).await else { continue };
        // Small answers would wait for a delayed acknowledgement.
        let _ = (near.set_nodelay(true), far.set_nodelay(true));
        let ((near_read, near_write), (far_read, far_write)) = (near.into_split(), far.into_split());
        tokio::spawn(carry(near_read, far_write, Some(renamed.clone()), None));
        tokio::spawn(carry(far_read, near_write, None, Some(state.clone())));
    }
}

/// The name in the `Host` of requests, and the one that replaces it.
#[derive(Clone, Debug)]
struct Renamed {
    from: Arc<str>,
    to: Arc<str>,
}

impl Renamed {
    fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let from = self.from.as_bytes();
        match bytes.windows(from.len()).position(|window| window == from) {
            Some(at) => [&bytes[..at], self.to.as_bytes(), &bytes[at + from.len()..]].concat(),
            None => bytes.to_vec(),
        }
    }
}

/// Copies bytes until either end closes, through the gate if given.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    renamed: Option<Renamed>,
    gate: Option<watch::Sender<State>>,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if let Some(gate) = &gate {
            pass(gate).await;
        }
        let bytes = renamed.as_ref().map_or_else(|| buffer[..read].to_vec(), |renamed| renamed.apply(&buffer[..read]));
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
    // Tells the other end that no more bytes come.
    let _ = to.shutdown().await;
}

async fn pass(gate: &watch::Sender<State>) {
    let mut state = gate.subscribe();
    if state.borrow().shut {
        gate.send_modify(|state| state.held += 1);
        // An error means that the gate was dropped, so nothing is held any more.
        let _ = state.wait_for(|state| !state.shut).await;
    }
}
