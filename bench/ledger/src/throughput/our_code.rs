//! What our code alone would do: payments in this process, over the engine and over a store that answers at once.

use crate::inside::{Answered, Canned, Inside, Payment};
use crate::prepared::Prepared;
use crate::process::ProcessorTime;
use crate::stats::Latencies;
use std::time::Duration;

/// Payments before the measured ones: caches, connections, memory.
const WARM_UP: u32 = 200;
const TENANT: &str = "demo";

/// The times of one payment at a time.
#[derive(Clone, Debug)]
pub struct OurCode {
    /// The number of payments, over each store.
    pub payments: u32,
    /// Whole requests over the engine.
    pub requests: Latencies,
    /// Their time in the store's calls.
    pub in_store: Latencies,
    /// Their time in our code: the difference, for each.
    pub in_our_code: Latencies,
    /// Whole requests over a store that answers at once.
    pub alone: Latencies,
    /// The processor time of one of these.
    pub processor: Duration,
}

/// Pays `payments` times over the engine, then as often over a store that answers at once.
///
/// # Errors
/// If an answer is not a payment, or one has not exactly one call with its marker.
pub async fn measure_our_code(prepared: &Prepared, payments: u32) -> Result<OurCode, String> {
    let running = prepared.run().map_err(|error| format!("the data file cannot be copied: {error}"))?;
    let inside = Inside::over(&running.process.dynamodb_url, &running.process.table, TENANT).await;
    let pay = async || -> Result<Answered, String> {
        let answered = inside.pay(&Payment::random(&prepared.payers, &prepared.merchants)).await;
        answered.paid()?;
        match answered.keyed_calls() {
            1 => Ok(answered),
            other => Err(format!("a payment made {other} calls with its marker, of 1")),
        }
    };
    for _ in 0..WARM_UP {
        pay().await?;
    }
    let (mut requests, mut in_store, mut in_our_code) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..payments {
        let answered = pay().await?;
        requests.push(answered.took);
        in_store.push(answered.in_store());
        in_our_code.push(answered.in_our_code());
    }
    let mut alone = Vec::new();
    let before = ProcessorTime::of(std::process::id());
    for _ in 0..payments {
        inside.store.answer_next(Canned::applied());
        alone.push(pay().await?.in_our_code());
    }
    let after = ProcessorTime::of(std::process::id());
    let (before, after) = before.zip(after).ok_or("processor times are read from /proc, on Linux")?;
    let [requests, in_store, in_our_code, alone] = [requests, in_store, in_our_code, alone].map(Latencies::new);
    let processor = after.since(before).total() / payments.max(1);
    Ok(OurCode { payments, requests, in_store, in_our_code, alone, processor })
}

impl OurCode {
    /// The payments a second for which the processor time of so many processors is enough.
    #[must_use]
    pub fn per_second(&self, processors: usize) -> u128 {
        let second = Duration::from_secs(1).as_nanos() * u128::try_from(processors).unwrap_or(1);
        second.checked_div(self.processor.as_nanos()).unwrap_or_default()
    }
}
