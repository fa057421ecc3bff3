//! Two settlements, the files that pay them, and everything that a worker or a person may do next, made of the core alone on the
//! model's table.

mod opening;

use ledger_core::bank::{AccountKind, BankParts, Sender, SenderParts};
use ledger_core::bank_files::{
    BankFile, BankFileState, BankTransfer, Content, FileAcceptance, FileChange, FileDebit, FileEnd, FileJob, FilePart,
    FileStart, FileStep, SLICE_TRANSFERS, plan_accept, plan_debit, plan_end, plan_start,
};
use ledger_core::dynamo::Item;
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Answer, CanonicalRequest, Claim, Fields, IdempotencyKey, MarkerKeys, Window};
use ledger_core::ids::{
    Actor, AuditId, BankFileId, MerchantId, Principal, SettlementId, StaffId, Tenant, TransactionId,
};
use ledger_core::jobs::Next;
use ledger_core::keys::{self, Key, attr};
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::plan::{Context, PlanRefusal};
use ledger_core::reads;
use ledger_core::settlements::{Move, ReturnedTransfer, SeenTransfer, Settlement, Step, Task, next_move, plan_return};
use ledger_core::terms::TenantTerms;
use ledger_core::time::{BusinessDate, Timestamp};
use ledger_core::transaction::{Draft, Role, Transaction, Verdict};
use ledger_tests::audit::{Audit, Sums, full_rows};
use ledger_tests::declared;
use ledger_tests::legacy;
use ledger_tests::model::Model;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use uuid::Uuid;

/// The tenant.
pub(crate) const TENANT: &str = "demo";
/// What each settlement pays, in yen, and on which day. The file of a day takes what is booked for several days in several slices.
pub(crate) const PAID: [(u64, &str); 2] = [(1000, "2026-12-10"), (700, "2026-12-11")];
/// The cut of the first day's file. The bank takes it until two hours later.
const CUT_AT: &str = "2026-12-09T01:00:00Z";
const ACCEPT_BY: &str = "2026-12-09T03:00:00Z";
/// Who records that the bank has accepted a file.
const FIRST: u128 = 0x51;
/// Another person.
const SECOND: u128 = 0x52;

static OF: LazyLock<Tenant> = LazyLock::new(|| Tenant::parse(TENANT).unwrap());
static NOW: LazyLock<Timestamp> = LazyLock::new(|| at(CUT_AT));
static KEYS: LazyLock<MarkerKeys> = LazyLock::new(declared::keys);
static TERMS: LazyLock<TenantTerms> = LazyLock::new(legacy::terms);
static SENDER: LazyLock<Sender> =
    LazyLock::new(|| Sender::new(&SenderParts { code: "1234567890", account: parts("7654321") }).unwrap());
static NOTE: LazyLock<FreeText> = LazyLock::new(|| FreeText::parse("as the bank says", 140).unwrap());

/// What happens next. Files and transfers are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A settlement books its transfer.
    Book(usize),
    /// A file is begun for what is booked.
    Cut,
    /// A worker reads a file's job, and runs its next slice.
    Slice(usize),
    /// A person records that the bank has accepted a file.
    Accept(usize),
    /// A person records that the bank has debited a file: another one than who accepted it, or the same.
    Debit(usize, bool),
    /// Two people change a file.
    End(usize, FileChange),
    /// A file is begun for what a file has that is over.
    Supersede(usize),
    /// Two people record that a transfer was returned.
    Return(usize),
    /// A worker reports that a person has not recorded something of a file.
    Report(usize),
}

/// What an event would do to the table as it is read.
pub(crate) enum Plan {
    /// There is nothing that it is about.
    Nothing,
    /// The request is refused.
    Refused(Failure),
    /// This is to be written.
    Write(Transaction),
}

/// The table as it is read, and how much was planned and written: each plan has a key and ids of its own.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) table: Model,
    pub(crate) files: Vec<Arc<SeenFile>>,
    pub(crate) settlements: Vec<Arc<SeenSettlement>>,
    /// The sums of the entries, by account and asset.
    pub(crate) posted: Sums,
    age: u128,
    limits: Limits,
}

/// How much there is at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The files.
    pub(crate) files: usize,
    /// The files that take transfers at once.
    pub(crate) jobs: usize,
}

/// A file, with its job and parts.
pub(crate) struct SeenFile {
    pub(crate) file: BankFile,
    pub(crate) job: FileJob,
    /// The numbers of the transfers of each part.
    pub(crate) parts: Vec<Vec<usize>>,
    pub(crate) is_due: bool,
    pub(crate) is_job_due: bool,
}

