//! Builds what becomes of a job. The job and what it is about are read from the state.

use super::build::{Made, NoPlan};
use super::decode::{self, World};
use crate::{holders, wire};
use ledger_core::bank_files::{BankFile, BankTransfer, Content, FileJob as FileJobOfBank, FilePart};
use ledger_core::cards::batch::CardBatch;
use ledger_core::dynamo::{Item, Value};
use ledger_core::erasure::{Erasure, ErasureTexts};
use ledger_core::files::FileContent;
use ledger_core::grants::bulk::{self, GrantDetails, GrantJob};
use ledger_core::grants::grant::{self, Grant};
use ledger_core::ids::{CustomerId, JobId, StaffId};
use ledger_core::jobs::{
    self, Attempt, Counted, CursorJob, Details, Head, JobStop, Line, LineState, Outcome, Page, Taken,
};
use ledger_core::keys::{self, JobKind, Key, attr};
use ledger_core::money::{Amount, AssetSpec};
use ledger_core::previews::PreviewDetails;
use ledger_core::settlement_runs::{RunDetails, SettlementRun};
use ledger_core::transaction::Transaction;
use ledger_core::wind_downs::{WindDown, WindDownDetails};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// An optional field, `null` in the file if it is `None`.
type Maybe<T> = Option<T>;

/// A step of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's commands, where they are described")]
pub enum JobDoes {
    /// Grants to a customer, with the job's line.
    Grant { job: String, customer: String },
    /// Counts outcomes of subjects in flight, and takes those of the list that were found, by their places in the index.
    Advance { job: String, outcomes: BTreeMap<String, OutcomeIs>, found: Maybe<Vec<String>> },
    /// Issues the next cards.
    Issue { job: String, limit: u32 },
    /// Goes on without the next card.
    CardFailed { job: String, code: String },
    /// Erases the texts of a page: the partition and sort key of each record that was found.
    Erase { job: String, found: Vec<(String, String)>, limit: usize },
    /// Takes transfers into a bank file: those that were found, each by its day and settlement.
    Assign { job: String, transfers: Vec<String> },
    /// Fixes the content of a bank file.
    Fix { job: String },
    /// Ends the job of a bank file that was withdrawn meanwhile.
    Leave { job: String },
    /// A slice had no certain outcome.
    Pause { job: String },
    /// A person stops the job.
    Stop { job: String, staff: String, customer: Maybe<String> },
    /// Ends a job that a person stopped: the states of the lines that subjects in flight have.
    SettleStop { job: String, lines: BTreeMap<String, String> },
    /// A worker takes an attempt.
    Take { job: String },
    /// A worker records its progress.
    Progress { job: String, done: u32 },
    /// A worker leaves an attempt to another.
    GiveBack { job: String },
    /// A worker ends an attempt: its result as it is stored.
    Finish { job: String, done: u32, result: Maybe<Json> },
    /// An attempt has no result.
    Fail { job: String, code: String },
}

/// What became of a subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are those of the core's outcomes, where they are described")]
pub enum OutcomeIs {
    Listed(String),
    Unlisted,
    Failed { code: String, open: Maybe<Vec<String>> },
    Skipped { code: String },
    Uncertain(String),
}

