//! A store that answers from a script, and a transfer to execute on it: for this crate's tests. The script holds
//! answers that the engine never gives: throttling, conflicts, hangs, failures half-way.

pub(crate) mod server;
pub(crate) mod terminal_vectors;

use crate::clock::Clock;
use crate::dynamo::{Dynamo, scripted_client};
use crate::entropy::Entropy;
use crate::execute::{Ledger, PlanError};
use crate::metrics::{Counting, Metrics};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use ledger_core::account::{Account, Posting};
use ledger_core::forms;
use ledger_core::idempotency::{Answer, CanonicalRequest, Claim, ClaimKey, Fields, MarkerKeys, Window};
use ledger_core::ids::{Actor, CustomerId, Principal, Tenant, TransactionId};
use ledger_core::keys::Shards;
use ledger_core::money::{Amount, AssetSpec, Rate, Share};
use ledger_core::operation::Operation;
use ledger_core::personal::Masked;
use ledger_core::plan::Context;
use ledger_core::rate::RequestRate;
use ledger_core::terms::{
    CardPinTerms, Co2Terms, DisplayName, GrantLimits, KeyPhase, SignInTerms, SpentPoints, TenantTerms, TermsVersion,
};
use ledger_core::time::Timestamp;
use ledger_core::transaction::{Draft, Entry, Planned, RenderedAction, Role, Transaction};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

impl server::Reply {
    /// No answer on a connection that stays open.
    pub(crate) fn hang() -> Self {
        Self::Bytes(Vec::new())
    }
}

impl server::Server {
    /// The requests as texts, in order.
    pub(crate) fn seen(&self) -> Vec<String> {
        let text = |seen: server::Seen| format!("{}\r\n\r\n{}", seen.head, String::from_utf8(seen.body).unwrap());
        self.requests().into_iter().map(text).collect()
    }
}

/// How the store answers one request.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// 200 with this body.
    Ok(Value),
    /// The transaction is cancelled for these reasons.
    Cancelled(Vec<Value>),
    /// An error of this status and code.
    Error(u16, &'static str),
    /// The connection breaks.
    Broken,
    /// There is no answer.
    Hang,
    /// An answer that is not a DynamoDB response.
    Garbage,
}

/// A request that the store received.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) target: String,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn token(&self) -> &str {
        self.body["ClientRequestToken"].as_str().unwrap()
    }
}

/// A script, and the requests received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    steps: Arc<Mutex<VecDeque<Step>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Store {
    pub(crate) fn script(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: Arc::new(Mutex::new(steps.into_iter().collect())), seen: Arc::default() }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Whether every step has been used.
    pub(crate) fn is_through(&self) -> bool {
        self.steps.lock().unwrap().is_empty()
    }

    pub(crate) fn dynamo(&self) -> Dynamo {
        let connector = SharedHttpConnector::new(self.clone());
        let client = scripted_client(http_client_fn(move |_, _| connector.clone()));
        Dynamo::from_client(client, "ledger", Entropy::system()).with_split_layout(&Tenant::parse("demo").unwrap())
    }

    pub(crate) fn ledger(&self) -> (Ledger, Counting) {
        self.ledger_at(Clock::from_fn(now))
    }

    pub(crate) fn ledger_at(&self, clock: Clock) -> (Ledger, Counting) {
        let counting = Counting::new(clock.clone());
        let dynamo = self.dynamo().with_clock(clock.clone()).with_split_layout(&Tenant::parse("demo").unwrap());
        let ledger = Ledger::new(dynamo, clock, Entropy::system(), Metrics::to(counting.clone()));
        (ledger.with_marker_keys(Masked::new(MARKER_KEYS.to_owned())), counting)
    }
}

impl HttpConnector for Store {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        let target = request.headers().get("x-amz-target").unwrap().rsplit('.').next().unwrap().to_owned();
        self.seen.lock().unwrap().push(Seen { target, body });
        let step = self.steps.lock().unwrap().pop_front().expect("a request that is not in the script");
        let error = |code: &str| json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{code}"), "message": "x"});
        match step {
            Step::Ok(body) => respond(200, body.to_string()),
            Step::Error(status, code) => respond(status, error(code).to_string()),
            Step::Cancelled(reasons) => {
                let mut body = error("TransactionCanceledException");
                body["CancellationReasons"] = Value::Array(reasons);
                respond(400, body.to_string())
            }
            Step::Broken => HttpConnectorFuture::ready(Err(ConnectorError::io("broken pipe".into()))),
            Step::Hang => HttpConnectorFuture::new(std::future::pending()),
            Step::Garbage => respond(200, "<html>".to_owned()),
        }
    }
}

fn respond(status: u16, body: String) -> HttpConnectorFuture {
    let status = http::StatusCode::from_u16(status).unwrap();
    HttpConnectorFuture::ready(Ok(HttpResponse::new(status.into(), SdkBody::from(body))))
}

pub(crate) fn now() -> Timestamp {
    Timestamp::parse("2026-11-21T09:30:00Z").unwrap()
}

fn customer(last: char) -> CustomerId {
    CustomerId::parse(&format!("019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5{last}")).unwrap()
}

/// A claim on key `k-1` for sending `amount`.
pub(crate) fn claim(amount: &str) -> Claim {
    Claim {
        tenant: Tenant::parse("demo").unwrap(),
        principal: Principal::Customer(customer('a')),
        actor: Actor::Customer(customer('a')),
        operation: Operation::Transfer,
        key: ClaimKey::parse("k-1").unwrap(),
        request: CanonicalRequest {
            method: "POST",
            path: "/v1/me/transfers".to_owned(),
            fields: Fields::new().with("amount", amount),
        },
        window: Window::WALLET,
        now: now(),
    }
}

