//! Wraps a PSP client: counts every call, and holds, loses or refuses the next requests as planned. A test releases a
//! held request, or drops it as a crash would.

use futures::future::BoxFuture;
use ledger_core::psp::{PspKey, PspRequest};
use ledger_runtime::psp::{
    Listed, Listing, LookupResult, Outlook, Psp, PspLookup, PspRefusal, PspSearch, Sent, Unknown,
};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;

/// A fault of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// The request is held before it is sent.
    HeldBefore,
    /// The request is sent; its response is held.
    HeldAfter,
    /// The request is not sent; its outcome is unknown.
    LostBefore,
    /// The request is sent; its outcome is unknown.
    LostAfter,
    /// The request is not sent; its outcome is unknown, and the provider would replay the failure under this key.
    Replayed,
    /// The request is not sent; it is refused for a reason that may pass.
    MayPass,
    /// The request is not sent; it is refused for a reason that may pass, and the provider keeps the refusal under the
    /// key.
    Burnt,
    /// The request is not sent; it is refused finally.
    Refused,
}

/// A wrapped PSP client. Clones share their state.
#[derive(Clone)]
pub struct PspTap {
    inner: Arc<dyn Psp>,
    state: watch::Sender<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The keys of all requests in order, including lost ones.
    keys: Vec<String>,
    /// The number of lookups by id and in lists.
    lookups: usize,
    /// Faults of the next requests, one each; `None` sends.
    sends: VecDeque<Option<Mishap>>,
    /// Whether every lookup is answered as unknown.
    lookups_fail: bool,
    /// The number of requests that have been held.
    held: usize,
    /// The number of calls of `release`.
    releases: usize,
}

impl PspTap {
    /// Wraps a PSP client.
    pub fn over(psp: impl Psp + 'static) -> Self {
        Self { inner: Arc::new(psp), state: watch::Sender::new(State::default()) }
    }

    /// Plans faults of the next requests, one each; `None` sends.
    pub fn next_sends(&self, mishaps: impl IntoIterator<Item = Option<Mishap>>) {
        self.state.send_modify(|state| state.sends.extend(mishaps));
    }

    /// Sets whether every lookup is answered as unknown.
    pub fn fail_lookups(&self, fail: bool) {
        self.state.send_modify(|state| state.lookups_fail = fail);
    }

    /// The number of requests that the ledger made, including lost ones.
    #[must_use]
    pub fn sends(&self) -> usize {
        self.state.borrow().keys.len()
    }

    /// The keys of these requests, in order.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.state.borrow().keys.clone()
    }

    /// The number of lookups.
    #[must_use]
    pub fn lookups(&self) -> usize {
        self.state.borrow().lookups
    }

    /// Waits until this many requests have been held.
    pub async fn held(&self, requests: usize) {
        let mut changes = self.state.subscribe();
        changes.wait_for(|state| state.held >= requests).await.expect("the tap keeps the sender");
    }

    /// Releases the requests that are held.
    pub fn release(&self) {
        self.state.send_modify(|state| state.releases += 1);
    }

    async fn hold(&self) {
        let mut changes = self.state.subscribe();
        let before = self.state.borrow().releases;
        self.state.send_modify(|state| state.held += 1);
        changes.wait_for(|state| state.releases > before).await.expect("the tap keeps the sender");
    }

    fn note(&self, key: &PspKey) -> Option<Mishap> {
        let mut mishap = None;
        self.state.send_modify(|state| {
            state.keys.push(key.to_string());
            mishap = state.sends.pop_front().flatten();
        });
        mishap
    }

    /// Counts a lookup; returns whether it is answered as unknown.
    fn record_lookup(&self) -> bool {
        self.state.send_modify(|state| state.lookups += 1);
        self.state.borrow().lookups_fail
    }
}

fn refused(code: &str, outlook: Outlook) -> Sent {
    Sent::Refused(PspRefusal { code: code.to_owned(), outlook, object: None })
}

impl Psp for PspTap {
    fn send<'a>(&'a self, request: &'a PspRequest, key: &'a PspKey) -> BoxFuture<'a, Sent> {
        Box::pin(async move {
            let unknown = |resend| Sent::Unknown(Unknown { resend, why: "from_the_test" });
            match self.note(key) {
                None => self.inner.send(request, key).await,
                Some(Mishap::HeldBefore) => {
                    self.hold().await;
                    self.inner.send(request, key).await
                }
                Some(Mishap::HeldAfter) => {
                    let sent = self.inner.send(request, key).await;
                    self.hold().await;
                    sent
                }
                Some(Mishap::LostBefore) => unknown(true),
                Some(Mishap::LostAfter) => {
                    let _ = self.inner.send(request, key).await;
                    unknown(true)
                }
                Some(Mishap::Replayed) => unknown(false),
                Some(Mishap::MayPass) => refused("api_key_expired", Outlook::MayPass { burnt: false }),
                Some(Mishap::Burnt) => refused("balance_insufficient", Outlook::MayPass { burnt: true }),
                Some(Mishap::Refused) => refused("resource_missing", Outlook::Final),
            }
        })
    }

    fn look<'a>(&'a self, at: PspLookup<'a>, account: Option<&'a str>) -> BoxFuture<'a, LookupResult> {
        Box::pin(async move {
            if self.record_lookup() { LookupResult::Unknown } else { self.inner.look(at, account).await }
        })
    }

    fn find<'a>(&'a self, search: &'a PspSearch, account: Option<&'a str>) -> BoxFuture<'a, LookupResult> {
        Box::pin(async move {
            if self.record_lookup() { LookupResult::Unknown } else { self.inner.find(search, account).await }
        })
    }

    fn list<'a>(&'a self, what: &'a Listing, account: Option<&'a str>) -> BoxFuture<'a, Option<Listed>> {
        Box::pin(async move { if self.record_lookup() { None } else { self.inner.list(what, account).await } })
    }
}

impl std::fmt::Debug for PspTap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PspTap").field(&*self.state.borrow()).finish()
    }
}