pub(super) fn make(world: &World, does: &JobDoes) -> Result<Made, NoPlan> {
    let made = match does {
        JobDoes::Grant { job, customer } => return grant_to(world, job, decode::customer(customer)),
        JobDoes::Stop { job, staff, customer } => {
            let (tenant, reason) = (&world.tenant, decode::text("a mistake"));
            let customer = customer.as_deref().map(decode::customer);
            let stop = JobStop { tenant, staff: StaffId::parse(staff).unwrap(), customer, reason: &reason };
            let head = Head::read(item(world, job)).unwrap();
            return Ok(Made::Draft(jobs::plan_stop(&stop, &head, &world.cx)?.draft));
        }
        JobDoes::Advance { job, .. } | JobDoes::Pause { job } | JobDoes::SettleStop { job, .. } => {
            match kind(world, job) {
                JobKind::Grant => of_cursor::<GrantDetails>(world, does, customers_page),
                JobKind::WindDown => of_cursor::<WindDownDetails>(world, does, wind_down_page),
                JobKind::SettlementRun => of_cursor::<RunDetails>(world, does, run_page),
                JobKind::CardBatch => of_cursor(world, does, |_: &World, _: &CardBatch, _, _| Page::default()),
                JobKind::BankFile => of_cursor(world, does, |_: &World, _: &FileJobOfBank, _, _| Page::default()),
                JobKind::Erasure => of_cursor(world, does, |_: &World, _: &Erasure, _, _| Page::default()),
                other @ (JobKind::File | JobKind::TermsPreview) => panic!("{other:?} has no cursor"),
            }
        }
        JobDoes::Issue { job, limit } => Some(batch(world, job).issue(&world.tenant, *limit, world.cx.now).unwrap()),
        JobDoes::CardFailed { job, code } => {
            Some(batch(world, job).pass_over(&world.tenant, code, world.cx.now).unwrap())
        }
        JobDoes::Erase { job, found, limit } => {
            let (erasure, texts, items) = erasure(world, job, (found, *limit));
            Some(erasure.erase(&world.tenant, (&texts, &items), world.cx.now).unwrap())
        }
        JobDoes::Assign { job, transfers } => {
            let job = FileJobOfBank::read(item(world, job)).unwrap();
            let transfers: Vec<BankTransfer> = transfers.iter().map(|place| transfer(world, place)).collect();
            Some(job.assign(&world.tenant, (&file_of(world, &job), &transfers), world.cx.now).unwrap())
        }
        JobDoes::Leave { job } => {
            let job = FileJobOfBank::read(item(world, job)).unwrap();
            Some(job.leave(&world.tenant, world.cx.now).unwrap())
        }
        JobDoes::Fix { job } => {
            let job = FileJobOfBank::read(item(world, job)).unwrap();
            let file = file_of(world, &job);
            let parts = (1..=file.parts).map(|part| world.must(&keys::bank_file_part(&world.tenant, file.id, part)));
            let keys = parts.flat_map(|part| FilePart::read(part).unwrap().keys(&world.tenant));
            let transfers: Vec<BankTransfer> = keys.map(|key| BankTransfer::read(world.must(&key)).unwrap()).collect();
            let content = Content::of(&file, &transfers).unwrap();
            Some(job.fix(&world.tenant, (&file, &content), world.cx.now).unwrap())
        }
        JobDoes::Take { job }
        | JobDoes::Progress { job, .. }
        | JobDoes::GiveBack { job }
        | JobDoes::Finish { job, .. }
        | JobDoes::Fail { job, .. } => match kind(world, job) {
            JobKind::File => of_attempt::<FileContent>(world, job, does),
            JobKind::TermsPreview => of_attempt::<PreviewDetails>(world, job, does),
            other @ (JobKind::Grant
            | JobKind::CardBatch
            | JobKind::WindDown
            | JobKind::SettlementRun
            | JobKind::BankFile
            | JobKind::Erasure) => panic!("{other:?} is no attempt"),
        },
    };
    Ok(made.map_or(Made::Nothing, Made::Whole))
}

fn file_of(world: &World, job: &FileJobOfBank) -> BankFile {
    BankFile::read(world.must(&keys::bank_file(&world.tenant, job.details.file))).unwrap()
}

/// A transfer by its day and settlement: `2026-12-10#<settlement>`.
pub(super) fn transfer(world: &World, place: &str) -> BankTransfer {
    let (day, settlement) = BankTransfer::parse_place(place).unwrap();
    BankTransfer::read(world.must(&keys::bank_transfer(&world.tenant, day, settlement))).unwrap()
}

fn item<'a>(world: &'a World, job: &str) -> &'a Item {
    world.must(&keys::job(&world.tenant, JobId::parse(job).unwrap()))
}

fn kind(world: &World, job: &str) -> JobKind {
    Head::read(item(world, job)).unwrap().kind
}

fn batch(world: &World, job: &str) -> CardBatch {
    CardBatch::read(item(world, job)).unwrap()
}

fn grant_to(world: &World, job: &str, customer: CustomerId) -> Result<Made, NoPlan> {
    let job = GrantJob::read(item(world, job)).unwrap();
    let (tenant, actor, reason) = (world.tenant.clone(), job.head.actor(), job.head.reason.clone().unwrap());
    let spec = AssetSpec::finest(job.details.asset.clone());
    let amount = Amount::parse(&spec, &job.details.amount).unwrap();
    let planned = grant::plan(&Grant { tenant, actor, customer, amount, reason }, &world.terms(), &world.cx)?;
    Ok(Made::Draft(job.with_line(&world.tenant, planned).draft))
}

/// What a kind of job takes from its list.
type PageOf<D> = fn(&World, &CursorJob<D>, &Counted, &[String]) -> Page;

