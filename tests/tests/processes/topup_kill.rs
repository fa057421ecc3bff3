//! The real binary, killed while it calls Stripe: the simulator continues in this process, and the claim and reservation
//! remain. Stripe's events complete what the killed process began.
use ledger_local::stack::{Stack, StackConfig};
use ledger_tests::http::process::{self, Process};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Call, World};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;
use stripe_simulator::{API_KEY_DEFAULT, Fault, FaultKind, Simulator, WEBHOOK_SECRET_DEFAULT};

const YEN: &str = "1000";
/// Far less than Stripe or a lease would take.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);
const INTENTS: &str = "/v1/payment_intents";
const REFUNDS: &str = "/v1/refunds";

/// A folder for one test's data, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        process::forget(&self.0.join("ledger.db"));
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The ledger in a separate process, and the Stripe simulator in this one.
struct Rig {
    folder: Folder,
    stripe: Stack,
    process: Option<Process>,
    world: World,
}

impl Rig {
    async fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        // A second stack, of which only the simulator is used.
        let stripe = Stack::start(StackConfig::in_memory()).await.expect("a simulator");
        let process = start(&folder, &stripe, ["0", "0"]);
        let world = World::remote(&process.url, (&process.dynamodb_url, &process.table)).await;
        let rig = Self { folder, stripe, process: Some(process), world };
        rig.simulator().pause_deliveries();
        rig.simulator().deliver_to(Some(format!("{}/v1/webhooks/stripe", rig.world.api.base())));
        rig
    }

    fn simulator(&self) -> &Simulator {
        self.stripe.simulator().expect("the simulator")
    }

    /// Kills the process while it calls Stripe, after the effect: the first answer is lost and the retry is held, so
    /// that the process is waiting when it is killed.
    async fn killed_after_the_effect(&mut self, call: &Call, path: &str) {
        let simulator = self.simulator().clone();
        simulator.inject(Fault::once(FaultKind::ConnectionLostAfter).on("POST", path));
        simulator.inject(Fault::once(FaultKind::Held).on("POST", path));
        let process = self.process.take().expect("it runs");
        let ports = [port(&process.url), port(&process.dynamodb_url)].map(str::to_owned);
        let killing = async {
            simulator.held(1).await;
            process.kill();
        };
        let (answer, ()) = futures::join!(self.world.api.try_send(call), killing);
        assert!(answer.is_err(), "it answered before it was killed: {answer:?}");
        simulator.release_held();
        self.process = Some(start(&self.folder, &self.stripe, ports.each_ref().map(String::as_str)));
    }

    /// Delivers the events of what happened meanwhile.
    async fn delivered(&self) {
        self.simulator().resume_deliveries();
        let idle = tokio::time::timeout(PATIENCE, self.simulator().idle()).await;
        assert!(idle.is_ok(), "events wait: {:?}", self.simulator().waiting_events());
        self.simulator().pause_deliveries();
    }

    /// Sends a request until it is answered with anything but a 409 or 503.
    async fn insist(&self, call: &Call) -> Answer {
        let insisting = async {
            loop {
                match self.world.api.try_send(call).await {
                    Ok(answer) if !matches!(answer.status, 409 | 503) => return answer,
                    Ok(_) | Err(_) => tokio::time::sleep(PAUSE).await,
                }
            }
        };
        tokio::time::timeout(PATIENCE, insisting).await.expect("an answer")
    }
}

fn port(url: &str) -> &str {
    url.rsplit(':').next().expect("a port")
}

fn start(folder: &Folder, stripe: &Stack, [api, dynamodb]: [&str; 2]) -> Process {
    let data = folder.0.join("ledger.db").display().to_string();
    let base_url = &stripe.stripe().base_url;
    let variables = [
        ("STRIPE_API_KEY", API_KEY_DEFAULT),
        ("STRIPE_WEBHOOK_SECRET", WEBHOOK_SECRET_DEFAULT),
        ("STRIPE_BASE_URL", base_url),
    ];
    let arguments = ["--data", &data, "--port", api, "--dynamodb-port", dynamodb];
    tokio::task::block_in_place(|| Process::start_with(&arguments, &variables))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topup_and_refund_survive_kill_during_stripe_call() {
    let mut rig = Rig::new("topup-kill").await;
    let customer = rig.world.customer().await;
    let call = Call::post("/v1/me/topups", &customer.who, &json!({"amount": YEN})).key(new_key());
    rig.killed_after_the_effect(&call, INTENTS).await;
    assert_eq!(rig.simulator().payment_intents().len(), 1);
    rig.delivered().await;
    let answer = rig.insist(&call).await.good();
    assert!(answer.replayed(), "the event has completed it: {answer:?}");
    let again = rig.insist(&call).await;
    assert_eq!((again.stored(), again.replayed()), (answer.stored(), true));
    let intent = answer.text("/payment_intent_id");
    rig.simulator().succeed_payment(&intent).expect("it is open");
    rig.delivered().await;
    assert_eq!(rig.simulator().payment_intents().len(), 1);
    assert_eq!(rig.world.balance(&customer, "ECOPAY").await, YEN);
    assert_eq!(rig.world.check_books().await.entries_of("topup"), 1);

    let path = format!("/v1/admin/topups/{}/refunds", answer.text("/topup_id"));
    let body = json!({"amount": "400", "reason": "for a test"});
    let refund = Call::post(&path, &rig.world.operator.who, &body).key(new_key());
    rig.killed_after_the_effect(&refund, REFUNDS).await;
    assert_eq!(rig.simulator().refunds().len(), 1);
    rig.delivered().await;
    let refunded = rig.insist(&refund).await.good();
    assert!(refunded.replayed(), "the event has completed it: {refunded:?}");
    assert_eq!(rig.insist(&refund).await.stored(), refunded.stored());
    assert_eq!((rig.simulator().payment_intents().len(), rig.simulator().refunds().len()), (1, 1));
    assert_eq!(rig.world.balance(&customer, "ECOPAY").await, "600");
    let books = rig.world.check_books().await;
    assert_eq!((books.entries_of("topup"), books.entries_of("topup_refund_paid")), (1, 1));
    assert_eq!(rig.insist(&call).await.stored(), answer.stored());
    rig.stripe.stop().await;
}
