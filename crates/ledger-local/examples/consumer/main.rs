//! A receiver of events, as another team would write it. It computes a balance for each account from events alone,
//! which are delivered at least once. Run it beside a running stack (`cargo run`):
//!
//! ```sh
//! cargo run -p ledger-local --example consumer
//! ```

mod book;

use book::Book;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::error::Error;
use std::io::Write;

const STACK: &str = "http://127.0.0.1:3000";

#[derive(Deserialize)]
struct Page {
    events: Vec<Box<RawValue>>,
    next: usize,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let stack = std::env::args().nth(1).unwrap_or_else(|| STACK.to_owned());
    let (mut book, mut after) = (Book::default(), 0);
    loop {
        let page = reqwest::get(format!("{stack}/dev/events?after={after}")).await?.error_for_status()?;
        let page: Page = serde_json::from_str(&page.text().await?)?;
        if page.events.is_empty() {
            break;
        }
        for event in &page.events {
            book.take(event.get())?;
        }
        after = page.next;
    }
    let mut out = std::io::stdout();
    writeln!(out, "{} transactions", book.transactions())?;
    for ((account, asset), balance) in book.balances() {
        writeln!(out, "{account:<50} {asset:<20} {balance:>12}")?;
    }
    Ok(())
}
