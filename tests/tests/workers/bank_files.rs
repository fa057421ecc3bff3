//! Bank files, from a settlement run to the bank's statement: cut, accepted, debited, rejected and superseded, and one transfer that
//! comes back.

use ledger_core::ids::{MerchantId, SettlementId};
use ledger_core::time::Timestamp;
use ledger_runtime::metrics::Metric;
use ledger_runtime::settlement::{Ended, SettlementRef};
use ledger_tests::http::approvals::decides;
use ledger_tests::http::bank_files::PATH;
use ledger_tests::http::event_tap::EventTap;
use ledger_tests::http::settling::{Settling, destination, payable};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, Merchant, Who, staff};
use serde_json::{Value, json};
use std::time::Duration;

const ON_THE_TENTH: &str = "monthly:month_end next_month:10:next";
const AT_NEXT_MONTHS_END: &str = "monthly:month_end next_month:month_end:next";
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// A tenant whose settlements are paid by bank.
struct Office {
    shop: Settling,
}

impl Office {
    async fn new(tenant: &str) -> Self {
        Self { shop: Settling::scheduled(tenant, ON_THE_TENTH).await }
    }

    /// A merchant that took a payment.
    async fn paid(&self, amount: &str) -> Merchant {
        let merchant = payable(&self.shop.world).await;
        let customer = self.shop.world.customer_with(amount).await;
        let _ = self.shop.good(&customer.pays(&merchant, amount)).await;
        merchant
    }

    /// The worker runs at an instant, until nothing more is due at it.
    async fn at(&self, instant: &str) {
        self.shop.hand.set(Timestamp::parse(instant).expect("an instant"));
        for _ in 0..3 {
            let _ = self.shop.run_jobs().await.expect("the run succeeds");
        }
    }

    /// A merchant's settlements, the newest first.
    async fn settlements(&self, merchant: &Merchant) -> Vec<Value> {
        let path = format!("/v1/admin/merchants/{}/settlements", merchant.id);
        let page = self.shop.good(&Call::get(&path, &self.shop.world.operator.who)).await.json();
        page["items"].as_array().expect("settlements").clone()
    }

    /// A merchant's newest settlement.
    async fn newest(&self, merchant: &Merchant) -> SettlementRef {
        let newest = self.settlements(merchant).await.first().cloned().expect("a settlement");
        let id = SettlementId::parse(newest["settlement_id"].as_str().expect("an id")).expect("an id");
        let merchant = MerchantId::parse(&merchant.id).expect("an id");
        SettlementRef { tenant: self.shop.world.slug(), merchant, id }
    }

    /// The day, the file and the state of the payout of a merchant's newest settlement, as the merchant sees it.
    async fn payout(&self, merchant: &Merchant) -> [String; 3] {
        let page = self.shop.good(&Call::get("/v1/merchant/settlements", &merchant.who)).await.json();
        ["transfer_on", "bank_file_id", "payout_status"]
            .map(|name| page["items"][0][name].as_str().unwrap_or_default().to_owned())
    }

    /// The files, the latest day first, each with its state.
    async fn files(&self) -> Vec<[String; 2]> {
        let page = self.shop.good(&Call::get(PATH, &self.shop.world.operator.who)).await.json();
        let files = page["items"].as_array().expect("files").iter();
        files
            .map(|file| ["bank_file_id", "status"].map(|name| file[name].as_str().expect("a text").to_owned()))
            .collect()
    }

    /// What a person records about a file.
    fn marks(&self, file: &str, verb: &str, who: &Who) -> Call {
        self.shop.world.about_file(file, verb, who)
    }

    /// Two people record what became of a file.
    async fn ends(&self, file: &str, verb: &str) {
        let world = &self.shop.world;
        let _ = world.executes(&world.about_file(file, verb, &world.operator.who)).await.good();
    }

    /// Asserts what `bank_clearing` and `bank` have, and that the books and the reconciliation agree.
    async fn assert_sums(&self, clearing: i64, bank: i64) {
        let books = self.shop.world.check_books().await;
        let sums = ["bank_clearing", "bank"].map(|account| books.posted(account, "ECOPAY"));
        assert_eq!(sums, [clearing.into(), bank.into()], "bank_clearing and bank");
        let _ = self.shop.world.publish(&EventTap::default(), Vec::new()).await.expect("the run succeeds");
        let run = self.shop.world.reconciled().await;
        assert_eq!(run["status"], "clean", "{run}");
    }
}

