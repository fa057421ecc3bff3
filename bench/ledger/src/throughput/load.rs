//! Clients that pay: each on its own connection and thread, one payment after the other.

use crate::connection::Connection;
use crate::prepared::Party;
use crate::stats::Latencies;
use ledger_tests::http::world::new_key;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The time in which the clients connect, before the first sends.
const CONNECTING: Duration = Duration::from_millis(200);
const PATH: &str = "/v1/me/payments";

/// How many clients pay, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The number of clients.
    pub clients: u32,
    /// The time before the measured one.
    pub warm_up: Duration,
    /// The measured time.
    pub measured: Duration,
}

/// What the clients got.
#[derive(Clone, Debug)]
pub struct Load {
    /// The latencies of the payments that were answered in the measured time.
    pub latencies: Latencies,
    /// All payments that were answered.
    pub payments: usize,
    /// What each merchant was paid in them, in yen.
    pub paid: BTreeMap<String, u64>,
}

/// What one client got.
#[derive(Default)]
struct Answers {
    /// When each payment was answered, after the beginning, and how long it took.
    at: Vec<(Duration, Duration)>,
    paid: BTreeMap<String, u64>,
}

/// Pays from random payers to random merchants.
///
/// # Errors
/// The first answer that is not a payment, or a failed connection.
pub fn pay(address: SocketAddr, payers: &[Party], merchants: &[Party], plan: Plan) -> Result<Load, String> {
    let begins = Instant::now() + CONNECTING;
    let over = AtomicBool::new(false);
    let clients: Vec<Result<Answers, String>> = thread::scope(|scope| {
        let client = || scope.spawn(|| client(address, (payers, merchants), begins, plan, &over));
        let clients: Vec<_> = (0..plan.clients).map(|_| client()).collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| Err("a client panicked".to_owned())))
            .collect()
    });
    let (mut latencies, mut payments, mut paid) = (Vec::new(), 0, BTreeMap::new());
    let measured = plan.warm_up..plan.warm_up + plan.measured;
    for answers in clients {
        let answers = answers?;
        payments += answers.at.len();
        latencies.extend(answers.at.iter().filter(|(at, _)| measured.contains(at)).map(|(_, took)| *took));
        for (merchant, yen) in answers.paid {
            *paid.entry(merchant).or_default() += yen;
        }
    }
    Ok(Load { latencies: Latencies::new(latencies), payments, paid })
}

/// Pays until the time is over or another client has failed.
fn client(
    address: SocketAddr,
    (payers, merchants): (&[Party], &[Party]),
    begins: Instant,
    plan: Plan,
    over: &AtomicBool,
) -> Result<Answers, String> {
    let mut connection = Connection::open(address).map_err(|error| format!("no connection to {address}: {error}"))?;
    let tokens: Vec<String> = payers.iter().map(|payer| format!("Bearer {}", payer.token)).collect();
    let mut answers = Answers::default();
    thread::sleep(begins.saturating_duration_since(Instant::now()));
    let ends = begins + plan.warm_up + plan.measured;
    while Instant::now() < ends && !over.load(Ordering::Relaxed) {
        let merchant = &merchants[fastrand::usize(..merchants.len())].id;
        let yen = fastrand::u64(100..200);
        let key = new_key();
        let headers = [
            ("authorization", tokens[fastrand::usize(..tokens.len())].as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", key.as_str()),
        ];
        let body = format!(r#"{{"merchant_id":"{merchant}","amount":"{yen}"}}"#);
        let began = Instant::now();
        let answered = connection.post(PATH, &headers, &body);
        let now = Instant::now();
        let wrong = match &answered {
            Err(error) => Some(error.to_string()),
            Ok(answer) => {
                let says_it = answer.body.contains(merchant) && answer.body.contains(&format!(r#""amount":"{yen}""#));
                let is_paid = answer.status == 201 && says_it && !answer.head.contains("idempotent-replayed");
                (!is_paid).then(|| format!("{} {}", answer.status, answer.body))
            }
        };
        if let Some(wrong) = wrong {
            over.store(true, Ordering::Relaxed);
            return Err(format!("a payment was not answered with 201: {wrong}"));
        }
        answers.at.push((now.saturating_duration_since(begins), now - began));
        *answers.paid.entry(merchant.clone()).or_default() += yen;
    }
    Ok(answers)
}
