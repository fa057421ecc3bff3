//! `GET /v1/admin/totals`: what the entries of days come to.

use axum::Json;
use axum::extract::State;
use ledger_core::keys::{TotalsGroup, TotalsOf};
use ledger_core::time::BusinessDate;
use ledger_runtime::app::App;
use ledger_runtime::cursor::PlacedCursor;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::figures::{Figures, FiguresView};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::Params;
use ledger_runtime::views::Page;

const BY_DAY: &str = "day";
const BY: &[&str] = &[BY_DAY, "merchant", "shop", "terminal"];

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/totals")
    .summary("Lists the totals of posting days: what their entries come to, by operation and asset.")
    .about(
        "A day is that of the entry's time in Japan, or a later one if the entry was sealed after its day was closed. A day is \
         closed about 15 minutes after its end, and its totals never change again; those of an open day are at most a minute \
         late. By merchant, by shop and by terminal, each item has the totals of all days from `from` to `to`, at most 400; one without entries on \
         these days may be listed with no totals.",
    )
    .permission(Permission::FiguresRead)
    .pages_of::<FiguresView>()
    .parameter(Parameter::in_query("from", "The first day, in Japan; today if absent.", Kind::Day))
    .parameter(Parameter::in_query("to", "The last day, in Japan; today if absent. No later day than today is listed.", Kind::Day))
    .parameter(Parameter::in_query("by", "`day` if absent.", Kind::Word(BY)))
    .when(Code::WrongState, "the tenant's records have no figures");

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<FiguresView>>, Problem> {
    let today = app.now().business_date();
    let days = params.past_days(today)?;
    let by = params.word("by", BY)?.unwrap_or(BY_DAY);
    let page = params.placed_page()?;
    params.finish()?;
    let group = TotalsGroup::ALL.into_iter().find(|group| group.name() == by);
    let tenant = who.tenant();
    for _ in 0..Figures::TRIES {
        let figures = Figures::read(&app, tenant, days.1).await?;
        let answer = match group {
            None => by_day(&figures, page.clone(), days).await?,
            Some(group) => {
                let (found, next_cursor) = figures.page(group, page.clone(), days).await?;
                let is_closed = figures.is_closed(days.1);
                let items = found.iter().map(|(of, sums)| FiguresView::of(*of, is_closed, sums)).collect();
                Page { items, next_cursor }
            }
        };
        if figures.are_unchanged().await? {
            return Ok(Json(answer));
        }
    }
    Err(Problem::unavailable())
}

/// A page of days, each with the tenant's figures.
async fn by_day(
    figures: &Figures<'_>,
    page: (usize, Option<PlacedCursor>),
    days: (BusinessDate, BusinessDate),
) -> Result<Page<FiguresView>, Problem> {
    let (days, next_cursor) = figures.day_page(TotalsOf::Tenant, page, days).await?;
    let mut items = Vec::new();
    for day in days {
        let mut item = FiguresView::of_day(TotalsOf::Tenant, &day)?;
        if !day.is_closed {
            let (active, opened) = figures.active(day.date).await?;
            item.active_customers = u64::try_from(active.customers.len()).ok();
            item.active_cards = u64::try_from(active.cards.len()).ok();
            item.new_customers = opened;
        }
        items.push(item);
    }
    Ok(Page { items, next_cursor })
}
