//! The check of the books after a run: every payment that was answered is in the ledger once, and the merchants are
//! owed their sum.

use super::load::Load;
use crate::prepared::Party;
use ledger_tests::http::{Call, Who, World};
use std::time::{Duration, Instant};

/// The longest wait for the workers to credit the merchants.
const CREDITED_WITHIN: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(250);

/// What the check found right.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    /// What was not credited to the merchants when the last payment was answered, in yen.
    pub uncredited_at_end: u64,
    /// How long the workers then took to credit all of it.
    pub credited_after: Duration,
    /// The rows of the tenant.
    pub rows: usize,
}

/// Waits until the merchants are credited, and audits the tenant's rows.
///
/// # Errors
/// What is wrong.
pub async fn check(world: &World, merchants: &[Party], load: &Load) -> Result<Checked, String> {
    let began = Instant::now();
    let mut uncredited_at_end = None;
    loop {
        let mut uncredited = 0;
        for merchant in merchants {
            let paid = load.paid.get(&merchant.id).copied().unwrap_or_default();
            uncredited += balance(world, merchant, paid).await?;
        }
        uncredited_at_end.get_or_insert(uncredited);
        if uncredited == 0 {
            break;
        }
        if began.elapsed() > CREDITED_WITHIN {
            return Err(format!("{uncredited} yen are not credited after {} s", CREDITED_WITHIN.as_secs()));
        }
        tokio::time::sleep(POLL).await;
    }
    let credited_after = began.elapsed();
    let books = world.books().await;
    let mut wrong: Vec<String> =
        books.findings().iter().chain(&books.findings_when_credited()).map(ToString::to_string).collect();
    let mut equal = |what: &str, stored: usize| {
        if stored != load.payments {
            wrong.push(format!("{stored} {what} of {} answered payments", load.payments));
        }
    };
    equal("journal entries", books.entries_of("pay"));
    equal("payment records", books.under("PAYMENT").count());
    equal("markers", books.under("card_op_idem#pay#").count());
    for merchant in merchants {
        let (paid, posted) = (
            load.paid.get(&merchant.id).copied().unwrap_or_default(),
            books.posted(&format!("merchant:{}", merchant.id), "ECOPAY"),
        );
        if posted != paid.into() {
            wrong.push(format!("{posted} yen are posted to the merchant {}, who was paid {paid}", merchant.id));
        }
    }
    if wrong.is_empty() {
        let uncredited_at_end = uncredited_at_end.unwrap_or_default();
        return Ok(Checked { uncredited_at_end, credited_after, rows: books.rows.len() });
    }
    Err(format!("the books are wrong: {}", wrong.join("; ")))
}

/// What is not credited to a merchant, in yen. Credited and uncredited must be what the merchant was paid.
async fn balance(world: &World, merchant: &Party, paid: u64) -> Result<u64, String> {
    let call = Call::get("/v1/merchant/balances", &Who::Bearer(merchant.token.clone()));
    let answer = world.api.settle(&call).await;
    if answer.status != 200 {
        return Err(format!("no balances of a merchant: {answer:?}"));
    }
    let json = answer.json();
    let all = json["balances"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(balance) = all.iter().find(|balance| balance["asset"] == "ECOPAY") else {
        return if paid == 0 { Ok(0) } else { Err(format!("a merchant was paid {paid} and has no balance")) };
    };
    let yen = |name: &str| balance[name].as_str().and_then(|text| text.parse::<u64>().ok());
    match (yen("credited"), yen("uncredited")) {
        (Some(credited), Some(uncredited)) if credited + uncredited == paid => Ok(uncredited),
        _ => Err(format!("a merchant was paid {paid} and is owed {balance}")),
    }
}
