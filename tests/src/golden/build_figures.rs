//! Builds the transactions that close posting days and fold entries into the totals of days.

use super::build::{Made, NoPlan};
use super::build_files::{self, FileDoes};
use super::decode::World;
use ledger_core::dynamo::Item;
use ledger_core::figures::{
    ActiveAccounts, ClosedDay, ClosingFigures, DayTotals, Fold, Posted, TalliedEntry, Tally, balances_after, close,
    list_totals,
};
use ledger_core::keys::{self, Key, TotalsOf};
use ledger_core::sealing::lanes::Heads;
use ledger_core::time::BusinessDate;
use ledger_core::transaction::Transaction;
use serde::{Deserialize, Serialize};

/// What is done with the figures, as the items were read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum FiguresDoes {
    /// Closes a posting day.
    Close {
        /// The day.
        date: String,
    },
    /// Plans a batch of the fold.
    Plan {
        /// The last segment of each lane.
        to: Vec<u64>,
        /// The day that it finishes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finishes: Option<String>,
    },
    /// Completes the planned batch.
    Complete {},
    /// Adds every entry of the world to totals of a day.
    Add {
        /// What they are of.
        of: String,
        /// The day.
        date: String,
        /// The batch.
        batch: u64,
        /// The number of customers that were opened, if it finishes the day.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new_customers: Option<u64>,
    },
    /// Lists the accounts that the entries of the world changed.
    Active {
        /// The day.
        date: String,
        /// The batch.
        batch: u64,
    },
    /// What becomes of a file.
    File(FileDoes),
}

pub(super) fn make(world: &World, does: &FiguresDoes) -> Result<Made, NoPlan> {
    let (tenant, now) = (&world.tenant, world.cx.now);
    let date = |text: &str| BusinessDate::parse(text).unwrap();
    let fold = || world.get(&keys::fold(tenant)).map_or_else(Fold::new, |item| Fold::read(item).unwrap());
    let closed = |day: &str| ClosedDay::read(tenant, world.must(&keys::closed_day(tenant, date(day)))).unwrap();
    let built = match does {
        FiguresDoes::Close { date: day } => {
            let of_heads = |key: &Key| [keys::sk::LANES, keys::sk::LANE_HEAD].contains(&key.sk());
            let keys = world.keys_of(|_| true);
            let items: Vec<Item> = keys.iter().filter(|key| of_heads(key)).map(|key| world.must(key).clone()).collect();
            let heads = Heads::read(tenant, &items).unwrap().expect("the lanes are opened");
            close(tenant, date(day), &heads, now).unwrap()
        }
        FiguresDoes::Plan { to, finishes } => {
            let closed = finishes.as_deref().map(closed);
            fold().plan(tenant, to.clone(), closed.as_ref()).unwrap().1
        }
        FiguresDoes::Complete {} => fold().complete(tenant, now).unwrap().expect("a planned batch").1,
        FiguresDoes::Add { of, date: day, batch, new_customers } => {
            let (of, date) = (TotalsOf::parse(of).unwrap(), date(day));
            let seen = world.get(&keys::day_totals(tenant, of, date)).map(|item| DayTotals::read(item).unwrap());
            let tally = tally(world, date);
            let before = seen.clone().unwrap_or_else(|| DayTotals::none(of, date));
            let mut after = before.after(*batch, &tally.0[&date].sums[&of], tally.0[&date].span).unwrap();
            after.closing = new_customers.map(|new_customers| ClosingFigures {
                closed_at: closed(day).closed_at,
                balances: balances_after(&ledger_core::figures::Balances::new(), &after.sums).unwrap(),
                active_customers: 1,
                active_cards: 0,
                new_customers: Some(new_customers),
            });
            let listed = list_totals(tenant, of).filter(|_| seen.is_none());
            let actions = [after.put(tenant, seen.as_ref())].into_iter().chain(listed).chain([fold().part(tenant)]);
            Transaction::unkeyed(actions.collect()).unwrap()
        }
        FiguresDoes::Active { date: day, batch } => {
            let tally = tally(world, date(day));
            let list = ActiveAccounts::put(tenant, date(day), *batch, &tally.0[&date(day)], now);
            Transaction::unkeyed(vec![list.expect("active accounts"), fold().part(tenant)]).unwrap()
        }
        FiguresDoes::File(does) => return build_files::make(world, does),
    };
    Ok(Made::Whole(built))
}

/// What the entries of the world come to.
fn tally(world: &World, date: BusinessDate) -> Tally {
    let mut tally = Tally::default();
    for key in world.keys_of(|_| true).into_iter().filter(|key| key.entry().is_some()) {
        let entry = TalliedEntry::read(world.must(&key)).unwrap();
        tally.add(Posted { day: date, at: entry.created_at }, &entry).unwrap();
    }
    tally
}