/// What a payment of 1000, 2000, 4000 and 8000 yen pays out: the fee is 1.5 %, its tax a tenth of that.
const PAYOUTS: [i64; 4] = [984, 1967, 3934, 7868];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn month_of_a_town_office_is_paid_by_files_that_people_mark() {
    let office = Office::new("office-files").await;
    let (shop, world) = (&office.shop, &office.shop.world);
    let [first, second, third, late] =
        [office.paid("1000").await, office.paid("2000").await, office.paid("4000").await, office.paid("8000").await];
    let _ = world.executes(&world.schedules(&late.id, Some(AT_NEXT_MONTHS_END))).await.good();
    shop.credit().await;

    // The month ends, and the run books what is to be paid on 10 December and on the first bank day after the year's end.
    office.at("2026-11-29T15:20:00Z").await;
    for minute in 10..20 {
        office.at(&format!("2026-11-30T15:{minute}:30Z")).await;
    }
    for merchant in [&first, &second, &third, &late] {
        let at = office.newest(merchant).await;
        assert_eq!(shop.walk(&at).await, Ended::Over);
        assert_eq!(shop.view(&at).await["status"], "booked");
    }
    let scheduled = |day: &str| [day.to_owned(), String::new(), "scheduled".to_owned()];
    assert_eq!(office.payout(&first).await, scheduled("2026-12-10"));
    assert_eq!(office.payout(&late).await, scheduled("2027-01-04"));
    let all: i64 = PAYOUTS.iter().sum();
    office.assert_sums(all, 0).await;

    // The file is cut at ten on the bank day before. It is reported from the bank's cut-off on, once an hour.
    office.at("2026-12-09T00:59:59Z").await;
    assert_eq!(office.files().await, Vec::<[String; 2]>::new());
    office.at("2026-12-09T01:00:00Z").await;
    let file = "2026-12-10-01";
    assert_eq!(office.files().await, [[file, "written"].map(str::to_owned)]);
    let view = world.bank_file(file).await;
    assert_eq!((view["transfers"].clone(), view["total"].clone()), (json!(3), json!("6885")), "{view}");
    let late_marks = || shop.counting.total(Metric::BankFileNotAccepted);
    let before = late_marks();
    office.at("2026-12-09T02:59:59Z").await;
    assert_eq!(late_marks(), before);
    office.at("2026-12-09T03:00:00Z").await;
    office.at("2026-12-09T03:30:00Z").await;
    assert_eq!(late_marks(), before + 1);
    office.at("2026-12-09T04:00:00Z").await;
    assert_eq!(late_marks(), before + 2);

    // The bank has not got it: the second member says so, the file is withdrawn by two, and another one takes its transfers.
    let content = Call::get(&format!("{PATH}/{file}/content"), &world.operator.who);
    let _ = shop.good(&content).await;
    office.ends(file, "withdraw").await;
    let _ = world.api.send(&content).await.problem(400, "wrong_state");
    assert_eq!(office.payout(&first).await, ["2026-12-10", file, "delayed"].map(str::to_owned));
    let supersede = office.marks(file, "supersede", &world.operator.who);
    assert_eq!(shop.good(&supersede).await.text("/bank_file_id"), "2026-12-11-01");
    office.at("2026-12-09T04:05:00Z").await;
    let file = "2026-12-11-01";
    assert_eq!(office.payout(&first).await, ["2026-12-11", file, "delayed"].map(str::to_owned));
    let reject = office.marks("2026-12-10-01", "supersede", &world.operator.who);
    let _ = world.api.settle(&reject).await.problem(400, "wrong_state");
    office.assert_sums(all, 0).await;

    // One person records the acceptance, another one the debit. A merchant is paid from the day on.
    let _ = shop.good(&office.marks(file, "accept", &world.operator.who)).await;
    assert_eq!(office.payout(&first).await[2], "delayed");
    office.at("2026-12-10T15:00:00Z").await;
    assert_eq!(office.payout(&first).await, ["2026-12-11", file, "paid"].map(str::to_owned));
    let _ =
        world.api.settle(&office.marks(file, "debit", &world.operator.who)).await.problem(403, "four_eyes_required");
    let not_debited = || shop.counting.total(Metric::BankFileNotDebited);
    let before = not_debited();
    office.at("2026-12-11T15:00:00Z").await;
    assert_eq!(not_debited(), before + 1);

    // A transfer comes back before the debit is recorded, and another one after it.
    let returns = async |merchant: &Merchant| {
        let at = office.newest(merchant).await;
        let _ = world.executes(&shop.about(&at, "returns", &json!({"note": "the account is closed"}))).await.good();
        assert_eq!(office.payout(merchant).await[2], "returned");
    };
    returns(&first).await;
    office.assert_sums(all - PAYOUTS[0], 0).await;
    let debit = office.marks(file, "debit", &world.second.who);
    assert_eq!(shop.good(&debit).await.json()["debited_total"], (PAYOUTS[1] + PAYOUTS[2]).to_string());
    assert_eq!(shop.good(&debit).await.json()["debited_total"], (PAYOUTS[1] + PAYOUTS[2]).to_string(), "as stored");
    office.assert_sums(PAYOUTS[3], PAYOUTS[1] + PAYOUTS[2]).await;
    returns(&second).await;
    office.assert_sums(PAYOUTS[3], PAYOUTS[2]).await;
    shop.hand.forward(HOUR);
    let _ = shop.run_jobs().await.expect("the run succeeds");
    assert_eq!(not_debited(), before + 1, "a debited file is not reported");

    // The next run pays what came back; the far transfer is cut on the last bank day of the year.
    office.at("2026-12-30T01:00:00Z").await;
    let newest = office.files().await.remove(0);
    assert_eq!(newest, ["2027-01-04-01", "written"].map(str::to_owned));
    let _ = shop.good(&office.marks(&newest[0], "accept", &world.second.who)).await;
    for minute in 10..20 {
        office.at(&format!("2026-12-31T15:{minute}:30Z")).await;
    }
    let again = office.newest(&first).await;
    assert_eq!(shop.walk(&again).await, Ended::Over);
    let view = shop.view(&again).await;
    assert_eq!((view["status"].clone(), view["payable"].clone()), (json!("booked"), json!("984")), "{view}");
    office.at("2027-01-04T15:00:00Z").await;
    let _ = shop.good(&office.marks(&newest[0], "debit", &world.operator.who)).await;
    office.assert_sums(PAYOUTS[0], PAYOUTS[2] + PAYOUTS[3]).await;
}

