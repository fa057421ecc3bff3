//! The wire between the ledger and its payment provider: counts every call, and holds, loses or
//! refuses the next ones as a test says. What is held can be let go, or dropped as by a crash.

use futures::future::BoxFuture;
use ledger_core::psp::{PspKey, PspRequest};
use ledger_runtime::psp::{Listed, Listing, Lookup, Outlook, Psp, PspRefusal, Sent, Sighting, Sought, Unknown};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// It waits before it is sent.
    HeldBefore,
    /// It has its effect, and the answer waits.
    HeldAfter,
    /// It is never sent, and nobody knows.
    LostBefore,
    /// It has its effect, and nobody knows.
    LostAfter,
    /// It is not sent; the answer is a failure that the provider would replay for ever.
    Replayed,
    /// It is not sent; the provider refuses for a reason that may go away.
    MayPass,
    /// It is not sent; the provider refuses for a reason that may go away, and keeps that under the key.
    Burnt,
    /// It is not sent; the provider refuses the request itself.
    Refused,
}

/// A wire. Clones are the same one.
#[derive(Clone)]
pub struct PspTap {
    inner: Arc<dyn Psp>,
    state: watch::Sender<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The keys of all requests that went through, in their order.
    keys: Vec<String>,
    /// Looks by id and in lists.
    looks: usize,
    /// The next requests' mishaps, one each; `None` lets one pass.
    sends: VecDeque<Option<Mishap>>,
    /// No look tells anything, while it is set.
    blind: bool,
    /// How many requests have come to be held.
    held: usize,
    /// How often what was held has been let go.
    releases: usize,
}

impl PspTap {
    /// A wire to a provider.
    pub fn over(psp: impl Psp + 'static) -> Self {
        Self { inner: Arc::new(psp), state: watch::Sender::new(State::default()) }
    }

    /// The next requests meet these mishaps, one each; `None` lets one pass.
    pub fn next_sends(&self, mishaps: impl IntoIterator<Item = Option<Mishap>>) {
        self.state.send_modify(|state| state.sends.extend(mishaps));
    }

    /// Whether looks tell nothing from here on.
    pub fn blind(&self, blind: bool) {
        self.state.send_modify(|state| state.blind = blind);
    }

    /// How many requests were made of the ledger's own accord, lost ones among them.
    #[must_use]
    pub fn sends(&self) -> usize {
        self.state.borrow().keys.len()
    }

    /// Under which keys, in their order.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.state.borrow().keys.clone()
    }

    /// How many looks there were.
    #[must_use]
    pub fn looks(&self) -> usize {
        self.state.borrow().looks
    }

    /// Returns once so many requests have come to be held.
    pub async fn held(&self, requests: usize) {
        let mut changes = self.state.subscribe();
        changes.wait_for(|state| state.held >= requests).await.expect("the wire is there");
    }

    /// Lets what is held go on.
    pub fn release(&self) {
        self.state.send_modify(|state| state.releases += 1);
    }

    async fn hold(&self) {
        let mut changes = self.state.subscribe();
        let before = self.state.borrow().releases;
        self.state.send_modify(|state| state.held += 1);
        changes.wait_for(|state| state.releases > before).await.expect("the wire is there");
    }

    fn note(&self, key: &PspKey) -> Option<Mishap> {
        let mut mishap = None;
        self.state.send_modify(|state| {
            state.keys.push(key.to_string());
            mishap = state.sends.pop_front().flatten();
        });
        mishap
    }

    fn look_blindly(&self) -> bool {
        self.state.send_modify(|state| state.looks += 1);
        self.state.borrow().blind
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

    fn look<'a>(&'a self, at: Lookup<'a>, account: Option<&'a str>) -> BoxFuture<'a, Sighting> {
        Box::pin(
            async move { if self.look_blindly() { Sighting::Unknown } else { self.inner.look(at, account).await } },
        )
    }

    fn find<'a>(&'a self, sought: &'a Sought, account: Option<&'a str>) -> BoxFuture<'a, Sighting> {
        Box::pin(
            async move { if self.look_blindly() { Sighting::Unknown } else { self.inner.find(sought, account).await } },
        )
    }

    fn list<'a>(&'a self, what: &'a Listing, account: Option<&'a str>) -> BoxFuture<'a, Option<Listed>> {
        Box::pin(async move { if self.look_blindly() { None } else { self.inner.list(what, account).await } })
    }
}

impl std::fmt::Debug for PspTap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PspTap").field(&*self.state.borrow()).finish()
    }
}
