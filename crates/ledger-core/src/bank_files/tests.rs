//! Files from the start to the debit, on a table in memory.

mod marks;
mod slices;
mod start;
mod transfers;

use super::*;
use crate::bank::{AccountKind, BankAccount, BankParts, Sender, SenderParts};
use crate::dynamo::{Attributes, Item, Value};
use crate::failure::Failure;
use crate::ids::{AuditId, BankFileId, MerchantId, SettlementId, StaffId, Tenant, TransactionId};
use crate::keys::{self, Key, Shards, attr};
use crate::money::{Amount, AssetSpec};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::reads;
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{Action, Draft, Planned, Role, TransactItem};
use std::collections::BTreeMap;
use uuid::Uuid;

/// A Thursday.
const PAY_ON: &str = "2026-12-10";
/// The day after.
const FRIDAY: &str = "2026-12-11";
/// Ten o'clock in Japan on the banking day before, when the file is written.
const CUT_AT: &str = "2026-12-09T01:00:00.000Z";
/// Noon of that day.
const ACCEPT_BY: &str = "2026-12-09T03:00:00.000Z";

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn day(text: &str) -> BusinessDate {
    BusinessDate::parse(text).unwrap()
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn yen(text: &str) -> Amount {
    Amount::parse(&AssetSpec::ECOPAY, text).unwrap()
}

fn person(number: u128) -> StaffId {
    StaffId::new(Uuid::from_u128(number))
}

fn note() -> FreeText {
    FreeText::parse("the account has too little", 140).unwrap()
}

fn first_file() -> BankFileId {
    BankFileId::first(day(PAY_ON))
}

fn cx(now: &str) -> Context {
    Context {
        now: at(now),
        transaction_id: TransactionId::new(Uuid::from_u128(1)),
        resource_id: Uuid::from_u128(2),
        audit_id: AuditId::new(Uuid::from_u128(3)),
        secret: [0; 16],
        salt: [0; 16],
    }
}

fn parts<'a>(number: &'a str) -> BankParts<'a> {
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

fn sender(code: &str) -> Sender {
    Sender::new(&SenderParts { code, account: parts("7654321") }).unwrap()
}

fn own() -> Sender {
    sender("1234567890")
}

/// A free transfer of the tenant's sender.
fn transfer(number: u128, amount: &str) -> BankTransfer {
    BankTransfer {
        settlement: SettlementId::new(Uuid::from_u128(number)),
        merchant: MerchantId::new(Uuid::from_u128(number.saturating_add(0x1000))),
        day: day(PAY_ON),
        amount: yen(amount),
        from: own(),
        to: BankAccount::new(&parts("1234567")).unwrap(),
        file: None,
        returned_at: None,
        created_at: at("2026-12-01T00:00:00Z"),
    }
}

/// The items that transactions wrote. Records of the audit trail are left out: all have the id of the one context.
#[derive(Clone, Debug, Default, PartialEq)]
struct Table(BTreeMap<Key, Item>);

impl Table {
    fn with(transfers: &[BankTransfer]) -> Self {
        let mut table = Self::default();
        for of in transfers {
            table.put(of);
        }
        table
    }

    /// Books a transfer, in the file that has it, and returned if it was.
    fn put(&mut self, of: &BankTransfer) {
        self.write(&[of.put(&tenant(), at(CUT_AT), Shards::ONE)]).unwrap();
        let item = self.0.get_mut(&of.key(&tenant())).unwrap();
        item.extend(of.file.map(|file| ("bank_file_id".to_owned(), Value::s(file))));
        item.extend(of.returned_at.map(|at| ("returned_at".to_owned(), Value::s(at))));
    }