/// A settlement, with its transfer.
pub(crate) struct SeenSettlement {
    pub(crate) settlement: Settlement,
    pub(crate) transfer: Option<BankTransfer>,
    pub(crate) is_due: bool,
}

impl World {
    /// The same table after a plan was made that is not written yet: the next plan has another key and other ids.
    pub(crate) fn planned(&self) -> Self {
        Self { age: self.age + 1, ..self.clone() }
    }

    /// Whether what a transaction was planned from is as it was read.
    pub(crate) fn is_fresh(&self, transaction: &Transaction) -> bool {
        transaction.items().iter().all(|item| item.failure_on(self.table.get(item.key())).is_none())
    }

    /// Executes a transaction; returns whether it is applied. If not, what it was planned from has changed, or it was written before.
    pub(crate) fn write(&mut self, transaction: &Transaction) -> bool {
        self.age += 1;
        if let Err(reasons) = self.table.execute(transaction.items()) {
            return match transaction.classify(&reasons) {
                Verdict::Rejected(rejection) if rejection.failure == Failure::StalePlan => false,
                Verdict::MarkerExists(_) => false,
                other @ (Verdict::Rejected(_) | Verdict::Broken(_) | Verdict::Throttled | Verdict::Conflict) => {
                    panic!("{other:?}")
                }
            };
        }
        for item in transaction.items().iter().filter(|item| item.role() == Role::Journal) {
            let key = (item.key().pk().to_owned(), item.key().sk().to_owned());
            let entry = BTreeMap::from([(key, self.table.get(item.key()).unwrap().clone())]);
            for (account, sum) in Audit::of(TENANT, &full_rows(entry)).sums_by_account() {
                *self.posted.entry(account).or_default() += sum;
            }
        }
        let written = |role| transaction.items().iter().any(|item| item.role() == role);
        if written(Role::BankFile) || written(Role::Job) {
            self.read_files(|pk| transaction.items().iter().any(|item| item.key().pk() == pk));
        }
        if written(Role::Settlement) || written(Role::BankTransfer) {
            self.settlements = (0..PAID.len()).map(|number| Arc::new(self.read_settlement(number))).collect();
        }
        true
    }

    /// Reads the files with a partition that was written, and those that are not read yet.
    fn read_files(&mut self, is_written: impl Fn(&str) -> bool) {
        let ids = file_ids(self.limits.files).map_while(|id| Some((id, self.table.get(&keys::bank_file(&OF, id))?)));
        let read = |(place, (id, item)): (usize, (BankFileId, &Item))| match self.files.get(place) {
            Some(seen)
                if !is_written(keys::bank_file(&OF, id).pk()) && !is_written(keys::job(&OF, seen.file.job).pk()) =>
            {
                seen.clone()
            }
            Some(_) | None => Arc::new(self.read_file(item)),
        };
        self.files = ids.enumerate().map(read).collect();
    }

    fn read_file(&self, item: &Item) -> SeenFile {
        let file = BankFile::read(item).unwrap();
        let get = |key: &Key| self.table.get(key).unwrap();
        let is_due = |item: &Item| item.contains_key(attr::DUE_PK);
        let number = |place: &(BusinessDate, SettlementId)| {
            (0..PAID.len()).find(|number| settlement_id(*number) == place.1).unwrap()
        };
        let part = |part| FilePart::read(get(&keys::bank_file_part(&OF, file.id, part))).unwrap();
        let parts = (1..=file.parts).map(|at| part(at).0.iter().map(number).collect()).collect();
        let job = get(&keys::job(&OF, file.job));
        SeenFile { job: FileJob::read(job).unwrap(), parts, is_due: is_due(item), is_job_due: is_due(job), file }
    }

    fn read_settlement(&self, number: usize) -> SeenSettlement {
        let item = self.table.get(&keys::settlement(&OF, merchant(number), settlement_id(number))).unwrap();
        let transfer = self.table.get(&keys::bank_transfer(&OF, day(number), settlement_id(number)));
        SeenSettlement {
            settlement: Settlement::read(item).unwrap(),
            transfer: transfer.map(|item| BankTransfer::read(item).unwrap()),
            is_due: transfer.is_some_and(|item| item.contains_key(attr::DUE_PK)),
        }
    }