/// The secret of the keys of markers.
const MARKER_KEYS: &str = r#"{"current":"k1","k1":"0123456789012345678901234567890123456789012"}"#;

fn marker_keys() -> MarkerKeys {
    MarkerKeys::parse(MARKER_KEYS).unwrap()
}

/// A plan to send `amount` from one customer to another: payer, payee and entry.
pub(crate) fn transfer(amount: &str, cx: Context) -> Result<Planned<TransactionId>, PlanError> {
    let tenant = Tenant::parse("demo").unwrap();
    let amount = Amount::parse(&AssetSpec::ECOPAY, amount).unwrap();
    let (payer, payee) = (Account::Customer(customer('a')), Account::Customer(customer('b')));
    let entry = Entry {
        id: cx.transaction_id,
        home: payer,
        postings: vec![Posting::new(payer, amount.debit()), Posting::new(payee, amount.credit())],
        references: Vec::new(),
        details: ledger_core::dynamo::Item::new(),
        memo: None,
        terms: ledger_core::terms::EntryTerms { due_shards: Shards::ONE, version: TermsVersion::FIRST },
    };
    let items = vec![
        forms::debit(&tenant, Role::Payer, payer, &amount, cx.now).unwrap(),
        forms::credit(&tenant, Role::Payee, payee, &amount, cx.now).unwrap(),
    ];
    Ok(Planned { draft: Draft { entry: Some(entry), items }, receipt: cx.transaction_id })
}

pub(crate) fn answer(id: &TransactionId) -> Answer {
    crate::execute::created(format!("/v1/me/transactions/{id}"), &json!({"transaction_id": id.to_string()}))
}

/// The transaction that transfers `amount`.
pub(crate) fn assembled(amount: &str, ledger: &Ledger) -> Transaction {
    let planned = transfer(amount, ledger.context(now()).unwrap()).unwrap();
    Transaction::assemble(planned.draft.clone(), &claim(amount), &answer(&planned.receipt), &marker_keys()).unwrap()
}

/// The marker that a completed transfer of `amount` leaves, as DynamoDB returns it.
pub(crate) fn marker(amount: &str, ledger: &Ledger) -> Value {
    item_of(&assembled(amount, ledger), 0)
}

/// The item that the action at position `at` puts.
pub(crate) fn item_of(transaction: &Transaction, at: usize) -> Value {
    match transaction.items()[at].render().unwrap().action {
        RenderedAction::Put(item) => {
            Value::Object(item.into_iter().map(|(name, value)| (name, attribute(value))).collect())
        }
        RenderedAction::Update(..) | RenderedAction::ConditionCheck(_) => panic!("no put"),
    }
}

fn attribute(value: ledger_core::dynamo::Value) -> Value {
    use ledger_core::dynamo::Value as V;
    match value {
        V::S(text) => json!({"S": text}),
        V::N(number) => json!({"N": number}),
        V::Bool(flag) => json!({"BOOL": flag}),
        V::L(list) => json!({"L": list.into_iter().map(attribute).collect::<Vec<_>>()}),
        V::M(map) => {
            json!({"M": map.into_iter().map(|(name, value)| (name, attribute(value))).collect::<serde_json::Map<_, _>>()})
        }
        V::B(_) => panic!("no bytes in these tests"),
    }
}

/// One reason per action, `code` at one position and `None` at the others.
pub(crate) fn reasons(actions: usize, at: usize, code: &str, item: Option<Value>) -> Vec<Value> {
    (0..actions)
        .map(|position| match (position == at, &item) {
            (true, Some(item)) => json!({"Code": code, "Item": item}),
            (true, None) => json!({"Code": code}),
            (false, _) => json!({"Code": "None"}),
        })
        .collect()
}

/// The answer to a read of the tenant's terms, with no rate.
pub(crate) fn terms(key_phase: &str) -> Step {
    terms_with(key_phase, None)
}

/// The answer to a read of the tenant's terms, with this rate.
pub(crate) fn terms_with(key_phase: &str, requests_per_second: Option<RequestRate>) -> Step {
    let yen = |text| Amount::parse(&AssetSpec::ECOPAY, text).unwrap();
    let terms = TenantTerms {
        version: TermsVersion::FIRST,
        display_name: DisplayName::parse("Aoba").unwrap(),
        key_phase: KeyPhase::parse(key_phase).unwrap(),
        assets: [].into(),
        co2: Co2Terms { rate: Rate::ZERO, source: "x".to_owned(), version: "1".to_owned() },
        points_rate: Share::ZERO,
        card_cap: yen("50000"),
        card_bonus_rate: Share::ZERO,
        card_pin: CardPinTerms::NotUsed,
        spent_points: SpentPoints::Deduct,
        due_shards: Shards::ONE,
        topup: None,
        requests_per_second,
        hold_hours: None,
        limits: None,
        settlement: None,
        settlement_schedule: None,
        cash_bonus: ledger_core::terms::CashBonusTerms::Never,
        ceilings: ledger_core::terms::CeilingTerms::zero(),
        grant_limits: GrantLimits::default(),
        sign_ins: SignInTerms::OwnIds,
    };
    Step::Ok(json!({"Item": attribute(ledger_core::dynamo::Value::M(terms.item()))["M"]}))
}