/// Three owners, each with a wallet that is declared or signed in to; the third one's spouse has a shop. What is for one of them alone
/// is decided on by the two others, and what is for all by any two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn office_of_three_with_wallets_and_a_shop_in_the_family_does_a_month_of_work() {
    let office = Office::new("office-of-three").await;
    let (shop, world) = (&office.shop, &office.shop.world);
    let (wallet, third) = staff::member_with_wallet(world, "owner").await;
    let [family, other] = [office.paid("2000").await, office.paid("4000").await];
    let declares = async |who: &Who, account: String, kind: &str| {
        let body = json!({"account": account, "kind": kind});
        let _ = shop.good(&Call::post("/v1/admin/staff/me/beneficiaries", who, &body).key(new_key())).await;
    };
    let mut residents = vec![wallet.clone()];
    for who in [&world.operator.who, &world.second.who] {
        let own = world.customer().await;
        declares(who, format!("customer:{}", own.id), "own").await;
        residents.push(own);
    }
    declares(&third, format!("merchant:{}", family.id), "family").await;
    let requested = async |call: &Call| shop.good(call).await.text("/approval_id");
    let approves = async |id: &str, who: &Who| world.api.settle(&decides("approve", id, who)).await;

    // Points for every resident: the third member, one of them, approves.
    for _ in residents.len()..20 {
        residents.push(world.customer().await);
    }
    let ids: Vec<&str> = residents.iter().map(|resident| resident.id.as_str()).collect();
    let grant = json!({"customer_ids": ids, "asset": "POINT", "amount": "500", "reason": "every resident of Aoba"});
    let grant = requested(&Call::post("/v1/admin/grants", &world.operator.who, &grant).key(new_key())).await;
    let _ = approves(&grant, &third).await.good();
    office.at("2026-11-28T04:00:00Z").await;
    for resident in &residents[..3] {
        assert_eq!(world.balance(resident, "POINT").await, "500");
    }

    // A refund beyond the room to the own wallet, and the account of the family's shop: the second member approves.
    let room = Call::post(
        &format!("/v1/admin/merchants/{}/refund-room", other.id),
        &world.operator.who,
        &json!({"ceiling": "1"}),
    );
    let _ = world.executes(&room.key(new_key())).await.good();
    world.adjust(&json!({"customer_id": wallet.id}), "credit", "300").await;
    let paid = shop.good(&wallet.pays(&other, "300")).await.text("/payment_id");
    let account = Call::patch(&format!("/v1/admin/merchants/{}", family.id), &world.operator.who, &destination());
    for call in [world.refunds_for(&other.id, &paid, "300"), account.key(new_key())] {
        let id = requested(&call).await;
        let _ = approves(&id, &third).await.problem(403, "four_eyes_required");
        let _ = approves(&id, &world.second.who).await.good();
    }
    assert_eq!(world.balance(&wallet, "ECOPAY").await, "300");
    shop.credit().await;

    // The run, the file, its rejection and the superseding one are for all merchants: the third member takes part.
    office.at("2026-11-29T15:20:00Z").await;
    for minute in 10..20 {
        office.at(&format!("2026-11-30T15:{minute}:30Z")).await;
    }
    for merchant in [&family, &other] {
        assert_eq!(shop.walk(&office.newest(merchant).await).await, Ended::Over);
    }
    office.at("2026-12-09T01:00:00Z").await;
    let _ = shop.good(&office.marks("2026-12-10-01", "accept", &world.operator.who)).await;
    let reject = requested(&office.marks("2026-12-10-01", "reject", &world.operator.who)).await;
    let _ = approves(&reject, &third).await.good();
    let file = shop.good(&office.marks("2026-12-10-01", "supersede", &third)).await.text("/bank_file_id");
    office.at("2026-12-09T01:05:00Z").await;
    let _ = shop.good(&office.marks(&file, "accept", &third)).await;
    let _ = shop.good(&office.marks(&file, "debit", &world.second.who)).await;
    office.assert_sums(0, PAYOUTS[1] + PAYOUTS[2]).await;

    // The transfer to the family's shop comes back: it is that merchant's alone.
    let at = office.newest(&family).await;
    let back = requested(&shop.about(&at, "returns", &json!({"note": "the account is closed"}))).await;
    let _ = approves(&back, &third).await.problem(403, "four_eyes_required");
    let _ = approves(&back, &world.second.who).await.good();
    office.assert_sums(0, PAYOUTS[2]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_and_workers_at_once_begin_one_file_and_mark_it_once() {
    let office = Office::new("office-races").await;
    let (shop, world) = (&office.shop, &office.shop.world);
    let merchants = [office.paid("1000").await, office.paid("2000").await];
    shop.credit().await;
    office.at("2026-11-29T15:20:00Z").await;
    for minute in 10..20 {
        office.at(&format!("2026-11-30T15:{minute}:30Z")).await;
    }
    for merchant in &merchants {
        assert_eq!(shop.walk(&office.newest(merchant).await).await, Ended::Over);
    }
    shop.hand.set(Timestamp::parse("2026-12-09T01:00:00Z").expect("an instant"));
    let cuts: Vec<Call> = (0..4).map(|_| world.cuts("2026-12-10")).collect();
    let ticks = async { futures::join!(shop.run_jobs(), shop.run_jobs(), shop.run_jobs()) };
    let asked = futures::future::join_all(cuts.iter().map(|call| world.api.settle(call)));
    let (_, answers) = futures::join!(ticks, asked);
    for answer in &answers {
        assert!(answer.status == 202 || answer.code().as_deref() == Some("wrong_state"), "{answer:?}");
    }
    for _ in 0..4 {
        shop.hand.forward(MINUTE);
        let _ = shop.run_jobs().await;
    }
    let files = office.files().await;
    let written: Vec<_> = files.iter().filter(|file| file[1] == "written").collect();
    assert!(files.iter().all(|file| ["written", "empty"].contains(&file[1].as_str())), "{files:?}");
    let mut transfers = 0;
    for file in &written {
        transfers += world.bank_file(&file[0]).await["transfers"].as_u64().expect("a number");
    }
    assert_eq!(transfers, 2, "each transfer is in one file: {files:?}");

    // Both members record everything at once, each of it twice.
    let file = written[0][0].as_str();
    let whos = [&world.operator.who, &world.second.who];
    let accepts: Vec<Call> = (0..4).map(|at| office.marks(file, "accept", whos[at % 2])).collect();
    let accepted = futures::future::join_all(accepts.iter().map(|call| world.api.settle(call))).await;
    assert_eq!(accepted.iter().filter(|answer| answer.status == 200).count(), 1, "{accepted:?}");
    let debits: Vec<Call> = (0..6).map(|at| office.marks(file, "debit", whos[at % 2])).collect();
    let debited = futures::future::join_all(debits.iter().map(|call| world.api.settle(call))).await;
    assert_eq!(debited.iter().filter(|answer| answer.status == 200).count(), 1, "{debited:?}");
    let view = world.bank_file(file).await;
    assert_ne!(view["accepted_by"], view["debited_by"], "{view}");
    let debited: i64 = view["debited_total"].as_str().expect("a sum").parse().expect("a number");
    office.assert_sums(PAYOUTS[0] + PAYOUTS[1] - debited, debited).await;
}
