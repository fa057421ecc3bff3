//! A customer's timeline: transactions, top-ups and acts of the staff in one list, newest first.
//!
//! Each source is sorted by ids, which begin with their time. So the newest items of each give the newest of all, and the
//! place of a page is one id, however many items have the same instant.

use crate::app::App;
use crate::lists::{Found, cursor};
use crate::problem::Problem;
use crate::request::Listing;
use crate::views::{ActView, HistoryView, Page, TimelineView, TopupView};
use futures::future::try_join;
use ledger_core::account::Account;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::{CustomerId, Tenant, born_at, least_born_at};
use ledger_core::journal::HistoryLine;
use ledger_core::keys::{Key, Partition, Recorded, attr};
use ledger_core::reads;
use ledger_core::topups::TopupRecord;
use uuid::Uuid;

/// An item of a timeline.
enum Source {
    /// A journal entry, or a reference to one.
    Line(Item),
    /// The key of a top-up or of an act.
    Listed(Key),
}

impl App {
    /// A page of a customer's timeline.
    ///
    /// Entries are read consistently. Top-ups and acts are listed by an index: one that was just written may be missing.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn timeline(
        &self,
        tenant: &Tenant,
        customer: CustomerId,
        listing: Listing,
    ) -> Result<Page<TimelineView>, Problem> {
        let (limit, read) = (listing.page.limit, listing.page.limit.saturating_add(1));
        let partition = Partition::customer(tenant, customer);
        let queries = vec![
            reads::topups(tenant, customer, listing.from).newest_first(),
            reads::acts_of(tenant, customer, listing.from).newest_first(),
        ];
        let lines = async { Ok(self.dynamo().history(&partition, (listing.from, listing.after()), read).await?) };
        let (lines, listed) = try_join(lines, self.newest_entries(queries, listing, read)).await?;
        let key = |entry: &Item| Key::stored(tenant, entry.key_text(attr::PK)?, entry.key_text(attr::SK)?);
        let lines = Found::sorted(lines, "transaction_id", read)?.into_items();
        let mut found: Vec<(Uuid, Source)> = lines.into_iter().map(|(id, line)| (id, Source::Line(line))).collect();
        for (id, entry) in listed.into_items() {
            found.push((id, Source::Listed(key(&entry).ok_or_else(|| ItemError::invalid(attr::PK))?)));
        }
        // A line of a legacy model may be earlier than what was asked for.
        let least = listing.from.map(least_born_at);
        found.retain(|(id, _)| least.is_none_or(|least| least <= *id));
        found.sort_by(|(a, _), (b, _)| b.cmp(a));
        let is_all = found.len() <= limit;
        found.truncate(limit);
        let next_cursor = if is_all { None } else { cursor(found.last().map(|(id, _)| *id)) };
        Ok(Page { items: self.timeline_views(customer, found).await?, next_cursor })
    }

    /// The views of items that exist, in their order.
    async fn timeline_views(
        &self,
        customer: CustomerId,
        found: Vec<(Uuid, Source)>,
    ) -> Result<Vec<TimelineView>, Problem> {
        let keys = found.iter().filter_map(|(_, source)| match source {
            Source::Listed(key) => Some(key.clone()),
            Source::Line(_) => None,
        });
        let keys: Vec<Key> = keys.collect();
        let records = if keys.is_empty() { Vec::new() } else { self.dynamo().get_many(&keys).await? };
        let mut records = records.into_iter();
        let mut views = Vec::with_capacity(found.len());
        for (id, source) in found {
            let at = born_at(id).map(|at| at.to_string()).unwrap_or_default();
            let view = match source {
                Source::Line(line) => {
                    let line = HistoryLine::read(&line, Some(Account::Customer(customer)))?;
                    Some(TimelineView {
                        transaction: Some(HistoryView::from(line)),
                        ..TimelineView::of("transaction", at)
                    })
                }
                Source::Listed(key) => match records.next().flatten() {
                    Some(record) => listed(customer, &key, &record, at)?,
                    None => None,
                },
            };
            views.extend(view);
        }
        Ok(views)
    }
}

/// The view of a top-up or of an act; `None` if the record is of another customer.
fn listed(customer: CustomerId, key: &Key, record: &Item, at: String) -> Result<Option<TimelineView>, ItemError> {
    if key.recorded() == Some(Recorded::Act) {
        let is_about = record.text("subject")? == Account::Customer(customer).to_string();
        let act = is_about.then(|| ActView::read(record)).transpose()?;
        return Ok(act.map(|act| TimelineView { act: Some(act), ..TimelineView::of("act", at) }));
    }
    let topup = TopupRecord::read(record)?;
    let is_own = topup.customer == customer;
    Ok(is_own.then(|| TimelineView { topup: Some(TopupView::from(&topup)), ..TimelineView::of("topup", at) }))
}
