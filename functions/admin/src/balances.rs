//! Balances at a past instant, and the trial balance of a day.

use crate::customers;
use crate::transactions::existing;
use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::cards::record::CardRecord;
use ledger_core::figures::{AccountClass, Balances, Sums};
use ledger_core::keys::{self, Partition, TotalsOf};
use ledger_core::money::{Asset, Balance, Delta};
use ledger_core::time::{BusinessDate, Timestamp};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::figures::{Figures, balance_at, totals_status};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::permission;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{Params, PathOf};
use ledger_runtime::views::words;
use serde::Serialize;
use std::collections::BTreeSet;
use utoipa::ToSchema;

/// The balance of an asset.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AssetBalanceView {
    /// The asset.
    asset: String,
    /// The balance, held parts included.
    balance: String,
}

/// The balances of an account before an instant.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AccountBalanceView {
    /// The account, such as `customer:<id>` or `points_issued`.
    account: String,
    /// The instant.
    at: String,
    /// `closed` if the posting day of the instant is closed, so that the balances never change; else `provisional`.
    #[schema(value_type = words::TotalsStatus)]
    status: &'static str,
    /// The balances; those of zero are left out.
    balances: Vec<AssetBalanceView>,
}

/// A line of a trial balance.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TrialLineView {
    /// `customers`, `cards`, `merchants`, or one of the tenant's own accounts.
    accounts: String,
    /// The asset.
    asset: String,
    /// The sum of the balances at the beginning of the day, held parts included.
    opening: String,
    /// What the accounts gained on the day.
    gained: String,
    /// What the accounts lost on the day.
    lost: String,
    /// The sum of the balances at the end of the day, or now.
    closing: String,
}

/// The trial balance of a posting day. In each asset the balances of all lines sum to zero.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TrialBalanceView {
    /// The posting day.
    date: String,
    /// `closed` if the day is closed, so that the figures never change; else `provisional`.
    #[schema(value_type = words::TotalsStatus)]
    status: &'static str,
    /// The lines.
    lines: Vec<TrialLineView>,
}

const NO_FIGURES: &str = "the tenant's records have no figures";

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/accounts/{account}/balance")
    .summary("Returns the balances of an account at a past instant.")
    .about(
        "The balances are the sums of the entries before `at`, as far as they are sealed: those of the last minute may be \
         missing. An entry that was posted to a later day than its own counts from the beginning of that day. A customer's \
         also need `customers.read`, and a card's `cards.read`; the audit trail shows who read those of a customer or of a card \
         with an owner.",
    )
    .permission(Permission::FiguresRead)
    .parameter(Parameter::in_path(
        "account",
        "`customer:<id>`, `card:<id>`, `merchant:<id>`, or one of the tenant's own accounts.",
        Kind::Text("points_issued"),
    ))
    .parameter(Parameter::required_in_query(
        "at",
        "A past instant with its offset, `2026-04-01T00:00:00%2B09:00`, or a day in Japan, of which it is the end.",
        Kind::Text("2026-03-31"),
    ))
    .ok::<AccountBalanceView>("The balances")
    .when(Code::LegacyRecordUnreadable, "the legacy record has an invalid value; `attribute` names it")
    .when(Code::NotFound, "no such account")
    .when(Code::WrongState, NO_FIGURES);

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathOf(account): PathOf<String>,
    params: Params,
) -> Result<Json<AccountBalanceView>, Problem> {
    let account = Account::parse(&account).map_err(|_| Problem::not_found())?;
    let at = instant(params, app.now())?;
    let tenant = who.tenant();
    // What an owned card has says as much of its owner as the owner's own balances.
    let customer = match account {
        Account::Customer(id) => {
            permission::require(&app, &who.member(), Permission::CustomersRead).await?;
            let _ = existing(&app, &Partition::customer(tenant, id).profile()).await?;
            Some(id)
        }
        Account::Card(id) => {
            permission::require(&app, &who.member(), Permission::CardsRead).await?;
            CardRecord::read(&existing(&app, &keys::card(tenant, id)).await?)?.owner
        }
        Account::Merchant(id) => {
            let _ = app.merchant(tenant, id).await?;
            None
        }
        Account::Tenant(_) => None,
    };
    let found = balance_at(&app, tenant, account, at).await?;
    if let Some(customer) = customer {
        customers::record_read(&app, &who, customer).await?;
    }
    let balances = found.balances.iter();
    let balances = balances.map(|(asset, sum)| AssetBalanceView { asset: asset.to_string(), balance: sum.text() });
    Ok(Json(AccountBalanceView {
        account: account.to_string(),
        at: at.to_string(),
        status: totals_status(found.is_closed),
        balances: balances.collect(),
    }))
}

