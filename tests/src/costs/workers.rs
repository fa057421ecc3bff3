//! The workers, over a connection that counts their units.

use super::units::Units;
use crate::cloud::gate;
use crate::http::event_tap::EventTap;
use crate::http::settling::{local_settler, opened, run_task};
use crate::http::tap::{Attempts, Seen, Tap};
use crate::http::{Host, Merchant, World};
use ledger_core::crediting::LaneCredit;
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{attr, sk};
use ledger_core::reads;
use ledger_core::settlements::{Outcome, Step, Task};
use ledger_runtime::app::App;
use ledger_runtime::clock::Clock;
use ledger_runtime::publishing::Publisher;
use ledger_runtime::settlement::{SettlementRef, Settler};
use ledger_runtime::worker::Due;
use std::sync::Arc;
use std::time::Duration;

/// Sealing lists each act once more until it is fifteen minutes old. With workers that far ahead, a run lists no act that
/// an earlier run has sealed. Whole hundreds of seconds keep the size of an instant.
const AHEAD: Duration = Duration::from_secs(15 * 60);

pub(super) struct Workers {
    tap: Tap,
    app: App,
    publisher: Publisher,
    settler: Settler,
}

/// A tenant's merchant.
pub(super) struct Shop<'a> {
    pub(super) world: &'a World,
    pub(super) tenant: &'a Tenant,
    pub(super) merchant: &'a Merchant,
}

impl Workers {
    /// Workers ahead of the clock of the requests.
    pub(super) async fn over(host: &Host, of_requests: Clock) -> Self {
        let (tap, stack) = (Tap::default(), host.stack());
        let clock = Clock::from_fn(move || of_requests.now().plus(AHEAD));
        let store = (stack.dynamodb_url(), stack.table());
        let (app, _) = tap.app(store, Attempts::Retried, clock, stack.stripe()).await;
        tap.meter();
        let publisher = Publisher::new(&app, Arc::new(EventTap::default()));
        let settler = local_settler(&app);
        Self { tap, app, publisher, settler }
    }

    /// Clears what was recorded; returns it.
    pub(super) fn take(&self) -> Vec<Seen> {
        self.tap.take()
    }

    /// Ends all work of a shop that is due.
    pub(super) async fn finish(&self, shop: &Shop<'_>) {
        let _ = self.seal(shop).await;
        if is_credited(shop).await {
            let at = opened(shop.world, shop.merchant).await;
            let _ = gate::as_function("settlement", self.settler.walk(&at, async |_| {})).await;
        }
        let _ = self.seal(shop).await;
    }

    /// Publishes the entries that wait, as the stream delivers them; returns their number.
    pub(super) async fn publish(&self, shop: &Shop<'_>) -> usize {
        let mut changed = rows(shop, |shard| reads::records_unsealed(shop.tenant, shard), 1).await;
        changed.retain(|row| row.text(attr::SK).is_ok_and(|sort| sort.starts_with(sk::TXN)));
        let (waiting, due) = (changed.len(), Due { changed, ..Due::everything(shop.tenant.clone()) });
        let publish = outbox::publish_due(&self.app, Some(&self.publisher), &due);
        assert_eq!(gate::as_function("outbox", publish).await.expect("published").published, waiting);
        waiting
    }

    /// Seals the records that wait, as a tick does; returns their number.
    pub(super) async fn seal(&self, shop: &Shop<'_>) -> usize {
        let pass = outbox::pass_due(&self.app, Some(&self.publisher), shop.tenant);
        gate::as_function("outbox", pass).await.expect("sealed").sealed.records
    }

    /// Opens a settlement and collects its records.
    pub(super) async fn collect(&self, shop: &Shop<'_>) -> SettlementRef {
        let at = opened(shop.world, shop.merchant).await;
        let _ = self.take();
        while run_task(&self.settler, &at, Task::Do(Step::Collect)).await.expect("collected") == Outcome::Again {}
        at
    }

    /// Runs the tasks of a settlement that are left.
    pub(super) async fn settle(&self, at: &SettlementRef) -> Units {
        let _ = self.take();
        let _ = gate::as_function("settlement", self.settler.walk(at, async |_| {})).await;
        super::requests::units(&self.take())
    }
}

impl Shop<'_> {
    fn id(&self) -> MerchantId {
        MerchantId::parse(&self.merchant.id).expect("an id")
    }
}

/// Whether the merchant has something to settle: a returned payout, or entries in an open period.
pub(super) async fn is_credited(shop: &Shop<'_>) -> bool {
    let free = ledger_runtime::settlement::free_records(shop.world.app.dynamo(), (shop.tenant, shop.id()));
    let free = gate::as_test(free).await.expect("an answer");
    let lanes = gate::as_test(shop.world.app.dynamo().query(&reads::lane_credits(shop.tenant, shop.id()))).await;
    let lanes = LaneCredit::all(&lanes.expect("an answer")).expect("as they are written");
    lanes.iter().any(|lane| !lane.sums.is_empty()) || !free.is_empty()
}

/// What a due index query lists on all shards.
async fn rows(shop: &Shop<'_>, query: impl Fn(u32) -> reads::Query, shards: u32) -> Vec<Item> {
    let mut found = Vec::new();
    for shard in 0..shards {
        found.extend(gate::as_test(shop.world.app.dynamo().query(&query(shard))).await.expect("records"));
    }
    found
}
