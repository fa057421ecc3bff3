//! A customer's own data as one file of JSON: what is stored about the customer, as the API shows it.
//!
//! A card that was closed is not in it: nothing of the customer names it. What staff did, and why, is not in it either: it has
//! data of the staff.

use super::{FileProgress, Made, PAGE};
use crate::app::App;
use crate::cursor::Cursor;
use crate::problem::Problem;
use crate::request::{HistoryListing, Listing, Page, TopupListing};
use crate::views::{BalanceView, CardView, CustomerView, HistoryView, LimitsView, TopupView};
use ledger_core::account::Account;
use ledger_core::dynamo::ItemError;
use ledger_core::ids::{CardId, CustomerId, Tenant};
use ledger_core::keys::Partition;
use ledger_core::lists::{HistoryFilter, TopupFilter};
use serde::Serialize;

/// The content of the file.
#[derive(Serialize)]
struct CustomerData {
    as_of: String,
    customer: CustomerView,
    balances: Vec<BalanceView>,
    limits: LimitsView,
    cards: Vec<CardData>,
    transactions: Vec<HistoryView>,
    topups: Vec<TopupView>,
}

#[derive(Serialize)]
struct CardData {
    card: CardView,
    transactions: Vec<HistoryView>,
}

pub(super) async fn write(
    app: &App,
    tenant: &Tenant,
    customer: CustomerId,
    progress: &mut FileProgress<'_>,
) -> Result<Made, Problem> {
    let (now, partition) = (app.now(), Partition::customer(tenant, customer));
    let profile = app.dynamo().get(&partition.profile()).await?.ok_or_else(Problem::not_found)?;
    let balances = app.dynamo().balances(&partition).await?;
    let mut rows = 0;
    let mut cards = Vec::new();
    for card in app.cards_and_replaced(tenant, customer, &profile).await? {
        let transactions = transactions(app, card_party(tenant, card.id), &mut rows, progress).await?;
        cards.push(CardData { card: CardView::at(&card, now), transactions });
    }
    let own = (partition, Account::Customer(customer));
    let transactions = transactions(app, own, &mut rows, progress).await?;
    let mut topups = Vec::new();
    let mut cursor = None;
    loop {
        let listing = Listing::from(Page { limit: PAGE, cursor });
        let page = app.topups(tenant, customer, &TopupListing { listing, filter: TopupFilter::default() }).await?;
        rows = count(rows, page.items.len());
        topups.extend(page.items);
        progress.record(rows).await?;
        let Some(next) = page.next_cursor else { break };
        cursor = Some(Cursor::parse(&next)?);
    }
    let data = CustomerData {
        as_of: now.to_string(),
        customer: CustomerView::read(&profile)?,
        balances: balances.iter().map(BalanceView::read).collect::<Result<_, ItemError>>()?,
        limits: LimitsView::of_customer(&*app.terms(tenant).await?, &balances, now)?,
        cards,
        transactions,
        topups,
    };
    let bytes = serde_json::to_vec_pretty(&data).map_err(|_| Problem::internal())?;
    Ok(Made { media_type: "application/json", extension: "json", bytes, rows })
}

/// All transactions of an account.
async fn transactions(
    app: &App,
    (partition, party): (Partition, Account),
    rows: &mut u64,
    progress: &mut FileProgress<'_>,
) -> Result<Vec<HistoryView>, Problem> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let listing = Listing::from(Page { limit: PAGE, cursor });
        let wanted = HistoryListing { listing, filter: HistoryFilter::default() };
        let page = app.history(&partition, party, &wanted).await?;
        *rows = count(*rows, page.items.len());
        all.extend(page.items);
        progress.record(*rows).await?;
        let Some(next) = page.next_cursor else { return Ok(all) };
        cursor = Some(Cursor::parse(&next)?);
    }
}

fn card_party(tenant: &Tenant, card: CardId) -> (Partition, Account) {
    (Partition::card(tenant, card), Account::Card(card))
}

fn count(rows: u64, more: usize) -> u64 {
    rows.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
}