    fn write(&mut self, items: &[TransactItem]) -> Result<(), Failure> {
        let items = || items.iter().filter(|item| item.role() != Role::Audit);
        for item in items() {
            item.failure_on(self.0.get(item.key())).map_or(Ok(()), |clause| Err(clause.failure))?;
        }
        for item in items() {
            match &item.action {
                Action::Put(put) => {
                    let keys = [(attr::PK, item.key().pk()), (attr::SK, item.key().sk())];
                    let whole =
                        put.clone().into_iter().chain(keys.map(|(name, text)| (name.to_owned(), Value::s(text))));
                    self.0.insert(item.key().clone(), whole.collect());
                }
                Action::Update(update) => {
                    let stored = self.0.get_mut(item.key()).unwrap();
                    for name in update.attributes() {
                        let added = update.added(name).0.map(|one| {
                            assert_eq!(one, &Value::int(1), "only versions are added to");
                            Value::int(stored.int::<i64>(name).unwrap().saturating_add(1))
                        });
                        match added.or_else(|| update.set_to(name).cloned()) {
                            Some(value) => stored.insert(name.to_owned(), value),
                            None => stored.remove(name),
                        };
                    }
                }
                Action::Check => {}
            }
        }
        Ok(())
    }

    fn item(&self, key: &Key) -> &Item {
        self.0.get(key).unwrap_or_else(|| panic!("no item {key:?}"))
    }

    fn file(&self, id: BankFileId) -> BankFile {
        BankFile::read(self.item(&keys::bank_file(&tenant(), id))).unwrap()
    }

    fn job(&self, id: BankFileId) -> FileJob {
        FileJob::read(self.item(&keys::job(&tenant(), self.file(id).job))).unwrap()
    }

    fn transfer(&self, number: u128) -> BankTransfer {
        let is_of = |transfer: &BankTransfer| transfer.settlement == SettlementId::new(Uuid::from_u128(number));
        self.transfers().find(is_of).unwrap()
    }

    fn transfers(&self) -> impl Iterator<Item = BankTransfer> {
        let items = self.0.iter().filter(|(key, _)| key.sk().starts_with(keys::TRANSFER));
        items.map(|(_, item)| BankTransfer::read(item).unwrap())
    }

    /// When the file is due to be reported; `None` if it is not.
    fn due(&self, id: BankFileId) -> Option<String> {
        let text = self.item(&keys::bank_file(&tenant(), id)).get(attr::DUE_SK);
        let Some(Value::S(text)) = text else { return None };
        Some(text.split('#').next().unwrap().to_owned())
    }

    /// Stores a file and its job.
    fn begin(&mut self, id: BankFileId, days: &[BusinessDate], source: Option<&BankFile>) -> Result<BankFile, Failure> {
        let (tenant, from) = (tenant(), own());
        let start = FileStart { tenant: &tenant, id, from: &from, days, source, by: None, accept_by: at(ACCEPT_BY) };
        let job = Context { resource_id: Uuid::from_u128(self.0.len() as u128), ..cx(CUT_AT) };
        let planned = plan_start(&start, &job).map_err(refusal)?;
        self.write(&planned.draft.items)?;
        Ok(planned.receipt)
    }

    /// The transfers that a step of the job finds; `None` if it fixes the content.
    fn found(&self, job: &FileJob) -> Option<Vec<BankTransfer>> {
        match job.step(&tenant()).unwrap() {
            FileStep::Fix => None,
            FileStep::Booked(query) => {
                let (at, after) = job.cursor().map_or(("0", ""), |cursor| cursor.split_once('#').unwrap());
                let (day, after) = (job.details.days[at.parse::<usize>().unwrap()], SettlementId::parse(after).ok());
                assert_eq!(query, reads::bank_transfers(&tenant(), day, after).limit(SLICE_TRANSFERS));
                let of_day = self.transfers().filter(|of| of.day == day && Some(of.settlement) > after);
                Some(of_day.take(SLICE_TRANSFERS).collect())
            }
            FileStep::Superseded(part) => {
                let part = FilePart::read(self.item(&part)).unwrap();
                Some(part.keys(&tenant()).iter().map(|key| BankTransfer::read(self.item(key)).unwrap()).collect())
            }
        }
    }