fn of_cursor<D: Details>(world: &World, does: &JobDoes, page: PageOf<D>) -> Option<Transaction> {
    let (tenant, now) = (&world.tenant, world.cx.now);
    let read = |job: &str| CursorJob::<D>::read(item(world, job)).unwrap();
    match does {
        JobDoes::Advance { job, outcomes, found } => {
            let job = read(job);
            let outcome = |(subject, is): (&String, &OutcomeIs)| (subject.clone(), outcome(world, subject, is));
            let counted = job.counted(&outcomes.iter().map(outcome).collect(), now);
            let page = found.as_ref().map(|found| page(world, &job, &counted, found));
            job.advance(tenant, (counted, page), now).unwrap()
        }
        JobDoes::Pause { job } => Some(read(job).pause(tenant, now).unwrap()),
        JobDoes::SettleStop { job, lines } => {
            let state = |(subject, state): (&String, &String)| (subject.clone(), LineState::parse(state).unwrap());
            Some(read(job).settle_stop(tenant, &lines.iter().map(state).collect(), now).unwrap())
        }
        other => panic!("no step of a cursor: {other:?}"),
    }
}

fn outcome(world: &World, subject: &str, is: &OutcomeIs) -> Outcome {
    let failed = |code: &str| Line::failed(subject, code, world.cx.now);
    match is {
        OutcomeIs::Listed(state) => Outcome::Listed(LineState::parse(state).unwrap()),
        OutcomeIs::Unlisted => Outcome::Unlisted,
        OutcomeIs::Failed { code, open } => Outcome::Line(Box::new(Line { open: open.clone(), ..failed(code) })),
        OutcomeIs::Skipped { code } => Outcome::Line(Box::new(Line { state: LineState::Skipped, ..failed(code) })),
        OutcomeIs::Uncertain(code) => Outcome::Uncertain(code.clone()),
    }
}

fn entries(found: &[String]) -> Vec<Item> {
    found.iter().map(|place| Item::from([(attr::OWNER_SK.to_owned(), Value::s(place))])).collect()
}

fn customers_page(world: &World, job: &GrantJob, counted: &Counted, _: &[String]) -> Page {
    let customers = bulk::customers(world.must(&keys::job_customers(&world.tenant, job.head.id))).unwrap();
    job.page(&customers, counted.room()).unwrap()
}

fn wind_down_page(_: &World, job: &WindDown, counted: &Counted, found: &[String]) -> Page {
    job.page(&entries(found), counted.room()).unwrap()
}

fn run_page(_: &World, _: &SettlementRun, counted: &Counted, found: &[String]) -> Page {
    SettlementRun::page(&entries(found), counted.room()).unwrap()
}

fn erasure(
    world: &World,
    job: &str,
    (found, limit): (&[(String, String)], usize),
) -> (Erasure, ErasureTexts, Vec<Item>) {
    let (tenant, job) = (&world.tenant, Erasure::read(item(world, job)).unwrap());
    let record = |(pk, sk): &(String, String)| world.must(&Key::stored(tenant, pk, sk).unwrap()).clone();
    let there = |keys: &[Key]| keys.iter().filter_map(|key| world.get(key).cloned()).collect::<Vec<Item>>();
    let slice = job.slice(tenant, &found.iter().map(record).collect::<Vec<_>>(), limit).unwrap();
    let sources = there(&slice.sources());
    let texts = slice.texts(tenant, &sources);
    let items = there(&texts.keys());
    (job, texts, items)
}

fn of_attempt<D: Details + Clone>(world: &World, job: &str, does: &JobDoes) -> Option<Transaction> {
    let (tenant, now) = (&world.tenant, world.cx.now);
    let seen = Attempt::<D>::read(item(world, job)).unwrap();
    let held = || holders::of_attempt(tenant, &seen, now);
    let built = match does {
        JobDoes::Take { .. } => match seen.take(tenant, now).unwrap()? {
            Taken::Begun(_, taking) => taking,
            Taken::TooOften(failing) => failing,
        },
        JobDoes::Progress { done, .. } => held().progress(*done, now).unwrap(),
        JobDoes::GiveBack { .. } => held().give_back(tenant, now).unwrap(),
        JobDoes::Finish { done, result, .. } => {
            let result = result
                .as_ref()
                .map(|result| Item::from([("result".to_owned(), Value::M(wire::item_from_json(result)))]));
            held().finish((*done, result.unwrap_or_default()), now).unwrap()
        }
        JobDoes::Fail { code, .. } => held().fail(code, now).unwrap(),
        other => panic!("no step of an attempt: {other:?}"),
    };
    Some(built)
}