pub(crate) const TRIAL: Endpoint = Endpoint::get("/v1/admin/trial-balance")
    .summary("Returns the trial balance of a posting day.")
    .about(
        "The balance of each class of accounts at the beginning and the end of the day, and what they gained and lost. What one \
         entry moves within one account is in neither sum.",
    )
    .permission(Permission::FiguresRead)
    .parameter(Parameter::in_query("date", "The day, in Japan; today if absent.", Kind::Day))
    .ok::<TrialBalanceView>("The trial balance")
    .when(Code::WrongState, NO_FIGURES);

pub(crate) async fn trial(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<TrialBalanceView>, Problem> {
    let today = app.now().business_date();
    let date = params.date("date")?.unwrap_or(today);
    params.finish()?;
    if date > today {
        return Err(Problem::invalid_field("date", "must not be after today"));
    }
    for _ in 0..Figures::TRIES {
        let figures = Figures::read(&app, who.tenant(), date).await?;
        let days = figures.days(TotalsOf::Tenant, (date.days_before(1), date)).await?;
        if let ([before, day], true) = (days.as_slice(), figures.are_unchanged().await?) {
            let lines = trial_lines(&before.balances, &day.sums, &day.balances)?;
            return Ok(Json(TrialBalanceView { date: date.to_string(), status: totals_status(day.is_closed), lines }));
        }
    }
    Err(Problem::unavailable())
}

/// A line for each class of accounts that has a balance or that entries changed.
fn trial_lines(opening: &Balances, sums: &Sums, closing: &Balances) -> Result<Vec<TrialLineView>, Problem> {
    let changed = sums.lines.keys().map(|line| (line.accounts, line.asset.clone()));
    let known: BTreeSet<(AccountClass, Asset)> = opening.keys().chain(closing.keys()).cloned().chain(changed).collect();
    let line = |key: (AccountClass, Asset)| {
        let (mut gained, mut lost) = (Balance::zero(key.1.clone()), Balance::zero(key.1.clone()));
        for (_, moved) in sums.lines.iter().filter(|(line, _)| (line.accounts, &line.asset) == (key.0, &key.1)) {
            gained = gained.checked_plus(&moved.gained).map_err(|_| Problem::internal())?;
            lost = lost.checked_plus(&moved.lost).map_err(|_| Problem::internal())?;
        }
        Ok(TrialLineView {
            accounts: key.0.to_string(),
            asset: key.1.to_string(),
            opening: text(opening.get(&key)),
            gained: gained.text(),
            lost: lost.text(),
            closing: text(closing.get(&key)),
        })
    };
    known.into_iter().map(line).collect()
}

fn text(balance: Option<&Delta>) -> String {
    balance.map_or_else(|| "0".to_owned(), Delta::text)
}

/// Takes `at`: a past instant, or the end of a day that is over.
fn instant(mut params: Params, now: Timestamp) -> Result<Timestamp, Problem> {
    let text = params.require("at")?;
    params.finish()?;
    let day = BusinessDate::parse(&text).map(|day| day.bounds().1);
    let wrong = |_| {
        Problem::invalid_field(
            "at",
            "must be an instant, 2026-04-01T00:00:00Z (a + is sent as %2B), or a day, 2026-03-31",
        )
    };
    let at = day.or_else(|_| Timestamp::parse(&text)).map_err(wrong)?;
    if at > now {
        return Err(Problem::invalid_field("at", "must not be after the present"));
    }
    Ok(at)
}
