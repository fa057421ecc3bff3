//! `GET /v1/merchant/totals`: what the entries of days come to for the merchant.

use axum::Json;
use axum::extract::State;
use ledger_core::keys::{TotalsGroup, TotalsOf};
use ledger_core::time::BusinessDate;
use ledger_runtime::app::App;
use ledger_runtime::cursor::PlacedCursor;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::figures::{Figures, FiguresView};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::Params;
use ledger_runtime::views::Page;

const BY_DAY: &str = "day";
const BY_SHOP: &str = "shop";
const BY: &[&str] = &[BY_DAY, BY_SHOP];

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/merchant/totals")
    .summary("Lists the totals of posting days: what their entries changed of the merchant's balance, by operation and asset.")
    .about(
        "A day is closed about 15 minutes after its end in Japan, and its totals never change again; those of an open day are at \
         most a minute late. By shop, each item has the totals of all days from `from` to `to`, at most 400; one without entries on these \
         days may be listed with no totals.",
    )
    .permission(Permission::ShopRead)
    .pages_of::<FiguresView>()
    .parameter(Parameter::in_query("from", "The first day, in Japan; today if absent.", Kind::Day))
    .parameter(Parameter::in_query("to", "The last day, in Japan; today if absent. No later day than today is listed.", Kind::Day))
    .parameter(Parameter::in_query("by", "`day` if absent.", Kind::Word(BY)))
    .when(Code::WrongState, "the tenant's records have no figures");

pub(crate) async fn list(
    State(app): State<App>,
    who: Merchant,
    mut params: Params,
) -> Result<Json<Page<FiguresView>>, Problem> {
    let today = app.now().business_date();
    let days = params.past_days(today)?;
    let is_by_shop = params.word("by", BY)? == Some(BY_SHOP);
    let page = params.placed_page()?;
    params.finish()?;
    for _ in 0..Figures::TRIES {
        let figures = Figures::read(&app, who.tenant(), days.1).await?;
        let answer = if is_by_shop {
            let (found, next_cursor) =
                figures.page(TotalsGroup::Shops(Some(who.merchant_id())), page.clone(), days).await?;
            let is_closed = figures.is_closed(days.1);
            Page { items: found.iter().map(|(of, sums)| FiguresView::of(*of, is_closed, sums)).collect(), next_cursor }
        } else {
            by_day(&figures, TotalsOf::Merchant(who.merchant_id()), page.clone(), days).await?
        };
        if figures.are_unchanged().await? {
            return Ok(Json(answer));
        }
    }
    Err(Problem::unavailable())
}

async fn by_day(
    figures: &Figures<'_>,
    of: TotalsOf,
    page: (usize, Option<PlacedCursor>),
    days: (BusinessDate, BusinessDate),
) -> Result<Page<FiguresView>, Problem> {
    let (days, next_cursor) = figures.day_page(of, page, days).await?;
    let items = days.iter().map(|day| FiguresView::of_day(of, day)).collect::<Result<_, _>>()?;
    Ok(Page { items, next_cursor })
}
