//! Lists of cards, and the card that gets what is returned to one that was replaced.

use crate::app::App;
use crate::cursor::Cursor;
use crate::problem::Problem;
use crate::request;
use crate::views::{CardView, Page};
use futures::future::try_join_all;
use ledger_core::card_state::{REPLACEMENTS_MAX, successor};
use ledger_core::cards::listing::{self, CardFilter};
use ledger_core::cards::record::CardRecord;
use ledger_core::cards::replace::predecessor;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::{CardId, CustomerId, Tenant};
use ledger_core::keys::{self, Key, Partition, Shards, attr};
use ledger_core::reads;

/// The most queries of each shard for one page of a list that shows some cards only.
const QUERIES_MAX: usize = 10;

impl App {
    /// The item of a card, or of the card that replaced it last; `None` if there is no such card.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn card_in_use(&self, tenant: &Tenant, card: CardId) -> Result<Option<Item>, Problem> {
        Ok(self.card_and_replacements(tenant, card).await?.pop())
    }

    /// The item of a card and of those that replaced it, in their order; empty if there is no such card.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub(crate) async fn card_and_replacements(&self, tenant: &Tenant, card: CardId) -> Result<Vec<Item>, Problem> {
        let (mut next, mut items) = (Some(card), Vec::new());
        for _ in 0..=REPLACEMENTS_MAX {
            let Some(card) = next else { break };
            let item = self.dynamo().get(&keys::card(tenant, card)).await?;
            next = item.as_ref().map(successor).transpose()?.flatten();
            items.extend(item);
        }
        Ok(items)
    }

    /// Puts the item of the card that replaced `card` last in the place of its own. `items` are those of `keys`, as read.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn follow_card(
        &self,
        (tenant, card): (&Tenant, Option<CardId>),
        keys: &[Key],
        items: &mut [Option<Item>],
    ) -> Result<(), Problem> {
        let at = card.and_then(|card| keys.iter().position(|key| *key == keys::card(tenant, card)));
        let Some(item) = at.and_then(|at| items.get_mut(at)) else { return Ok(()) };
        if let Some(next) = item.as_ref().map(successor).transpose()?.flatten() {
            *item = self.card_in_use(tenant, next).await?;
        }
        Ok(())
    }

    /// The cards of a customer; `None` if there is no such customer.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn cards_of(&self, tenant: &Tenant, owner: CustomerId) -> Result<Option<Vec<CardRecord>>, Problem> {
        let Some(profile) = self.dynamo().get(&Partition::customer(tenant, owner).profile()).await? else {
            return Ok(None);
        };
        self.cards_named(tenant, owner, &profile).await.map(Some)
    }

    /// The cards that a customer's profile names.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn cards_named(
        &self,
        tenant: &Tenant,
        owner: CustomerId,
        profile: &Item,
    ) -> Result<Vec<CardRecord>, Problem> {
        let keys: Vec<Key> = listing::cards_of(profile)?.into_iter().map(|card| keys::card(tenant, card)).collect();
        let found = if keys.is_empty() { Vec::new() } else { self.dynamo().get_many(&keys).await? };
        let cards = found.iter().flatten().map(CardRecord::read).collect::<Result<Vec<_>, _>>()?;
        // A replacement may be written between the two reads.
        Ok(cards.into_iter().filter(|card| card.owner == Some(owner)).collect())
    }

    /// The cards that a customer's profile names, and those of the customer that they replaced. A closed card is none of them.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub(crate) async fn cards_and_replaced(
        &self,
        tenant: &Tenant,
        owner: CustomerId,
        profile: &Item,
    ) -> Result<Vec<CardRecord>, Problem> {
        let (mut next, mut cards) = (listing::cards_of(profile)?, Vec::new());
        for _ in 0..=REPLACEMENTS_MAX {
            if next.is_empty() {
                break;
            }
            let keys: Vec<Key> = next.drain(..).map(|card| keys::card(tenant, card)).collect();
            for item in self.dynamo().get_many(&keys).await?.iter().flatten() {
                let card = CardRecord::read(item)?;
                // What an earlier card did before the customer had it is not the customer's.
                if card.owner == Some(owner) {
                    next.extend(predecessor(item)?);
                    cards.push(card);
                }
            }
        }
        Ok(cards)
    }

    /// A page of a tenant's cards, the largest id first. A page of some cards only may be short, and still have a cursor.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn cards(
        &self,
        tenant: &Tenant,
        filter: CardFilter,
        page: request::Page,
    ) -> Result<Page<CardView>, Problem> {
        let now = self.now();
        let mut after = page.cursor.map(|cursor| CardId::new(cursor.id()));
        let cursor = |after: Option<CardId>| after.map(|id| Cursor::after(id.uuid()).to_string());
        let mut items = Vec::new();
        for _ in 0..QUERIES_MAX {
            let (listed, is_last) = self.listed_cards(tenant, after, page.limit).await?;
            let keys: Vec<Key> = listed.iter().map(|card| keys::card(tenant, *card)).collect();
            let found = if keys.is_empty() { Vec::new() } else { self.dynamo().get_many(&keys).await? };
            for (id, found) in listed.into_iter().zip(found) {
                if items.len() >= page.limit {
                    return Ok(Page { items, next_cursor: cursor(after) });
                }
                after = Some(id);
                let card = found.as_ref().map(CardRecord::read).transpose()?;
                let admitted = card.filter(|card| filter.admits(card, now));
                items.extend(admitted.map(|card| CardView::at(&card, now)));
            }
            if is_last {
                return Ok(Page { items, next_cursor: None });
            }
        }
        Ok(Page { items, next_cursor: cursor(after) })
    }

    /// The listed cards after `after`, at most one more than `limit`, and whether these are all.
    async fn listed_cards(
        &self,
        tenant: &Tenant,
        after: Option<CardId>,
        limit: usize,
    ) -> Result<(Vec<CardId>, bool), Problem> {
        let most = limit.saturating_add(1);
        let query = |shard| {
            let query = reads::cards(tenant, shard).newest_first();
            query.after(after.map(|id| id.to_string())).limit(most)
        };
        let queries: Vec<_> = (0..Shards::CARDS.count()).map(query).collect();
        let entries = try_join_all(queries.iter().map(|query| self.dynamo().query(query))).await?;
        let ids = entries.iter().flatten().map(|entry| entry.parsed(attr::OWNER_SK, CardId::parse));
        let mut ids = ids.collect::<Result<Vec<_>, ItemError>>()?;
        ids.sort_by_key(|id| std::cmp::Reverse(id.uuid()));
        let is_last = ids.len() <= limit;
        ids.truncate(most);
        Ok((ids, is_last))
    }
}
