//! The runs that close merchants' periods, as they are shown: what became of their settlements.

use crate::app::App;
use crate::cursor::PlacedCursor;
use crate::problem::Problem;
use ledger_core::dynamo::ItemError;
use ledger_core::ids::{JobId, MerchantId, Tenant};
use ledger_core::jobs::{Head, JobState, Line, LineState};
use ledger_core::keys::{self, Key};
use ledger_core::settlement_runs::{RunSums, ToReview, merchant_of};
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
    pub line: Line,
    /// The merchant.
    pub merchant: MerchantId,
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
    /// Whether the run is done and every line of it was read.
    pub is_complete: bool,
}

impl App {
    /// A page of the lines of a run, by merchant: of `limit` lines those in a state, or all.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn settlement_run_lines(
        &self,
        (tenant, run): (&Tenant, JobId),
        state: Option<LineState>,
        page: (usize, Option<PlacedCursor>),
    ) -> Result<(Vec<LineNow>, Option<String>), Problem> {
        let (lines, next) = self.job_lines((tenant, run), state, page).await?;
        Ok((self.lines_now(tenant, lines).await?, next))
    }

    /// What became of the merchants of a run that was read. One that had not ended then may have more lines.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn settlement_run_report(&self, tenant: &Tenant, run: &Head) -> Result<RunReport, Problem> {
        let is_complete = run.state == JobState::Done;
        let mut report = RunReport { sums: RunSums::none(), to_review: Vec::new(), is_complete };
        let (mut after, mut read) = (None::<String>, 0_usize);
        loop {
            let lines = self.lines_after((tenant, run.id), after.as_deref(), LINES_AT_ONCE).await?;
            let has_more = lines.len() >= LINES_AT_ONCE;
            read = read.saturating_add(lines.len());
            after = lines.last().map(|last| last.subject.clone());
            for LineNow { line, merchant, settlement } in self.lines_now(tenant, lines).await? {
                let to_review = match &settlement {
                    Some(settlement) => {
                        report.sums.add(settlement).map_err(|_| Problem::internal())?;
                        ToReview::of(settlement)
                    }
                    None => (line.state == LineState::Failed).then(|| ToReview {
                        merchant,
                        settlement: None,
                        why: line.code.unwrap_or_default(),
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

    async fn lines_now(&self, tenant: &Tenant, lines: Vec<Line>) -> Result<Vec<LineNow>, Problem> {
        let of = |line: Line| merchant_of(&line).map(|merchant| (line, merchant));
        let lines = lines.into_iter().map(of).collect::<Result<Vec<_>, ItemError>>()?;
        let key =
            |(line, merchant): &(Line, MerchantId)| Some(keys::settlement(tenant, *merchant, line.settlement_id?));
        let wanted: Vec<Key> = lines.iter().filter_map(key).collect();
        let mut items = self.dynamo().get_many(&wanted).await?.into_iter();
        let with = |(line, merchant): (Line, MerchantId)| {
            let item = line.settlement_id.and_then(|_| items.next().flatten());
            Ok(LineNow { settlement: item.as_ref().map(Settlement::read).transpose()?, line, merchant })
        };
        lines.into_iter().map(with).collect()
    }
}