    /// Everything that may happen next, or is refused.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events: Vec<Event> = (0..PAID.len()).flat_map(|of| [Event::Book(of), Event::Return(of)]).collect();
        events.push(Event::Cut);
        for file in 0..self.files.len() {
            events.extend([Event::Slice(file), Event::Accept(file), Event::Supersede(file), Event::Report(file)]);
            events.extend([Event::Debit(file, false), Event::Debit(file, true)]);
            events.extend(FileChange::ALL.map(|change| Event::End(file, change)));
        }
        events
    }

    /// The transfers that are booked.
    pub(crate) fn transfers(&self) -> impl Iterator<Item = &BankTransfer> {
        self.settlements.iter().filter_map(|of| of.transfer.as_ref())
    }

    /// The file with an id.
    pub(crate) fn file(&self, id: BankFileId) -> &SeenFile {
        self.files.iter().find(|seen| seen.file.id == id).unwrap()
    }

    /// The transfers of a file, in the order of its parts.
    pub(crate) fn content(&self, seen: &SeenFile) -> Vec<BankTransfer> {
        seen.parts.iter().flat_map(|part| self.part(part)).collect()
    }

    fn part(&self, numbers: &[usize]) -> Vec<BankTransfer> {
        numbers.iter().map(|number| self.settlements[*number].transfer.clone().unwrap()).collect()
    }

    /// Plans an event from what was read.
    pub(crate) fn plan(&self, event: Event) -> Plan {
        let file = |number: usize| &self.files[number].file;
        match event {
            Event::Book(number) => {
                let settlement = &self.settlements[number].settlement;
                match next_move(&OF, settlement, Task::Do(Step::Payout), *NOW).unwrap() {
                    Move::Write(booked) => Plan::Write(*booked),
                    Move::Ended(_) => Plan::Nothing,
                    other @ (Move::Collect | Move::GiveBack | Move::Check | Move::Pay) => panic!("{other:?}"),
                }
            }
            Event::Cut => {
                let days: Vec<BusinessDate> = self.transfers().filter(|of| is_free(of)).map(|of| of.day).collect();
                if days.is_empty() { Plan::Nothing } else { self.start(&days, None) }
            }
            Event::Supersede(number) => self.start(&[], Some(file(number))),
            Event::Slice(number) => self.slice(&self.files[number]),
            Event::Accept(number) => {
                let reference = &*NOTE;
                let accepted = FileAcceptance { tenant: &OF, by: person(FIRST), reference };
                let planned = plan_accept(&accepted, file(number), &self.cx());
                self.keyed(planned.map(|planned| Some(planned.draft)), Operation::BankFileAccept)
            }
            Event::Debit(number, by_another) => {
                let by = person(if by_another { SECOND } else { FIRST });
                let planned = plan_debit(&FileDebit { tenant: &OF, by }, file(number), &TERMS, &self.cx());
                self.keyed(planned.map(|planned| Some(planned.draft)), Operation::BankFileDebit)
            }
            Event::End(number, change) => {
                let end = FileEnd { file: file(number).id, change, seen: file(number).version };
                let planned = plan_end((&OF, person(FIRST)), (&end, file(number)), &NOTE, &self.cx());
                self.keyed(planned, change.operation())
            }
            Event::Report(number) if self.files[number].is_due => {
                Plan::Write(Transaction::unkeyed(vec![file(number).reported(&OF, *NOW)]).unwrap())
            }
            Event::Report(_) => Plan::Nothing,
            Event::Return(number) => self.give_back(&self.settlements[number]),
        }
    }

    fn give_back(&self, of: &SeenSettlement) -> Plan {
        let Some(transfer) = of.transfer.clone() else { return Plan::Nothing };
        let returned = ReturnedTransfer {
            merchant: of.settlement.merchant,
            settlement: of.settlement.id,
            amount: transfer.amount.clone(),
            day: transfer.day,
            file: transfer.file,
        };
        let file = transfer.file.map(|id| self.file(id).file.clone());
        let seen = SeenTransfer { settlement: of.settlement.clone(), transfer, file };
        let planned = plan_return((&OF, Actor::Staff(person(FIRST))), (&returned, &seen), &NOTE, &self.cx());
        self.keyed(planned, Operation::SettlementReturn)
    }

    fn start(&self, days: &[BusinessDate], source: Option<&BankFile>) -> Plan {
        let Some(id) = file_ids(self.limits.files).nth(self.files.len()) else { return Plan::Nothing };
        if self.files.iter().filter(|of| of.job.next() == Next::Work).count() >= self.limits.jobs {
            return Plan::Nothing;
        }
        let accept_by = at(ACCEPT_BY);
        let start = FileStart { tenant: &OF, id, from: &SENDER, days, source, by: None, accept_by };
        match plan_start(&start, &self.cx()) {
            Ok(planned) => Plan::Write(Transaction::unkeyed(planned.draft.items).unwrap()),
            Err(refused) => Plan::Refused(refusal(refused)),
        }
    }

    /// The next slice of a file's job, as the worker runs it.
    fn slice(&self, of: &SeenFile) -> Plan {
        let SeenFile { file, job, .. } = of;
        match job.next() {
            Next::Nothing => return Plan::Nothing,
            Next::Work => {}
            Next::SettleStop(_) => panic!("the job of a file is not stopped"),
        }
        if file.state != BankFileState::Assigning {
            return Plan::Write(job.leave(&OF, *NOW).unwrap());
        }
        let found: Vec<BankTransfer> = match job.step(&OF).unwrap() {
            FileStep::Fix => {
                let content = Content::of(file, &self.content(of)).unwrap();
                return Plan::Write(job.fix(&OF, (file, &content), *NOW).unwrap());
            }
            FileStep::Booked(query) => {
                let asks =
                    |day: &&BusinessDate| query == reads::bank_transfers(&OF, **day, None).limit(SLICE_TRANSFERS);
                let day = *job.details.days.iter().find(asks).unwrap();
                self.transfers().filter(|transfer| transfer.day == day).cloned().collect()
            }
            FileStep::Superseded(part) => {
                let parts =
                    self.files.iter().flat_map(|of| (1..).zip(&of.parts).map(|(at, part)| (of.file.id, at, part)));
                let mut parts = parts.filter(|(id, at, _)| keys::bank_file_part(&OF, *id, *at) == part);
                self.part(parts.next().unwrap().2)
            }
        };
        Plan::Write(job.assign(&OF, (file, &found), *NOW).unwrap())
    }

    fn keyed(&self, planned: Result<Option<Draft>, PlanRefusal>, operation: Operation) -> Plan {
        let draft = match planned {
            Ok(Some(draft)) => draft,
            Ok(None) => return Plan::Nothing,
            Err(refused) => return Plan::Refused(refusal(refused)),
        };
        let claim = Claim {
            tenant: OF.clone(),
            principal: Principal::Staff(person(FIRST)),
            actor: Actor::Staff(person(FIRST)),
            operation,
            key: IdempotencyKey::parse(&format!("plan-{}", self.age)).unwrap().into(),
            request: CanonicalRequest { method: "POST", path: "/v1/x".to_owned(), fields: Fields::new() },
            window: Window::of(operation),
            now: *NOW,
        };
        let body = "{\"ok\":true}".to_owned();
        let answer = Answer { status: 200, content_type: "application/json".to_owned(), location: None, body };
        Plan::Write(Transaction::assemble(draft, &claim, &answer, &KEYS).unwrap())
    }

    fn cx(&self) -> Context {
        let id = |kind: u128| id(kind << 32 | self.age);
        Context {
            now: *NOW,
            transaction_id: TransactionId::new(id(1)),
            resource_id: id(2),
            audit_id: AuditId::new(id(3)),
            secret: [7; 16],
            salt: [7; 16],
        }
    }
}