    /// Runs the next slice of the file's job; returns whether it has more to do.
    fn slice(&mut self, id: BankFileId) -> bool {
        let (tenant, file, job) = (tenant(), self.file(id), self.job(id));
        if file.state != BankFileState::Assigning {
            self.write(job.leave(&tenant, at(CUT_AT)).unwrap().items()).unwrap();
            return false;
        }
        let (written, goes_on) = match self.found(&job) {
            Some(found) => (job.assign(&tenant, (&file, &found), at(CUT_AT)).unwrap(), true),
            None => {
                let content = Content::of(&file, &self.content(id)).unwrap();
                (job.fix(&tenant, (&file, &content), at(CUT_AT)).unwrap(), false)
            }
        };
        self.write(written.items()).unwrap();
        goes_on
    }

    /// The transfers of a file, in the order of its parts.
    fn content(&self, id: BankFileId) -> Vec<BankTransfer> {
        let parts = (1..=self.file(id).parts).map(|part| keys::bank_file_part(&tenant(), id, part));
        let places = parts.flat_map(|part| FilePart::read(self.item(&part)).unwrap().keys(&tenant()));
        places.map(|key| BankTransfer::read(self.item(&key)).unwrap()).collect()
    }

    /// Begins a file and runs its job to the end.
    fn written(&mut self, id: BankFileId, days: &[BusinessDate], source: Option<&BankFile>) -> BankFile {
        self.begin(id, days, source).unwrap();
        while self.slice(id) {}
        self.file(id)
    }

    /// Writes what was planned, and reads the file.
    fn change(&mut self, id: BankFileId, draft: &Draft) -> BankFile {
        self.write(&draft.items).unwrap();
        self.file(id)
    }

    /// Records that the first person saw the file accepted.
    fn accept(&mut self, id: BankFileId) -> BankFile {
        let planned = accepted(&self.file(id), 1).unwrap();
        self.change(id, &planned.draft)
    }

    fn end(&mut self, id: BankFileId, change: FileChange) -> BankFile {
        let draft = ended(&self.file(id), change, CUT_AT).unwrap().unwrap();
        self.change(id, &draft)
    }

    /// Records that a transfer was returned, as it is recorded beside its settlement.
    fn give_back(&mut self, number: u128) -> Result<(), Failure> {
        let (tenant, transfer, now) = (tenant(), self.transfer(number), at(CUT_AT));
        let file = transfer.file.map(|id| self.file(id));
        transfer.return_guard(file.as_ref())?;
        let mut items = vec![transfer.returned(&tenant, now)];
        items.extend(file.map(|file| file.counting_return(&tenant, &transfer.amount, now).unwrap()));
        self.write(&items)
    }
}

fn refusal(refused: PlanRefusal) -> Failure {
    let PlanRefusal::Refused(failure) = refused else { panic!("{refused:?}") };
    failure
}

fn accepted(file: &BankFile, by: u128) -> Result<Planned<BankFile>, Failure> {
    let (tenant, reference) = (tenant(), FreeText::parse("receipt 42", 140).unwrap());
    let of = FileAcceptance { tenant: &tenant, by: person(by), reference: &reference };
    plan_accept(&of, file, &cx(ACCEPT_BY)).map_err(refusal)
}

fn ended(file: &BankFile, change: FileChange, now: &str) -> Result<Option<Draft>, Failure> {
    let end = FileEnd { file: file.id, change, seen: file.version };
    plan_end((&tenant(), person(3)), (&end, file), &note(), &cx(now)).map_err(refusal)
}

/// The record on the trail: the operation, what it is about, and a detail.
fn act(items: &[TransactItem], detail: &str) -> [Option<String>; 3] {
    let record = items.iter().find(|item| item.role() == Role::Audit).unwrap();
    let Action::Put(item) = &record.action else { panic!("{record:?}") };
    let details = item.map("details").unwrap();
    let of = [item.opt_string("action"), item.opt_string("subject"), details.opt_string(detail)];
    of.map(Result::unwrap)
}

/// What [`act`] returns of an act about the first file.
fn of_first(operation: Operation, detail: Option<&str>) -> [Option<String>; 3] {
    [Some(operation.name()), Some("bank_file:2026-12-10-01"), detail].map(|text| text.map(str::to_owned))
}
