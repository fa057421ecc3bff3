//! Grants the bonuses on cash that settlements have covered.
//!
//! Two workers on one bonus grant it once, under a key made of the top-up's entry. A reversal that comes first takes
//! precedence.

use futures::future::join_all;
use ledger_core::account::Account;
use ledger_core::cards::bonus::{self, BonusState, CashBonus};
use ledger_core::crediting::PeriodId;
use ledger_core::dynamo::Attributes;
use ledger_core::idempotency::Admission;
use ledger_core::ids::{MerchantId, Tenant, TransactionId, least_born_at};
use ledger_core::keys::{self, Partition, Work, attr};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::reads;
use ledger_core::settlements::{ClosedPeriod, Coverage, Settlement};
use ledger_core::time::Timestamp;
use ledger_runtime::app::App;
use ledger_runtime::due::DueList;
use ledger_runtime::execute::ok;
use ledger_runtime::problem::Problem;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// The number of bonuses that are listed per query.
const BATCH_ITEMS: usize = 50;
/// The number of bonuses that are granted at once.
const CONCURRENCY: usize = 8;
/// A run starts nothing after this time: a function's time is limited, and a later run continues.
const RUN_TIME_MAX: Duration = Duration::from_secs(10);
/// The longest time between the instant in the id of a top-up's entry and its commit, by this worker's clock.
const COMMITTED_WITHIN: Duration = Duration::from_secs(15 * 60);

/// The result of a pass over the bonuses of a merchant.
#[derive(Clone, Copy, Debug, Default)]
struct Pass {
    /// The number of bonuses granted.
    granted: usize,
    /// Whether every bonus on covered cash that was listed is granted or reversed.
    is_complete: bool,
    /// The entry of the first bonus that is due and not covered.
    first_due: Option<TransactionId>,
}

/// Grants the bonuses of merchants with a paid settlement, and returns their number. A bonus that cannot be granted does not
/// stop the others, nor a merchant the others.
pub(crate) async fn run(app: &App, tenant: &Tenant, due: &mut DueList) -> Result<usize, Problem> {
    let began = Instant::now();
    let mut merchants = due_merchants(due).await?;
    // Each run starts with another merchant, so that no merchant waits for those whose settlements were paid before.
    let first = usize::try_from(app.ledger().entropy().jitter()).unwrap_or(0);
    let first = first.checked_rem(merchants.len()).unwrap_or(0);
    merchants.rotate_left(first);
    let (mut granted, mut fault) = (0_usize, None);
    for merchant in merchants {
        if began.elapsed() >= RUN_TIME_MAX {
            break;
        }
        match of_merchant(app, (tenant, merchant), began).await {
            Ok(count) => granted = granted.saturating_add(count),
            Err(problem) => {
                tracing::warn!(%tenant, %merchant, code = problem.code(), "cash bonuses of a merchant not all granted");
                fault = Some(problem);
            }
        }
    }
    fault.map_or(Ok(granted), Err)
}

/// The merchants that are due.
async fn due_merchants(due: &mut DueList) -> Result<Vec<MerchantId>, Problem> {
    let mut merchants = Vec::new();
    loop {
        let listed = due.next(Work::CoveredCash).await?;
        if listed.is_empty() {
            return Ok(merchants);
        }
        for merchant in &listed {
            merchants.push(merchant.id(MerchantId::parse)?);
        }
    }
}

/// Grants the bonuses of a merchant, and returns their number. Ends the merchant's due work once all that is covered are
/// granted or reversed: covered cash was sealed, so its bonuses are stored.
async fn of_merchant(app: &App, of: (&Tenant, MerchantId), began: Instant) -> Result<usize, Problem> {
    let (tenant, merchant) = of;
    let settling = app.dynamo().get(&keys::settling(tenant, merchant)).await?;
    let coverage = Coverage::read(settling.as_ref())?;
    let Some(covered_at) = coverage.covered_at.filter(|_| coverage.is_due) else { return Ok(0) };
    // A bonus that is stored during or after this pass has a later id.
    let listed_until = least_born_at(app.now().min(covered_at).minus(COMMITTED_WITHIN));
    let pass = pass(app, of, (&coverage, covered_at), began).await?;
    if pass.is_complete {
        let from = pass.first_due.map_or(listed_until, |first| first.uuid().min(listed_until));
        let from = coverage.bonuses_from.map_or(from, |before| before.uuid().max(from));
        let done = coverage.granted(of, TransactionId::new(from), app.now()).map_err(|error| {
            tracing::error!(%tenant, %merchant, %error, "granted cash bonuses cannot be recorded");
            Problem::internal()
        })?;
        // `false`: another settlement was paid meanwhile, and the merchant stays due.
        let _ = app.ledger().apply_as_read(tenant, Operation::CardBonus, &done).await?;
    }
    Ok(pass.granted)
}