/// Whether no file has a transfer, and it was not returned.
pub(crate) fn is_free(transfer: &BankTransfer) -> bool {
    transfer.file.is_none() && transfer.returned_at.is_none()
}

pub(crate) fn tenant() -> &'static Tenant {
    &OF
}

pub(crate) fn merchant(number: usize) -> MerchantId {
    MerchantId::new(id(0xe0 + number as u128))
}

fn settlement_id(number: usize) -> SettlementId {
    SettlementId::new(id(0x90 + number as u128))
}

fn day(number: usize) -> BusinessDate {
    BusinessDate::parse(PAID[number].1).unwrap()
}

fn person(number: u128) -> StaffId {
    StaffId::new(id(number))
}

/// The ids of the files: all are of the first day.
fn file_ids(most: usize) -> impl Iterator<Item = BankFileId> {
    std::iter::successors(Some(BankFileId::first(day(0))), |id| id.next()).take(most)
}

fn parts(number: &str) -> BankParts<'_> {
    BankParts {
        bank_code: "0005",
        bank_name: None,
        branch_code: "001",
        branch_name: None,
        kind: AccountKind::Ordinary,
        number,
        holder: "ﾐﾄﾞﾘ",
    }
}

/// The time of everything that happens.
pub(crate) fn now() -> Timestamp {
    *NOW
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// A UUIDv7 that contains a number.
fn id(number: u128) -> Uuid {
    Uuid::from_u128(0x019a_a510_0000_7000_8000_0000_0000_0000 | number)
}

fn refusal(refused: PlanRefusal) -> Failure {
    match refused {
        PlanRefusal::Refused(failure) => failure,
        other @ (PlanRefusal::InState { .. }
        | PlanRefusal::StillOpen(_)
        | PlanRefusal::Limit(_)
        | PlanRefusal::OfPayment { .. }
        | PlanRefusal::Invalid { .. }
        | PlanRefusal::PaymentDay { .. }
        | PlanRefusal::Denied(_)
        | PlanRefusal::Stored(_)
        | PlanRefusal::Money(_)) => panic!("{other}"),
    }
}
