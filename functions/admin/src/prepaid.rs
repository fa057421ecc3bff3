//! `GET /v1/admin/prepaid-report`: figures of prepaid payment instruments at a base date.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use ledger_core::figures::{BaseDate, ExcludedAsset, PrepaidFlows, PrepaidInstrument, PrepaidReport, Sums};
use ledger_core::keys::TotalsOf;
use ledger_core::money::Balance;
use ledger_runtime::app::App;
use ledger_runtime::csv_file::{Cell, CsvFile};
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::figures::{Figures, totals_status};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::Params;
use ledger_runtime::views::words;
use serde::Serialize;
use utoipa::ToSchema;

/// What changed an instrument's unused balance in the half-year. `opening` plus `issued`, `granted`, `taken_over` and
/// `corrected`, less the others, is `unused`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PrepaidFlowsView {
    /// What was loaded for money. A load that was reversed is in it, and in `refunded`.
    issued: String,
    /// What was granted without payment.
    granted: String,
    /// What was taken over from a legacy model.
    taken_over: String,
    /// What was paid to merchants, less what they refunded.
    used: String,
    /// What was paid back in money.
    refunded: String,
    /// What lapsed.
    lapsed: String,
    /// What a payment provider took for disputes, less what it returned.
    disputed: String,
    /// The net sum of corrections.
    corrected: String,
}

/// A prepaid payment instrument: an asset that is used one to one with the yen.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PrepaidInstrumentView {
    /// The asset.
    asset: String,
    /// The unused balance at the base date before.
    opening: String,
    /// What changed it since.
    flows: PrepaidFlowsView,
    /// The unused balance: `wallets`, `cards` and `unclaimed` together.
    unused: String,
    /// Of it, what customers have.
    wallets: String,
    /// Of it, what cards have.
    cards: String,
    /// Of it, what the holders of closed accounts may claim.
    unclaimed: String,
}

/// An asset that is no prepaid payment instrument.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExcludedAssetView {
    /// The asset.
    asset: String,
    /// `not_paid_for`: it is issued without payment. `not_money`: it is no value in money.
    #[schema(value_type = words::PrepaidExclusion)]
    why: &'static str,
    /// What customers, cards and the holders of closed accounts have of it.
    unused: String,
}

/// The figures of a base date.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PrepaidReportView {
    /// The base date, 31 March or 30 September.
    date: String,
    /// The first day of the half-year.
    from: String,
    /// `closed` if the base date is closed, so that the figures never change; else `provisional`.
    #[schema(value_type = words::TotalsStatus)]
    status: &'static str,
    /// The instruments.
    instruments: Vec<PrepaidInstrumentView>,
    /// The other assets.
    excluded: Vec<ExcludedAssetView>,
    /// The unused balance of all instruments, in yen.
    unused: String,
    /// The least deposit in yen, half of `unused`; absent if that is ten million yen or less.
    #[serde(skip_serializing_if = "Option::is_none")]
    deposit: Option<String>,
    /// The last day for the deposit; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    deposit_due: Option<String>,
}

const COLUMNS: &[&str] = &[
    "date",
    "asset",
    "instrument",
    "opening",
    "issued",
    "granted",
    "taken_over",
    "used",
    "refunded",
    "lapsed",
    "disputed",
    "corrected",
    "unused",
    "wallets",
    "cards",
    "unclaimed",
    "deposit",
    "status",
];

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/prepaid-report")
    .summary("Returns the figures of prepaid payment instruments at a base date.")
    .about(
        "For the report and the deposit under Japan's Payment Services Act. Regional currencies count one to one with the yen, \
         also what was granted of them, because a holder's balance does not say what was paid for. As a file, each asset has a \
         row, and the sum in yen is the last one.",
    )
    .permission(Permission::FiguresRead)
    .parameter(Parameter::in_query(
        "date",
        "The base date: 31 March or 30 September. The last one that is over, if absent.",
        Kind::Day,
    ))
    .ok::<PrepaidReportView>("The figures")
    .or_csv()
    .when(Code::WrongState, "the tenant's records have no figures");