/// Grants what is listed for a merchant and covered.
async fn pass(
    app: &App,
    of: (&Tenant, MerchantId),
    (coverage, covered_at): (&Coverage, Timestamp),
    began: Instant,
) -> Result<Pass, Problem> {
    let (tenant, merchant) = of;
    let listed = reads::cash_bonuses(tenant, merchant, coverage.bonuses_from, covered_at).limit(BATCH_ITEMS);
    let mut covered = BTreeMap::new();
    let (mut pass, mut fault, mut after) = (Pass::default(), None, None);
    while began.elapsed() < RUN_TIME_MAX {
        let items = app.dynamo().query(&listed.clone().after(after.take())).await?;
        let mut due = Vec::new();
        let mut open = Vec::new();
        for item in &items {
            match CashBonus::read(item) {
                Ok(bonus) if bonus.state == BonusState::Due => open.push(bonus),
                Ok(_) => {}
                Err(error) => fault = Some(error.into()),
            }
        }
        for few in open.chunks(CONCURRENCY) {
            for (bonus, found) in few.iter().zip(join_all(few.iter().map(|bonus| period_of(app, tenant, bonus))).await)
            {
                match if_covered(app, of, coverage, found, &mut covered).await {
                    Ok(true) => due.push(bonus.clone()),
                    Ok(false) => pass.first_due = pass.first_due.or(Some(bonus.entry)),
                    Err(problem) => fault = Some(problem),
                }
            }
        }
        for few in due.chunks(CONCURRENCY) {
            for granted in join_all(few.iter().map(|bonus| grant(app, tenant, bonus))).await {
                match granted {
                    Ok(granted) => pass.granted = pass.granted.saturating_add(usize::from(granted)),
                    Err(problem) => fault = Some(problem),
                }
            }
        }
        match items.last() {
            Some(last) if items.len() >= BATCH_ITEMS => after = Some(last.string(attr::SK)?),
            Some(_) | None => {
                pass.is_complete = true;
                break;
            }
        }
    }
    fault.map_or(Ok(pass), Err)
}

/// The period that the entry of a bonus's top-up was sealed into. An entry that is not sealed is in no period, and so in no
/// settlement.
async fn period_of(app: &App, tenant: &Tenant, bonus: &CashBonus) -> Result<Option<PeriodId>, Problem> {
    let home = Partition::account(tenant, Account::Card(bonus.card)).ok_or_else(Problem::internal)?;
    let entry = app.dynamo().get(&home.entry(bonus.entry)).await?.ok_or_else(Problem::internal)?;
    Ok(PeriodId::of_entry(&entry)?)
}

/// Whether a bonus's period is covered: as was read in this pass, or is read.
async fn if_covered(
    app: &App,
    of: (&Tenant, MerchantId),
    coverage: &Coverage,
    found: Result<Option<PeriodId>, Problem>,
    known: &mut BTreeMap<PeriodId, bool>,
) -> Result<bool, Problem> {
    let Some(period) = found? else { return Ok(false) };
    let is_covered = match known.get(&period) {
        Some(is_covered) => *is_covered,
        None => is_period_covered(app, of, coverage, period).await?,
    };
    known.insert(period, is_covered);
    Ok(is_covered)
}

/// Whether the settlement that has a closed period is covered.
async fn is_period_covered(
    app: &App,
    (tenant, merchant): (&Tenant, MerchantId),
    coverage: &Coverage,
    period: PeriodId,
) -> Result<bool, Problem> {
    let Some(closed) = app.dynamo().get(&period.key(tenant, merchant)).await? else { return Ok(false) };
    let Some(id) = ClosedPeriod::read(&closed)?.settlement else { return Ok(false) };
    let settlement = app.dynamo().get(&keys::settlement(tenant, merchant, id)).await?.ok_or_else(Problem::internal)?;
    Ok(coverage.covers(&Settlement::read(&settlement)?))
}

async fn read(app: &App, tenant: &Tenant, bonus: &CashBonus) -> Result<Option<CashBonus>, Problem> {
    let item = app.dynamo().get(&keys::cash_bonus(tenant, bonus.merchant, bonus.entry)).await?;
    Ok(item.as_ref().map(CashBonus::read).transpose()?)
}

/// Grants one bonus; returns whether this run granted it. It may be granted or reversed since it was listed.
async fn grant(app: &App, tenant: &Tenant, listed: &CashBonus) -> Result<bool, Problem> {
    let Some(seen) = read(app, tenant, listed).await? else { return Ok(false) };
    match seen.state {
        BonusState::Due => {}
        BonusState::Granted | BonusState::Reversed => return Ok(false),
    }
    let claim = seen.claim(tenant, app.now());
    let plan = async |cx: Context| {
        let terms = app.terms_at(tenant, cx.now).await?;
        let bonus = read(app, tenant, &seen).await?.ok_or_else(Problem::not_found)?;
        let card = app.card_in_use(tenant, bonus.card).await?;
        Ok(bonus::plan(tenant, (&bonus, card.as_ref()), &terms, &cx)?)
    };
    let render = |receipt: &bonus::BonusReceipt| ok(&Granted { transaction_id: receipt.transaction_id.to_string() });
    let outcome = app.perform(claim, Admission::Execute, plan, render).await;
    let fresh = !outcome.is_replay();
    if outcome.into_answer()?.status == 200 {
        return Ok(fresh);
    }
    // A reversal came first. Or the key is used up, and the bonus is due.
    match read(app, tenant, &seen).await?.map(|bonus| bonus.state) {
        Some(BonusState::Granted | BonusState::Reversed) => Ok(false),
        Some(BonusState::Due) | None => {
            tracing::error!(%tenant, entry = %seen.entry, "grant of a cash bonus refused, and the bonus is still due");
            Err(Problem::internal())
        }
    }
}

/// The stored response of a grant.
#[derive(Serialize)]
struct Granted {
    transaction_id: String,
}
