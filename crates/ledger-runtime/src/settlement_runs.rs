//! The runs that close merchants' periods, as they are shown: their lists, and what became of their settlements.

use crate::app::App;
use crate::cursor::PlacedCursor;
use crate::problem::Problem;
use ledger_core::ids::{JobId, Tenant};
use ledger_core::keys::{self, Key};
use ledger_core::reads;
use ledger_core::settlement_runs::{LineKind, LineStatus, RunSums, SettlementRun, SettlementRunLine, ToReview};
use ledger_core::settlements::Settlement;

/// The lines that are read at once.
const LINES_AT_ONCE: usize = 500;
/// The most lines of which the settlements are summed.
const LINES_MAX: usize = 5_000;
/// The most merchants that are named.
const NAMED_MAX: usize = 100;

/// A line of a run, with its settlement as it is.
#[derive(Clone, Debug)]
pub struct LineNow {
    /// The line.
    pub line: SettlementRunLine,
    /// The settlement, if one was opened.
    pub settlement: Option<Settlement>,
}

/// What became of the merchants of a run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The sums of its settlements.
    pub sums: RunSums,
    /// The merchants to which a person must see, up to a hundred.
    pub to_review: Vec<ToReview>,
    /// Whether the run is finished and every line of it was read.
    pub is_complete: bool,
}

impl App {
    /// A page of the lines of a run, by merchant: of `limit` lines those with a status, or all.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn settlement_run_lines(
        &self,
        (tenant, run): (&Tenant, JobId),
        status: Option<LineStatus>,
        (limit, cursor): (usize, Option<PlacedCursor>),
    ) -> Result<(Vec<LineNow>, Option<String>), Problem> {
        let prefix = keys::job_lines(None);
        let after = cursor.map(|cursor| format!("{prefix}{}", cursor.place()));
        let (lines, has_more) = self.lines_after((tenant, run), after, limit).await?;
        let next =
            lines.last().filter(|_| has_more).map(|last| PlacedCursor::after(&last.merchant.to_string()).to_string());
        let wanted = lines.into_iter().filter(|line| status.is_none_or(|status| status == line.status)).collect();
        Ok((self.lines_now(tenant, wanted).await?, next))
    }

    /// What became of the merchants of a run that was read. One that was not finished then may have more lines.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn settlement_run_report(&self, tenant: &Tenant, run: &SettlementRun) -> Result<RunReport, Problem> {
        let is_complete = run.finished_at.is_some();
        let mut report = RunReport { sums: RunSums::none(), to_review: Vec::new(), is_complete };
        let run = run.id;
        let (mut after, mut read) = (None, 0_usize);
        loop {
            let (lines, has_more) = self.lines_after((tenant, run), after.take(), LINES_AT_ONCE).await?;
            read = read.saturating_add(lines.len());
            after = lines.last().map(|last| keys::job_line(tenant, run, last.merchant).sk().to_owned());
            for LineNow { line, settlement } in self.lines_now(tenant, lines).await? {
                let to_review = match &settlement {
                    Some(settlement) => {
                        report.sums.add(settlement).map_err(|_| Problem::internal())?;
                        ToReview::of(settlement)
                    }
                    None => (line.status.kind() == LineKind::Stuck).then(|| ToReview {
                        merchant: line.merchant,
                        settlement: None,
                        why: line.status.name(),
                    }),
                };
                if report.to_review.len() < NAMED_MAX {
                    report.to_review.extend(to_review);
                } else if to_review.is_some() {
                    report.is_complete = false;
                }
            }
            if !has_more {
                return Ok(report);
            }
            if read >= LINES_MAX {
                return Ok(RunReport { is_complete: false, ..report });
            }
        }
    }

    async fn lines_after(
        &self,
        (tenant, run): (&Tenant, JobId),
        after: Option<String>,
        limit: usize,
    ) -> Result<(Vec<SettlementRunLine>, bool), Problem> {
        let query = reads::job_lines(tenant, run, None, after).limit(limit.saturating_add(1));
        let mut found = self.dynamo().query(&query).await?;
        let has_more = found.len() > limit;
        found.truncate(limit);
        Ok((found.iter().map(SettlementRunLine::read).collect::<Result<_, _>>()?, has_more))
    }

    async fn lines_now(&self, tenant: &Tenant, lines: Vec<SettlementRunLine>) -> Result<Vec<LineNow>, Problem> {
        let key = |line: &SettlementRunLine| Some(keys::settlement(tenant, line.merchant, line.settlement?));
        let wanted: Vec<Key> = lines.iter().filter_map(key).collect();
        let mut items = self.dynamo().get_many(&wanted).await?.into_iter();
        let with = |line: SettlementRunLine| {
            let item = line.settlement.and_then(|_| items.next().flatten());
            Ok(LineNow { settlement: item.as_ref().map(Settlement::read).transpose()?, line })
        };
        lines.into_iter().map(with).collect()
    }
}