pub(crate) async fn get(State(app): State<App>, who: Admin, mut params: Params) -> Result<Response, Problem> {
    let today = app.now().business_date();
    let wrong = |why: &str| Problem::invalid_field("date", why);
    let base = match params.date("date")? {
        None => BaseDate::before(today),
        Some(date) => BaseDate::new(date).ok_or_else(|| wrong("must be 31 March or 30 September"))?,
    };
    let wants_csv = params.wants_csv()?;
    params.finish()?;
    if base.date() >= today {
        return Err(wrong("must be over"));
    }
    for _ in 0..Figures::TRIES {
        let figures = Figures::read(&app, who.tenant(), base.date()).await?;
        let opening = figures.balances_until(TotalsOf::Tenant, base.first_day().days_before(1)).await?;
        let closing = figures.balances_until(TotalsOf::Tenant, base.date()).await?;
        let mut sums = Sums::default();
        for day in figures.totals(TotalsOf::Tenant, (base.first_day(), base.date())).await?.values() {
            sums.merge(&day.sums).map_err(|_| Problem::internal())?;
        }
        if figures.are_unchanged().await? {
            let report = PrepaidReport::new(&opening, &sums, &closing).map_err(|_| Problem::internal())?;
            let status = totals_status(figures.is_closed(base.date()));
            return if wants_csv {
                file(base, status, &report).map(IntoResponse::into_response)
            } else {
                Ok(Json(PrepaidReportView::new(base, status, &report)).into_response())
            };
        }
    }
    Err(Problem::unavailable())
}

/// A row for each asset, and one for the sum.
fn file(base: BaseDate, status: &'static str, report: &PrepaidReport) -> Result<CsvFile, Problem> {
    let none = Cell::plain("");
    // The status is the last column of each row.
    let width = COLUMNS.len().saturating_sub(1);
    let instrument = |of: &PrepaidInstrument| {
        let PrepaidFlows { issued, granted, taken_over, used, refunded, lapsed, disputed, corrected } = &of.flows;
        let sums = [
            &of.opening,
            issued,
            granted,
            taken_over,
            used,
            refunded,
            lapsed,
            disputed,
            corrected,
            &of.unused,
            &of.wallets,
            &of.cards,
            &of.unclaimed,
        ];
        let mut row = vec![Cell::plain(base.date()), Cell::plain(&of.asset), Cell::plain("yes")];
        row.extend(sums.map(|sum: &Balance| Cell::plain(sum.text())));
        row.push(none.clone());
        row
    };
    let excluded = |of: &ExcludedAsset| {
        let mut row = vec![Cell::plain(base.date()), Cell::plain(&of.asset), Cell::plain(of.why.name())];
        row.resize(width, none.clone());
        if let Some(unused) = row.get_mut(UNUSED_COLUMN) {
            *unused = Cell::plain(of.unused.text());
        }
        row
    };
    let mut sum = vec![Cell::plain(base.date()), Cell::plain("JPY"), Cell::plain("sum")];
    sum.resize(width, none.clone());
    if let Some(unused) = sum.get_mut(UNUSED_COLUMN) {
        *unused = Cell::plain(report.unused.text());
    }
    if let (Some(last), Some(deposit)) = (sum.last_mut(), &report.deposit) {
        *last = Cell::plain(deposit.text());
    }
    let rows = report.instruments.iter().map(instrument).chain(report.excluded.iter().map(excluded)).chain([sum]);
    let rows = rows.map(|row| row.into_iter().chain([Cell::plain(status)]).collect());
    CsvFile::new(&format!("prepaid-{}", base.date()), COLUMNS, rows)
}

/// The column of the unused balance.
const UNUSED_COLUMN: usize = 12;

impl PrepaidReportView {
    fn new(base: BaseDate, status: &'static str, report: &PrepaidReport) -> Self {
        let excluded = |of: &ExcludedAsset| ExcludedAssetView {
            asset: of.asset.to_string(),
            why: of.why.name(),
            unused: of.unused.text(),
        };
        Self {
            date: base.date().to_string(),
            from: base.first_day().to_string(),
            status,
            instruments: report.instruments.iter().map(PrepaidInstrumentView::new).collect(),
            excluded: report.excluded.iter().map(excluded).collect(),
            unused: report.unused.text(),
            deposit: report.deposit.as_ref().map(Balance::text),
            deposit_due: report.deposit.as_ref().map(|_| base.deposit_due().to_string()),
        }
    }
}

impl PrepaidInstrumentView {
    fn new(of: &PrepaidInstrument) -> Self {
        let flows = &of.flows;
        Self {
            asset: of.asset.to_string(),
            opening: of.opening.text(),
            flows: PrepaidFlowsView {
                issued: flows.issued.text(),
                granted: flows.granted.text(),
                taken_over: flows.taken_over.text(),
                used: flows.used.text(),
                refunded: flows.refunded.text(),
                lapsed: flows.lapsed.text(),
                disputed: flows.disputed.text(),
                corrected: flows.corrected.text(),
            },
            unused: of.unused.text(),
            wallets: of.wallets.text(),
            cards: of.cards.text(),
            unclaimed: of.unclaimed.text(),
        }
    }
}
