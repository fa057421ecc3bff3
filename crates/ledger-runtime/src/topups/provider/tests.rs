use super::*;
use crate::clock::Clock;
use crate::metrics::Counting;
use crate::secrets::SecretError;
use crate::testing::{Store, now};
use futures::future::{BoxFuture, FutureExt};
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

const ONE: &str = r#"{"api_key":"sk_test_1","webhook_secrets":["whsec_1"]}"#;
const BOTH: &str = r#"{"api_key":"sk_test_2","webhook_secrets":["whsec_1","whsec_2"]}"#;
const NONE: &str = r#"{"api_key":"","webhook_secrets":[]}"#;
const LIVE: &str = r#"{"api_key":"sk_live_1","webhook_secrets":["whsec_1"]}"#;

/// A secret whose text a test can change, or make unreadable.
#[derive(Clone)]
struct Secret {
    text: Arc<StdMutex<Option<&'static str>>>,
    reads: Arc<AtomicUsize>,
}

impl SecretSource for Secret {
    fn read(&self) -> BoxFuture<'_, Result<Masked<String>, SecretError>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let text = self.text.lock().unwrap().map(|text| Masked::new(text.to_owned()));
        std::future::ready(text.ok_or_else(|| SecretError { code: "InternalServiceError".to_owned() })).boxed()
    }
}

struct Rig {
    secret: Secret,
    keeper: Keeper,
    counting: Counting,
    millis: Arc<AtomicI64>,
}

impl Rig {
    fn new(text: Option<&'static str>) -> Self {
        let millis = Arc::new(AtomicI64::new(now().millis()));
        let read = Arc::clone(&millis);
        let clock = Clock::from_fn(move || Timestamp::from_millis(read.load(Ordering::SeqCst)));
        let (ledger, counting) = Store::script([]).ledger_at(clock);
        let secret = Secret { text: Arc::new(StdMutex::new(text)), reads: Arc::default() };
        let base_url = "https://api.stripe.com".to_owned();
        let kept = KeptStripe { secret_id: "arn".to_owned(), base_url, account: None };
        Self { keeper: Keeper::new(secret.clone(), kept, ledger, "ledger"), secret, counting, millis }
    }

    fn put(&self, text: Option<&'static str>) {
        *self.secret.text.lock().unwrap() = text;
    }

    fn later(&self, by: Duration) {
        self.millis.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    fn reads(&self) -> usize {
        self.secret.reads.load(Ordering::SeqCst)
    }

    async fn secrets(&self) -> Vec<String> {
        secrets(self.keeper.provider().await.unwrap())
    }
}

fn secrets(provider: Option<Provider>) -> Vec<String> {
    let all = provider.map(|provider| provider.webhook_secrets.to_vec()).unwrap_or_default();
    all.iter().map(|secret| secret.expose().clone()).collect()
}

#[tokio::test]
async fn secret_is_read_once_in_five_minutes() {
    let rig = Rig::new(Some(ONE));
    assert_eq!(rig.secrets().await, ["whsec_1"]);
    rig.put(Some(BOTH));
    rig.later(SECRET_KEPT_FOR - Duration::from_millis(1));
    assert_eq!(rig.secrets().await, ["whsec_1"]);
    assert_eq!(rig.reads(), 1);
    rig.later(Duration::from_millis(1));
    assert_eq!(rig.secrets().await, ["whsec_1", "whsec_2"]);
    assert_eq!(rig.reads(), 2);
}

#[tokio::test]
async fn failed_signature_rereads_the_secret_after_ten_seconds() {
    let rig = Rig::new(Some(ONE));
    assert_eq!(rig.secrets().await, ["whsec_1"]);
    rig.put(Some(BOTH));
    for _ in 0..100 {
        assert_eq!(secrets(rig.keeper.provider_anew().await), ["whsec_1"]);
    }
    rig.later(REFUSED_REREAD_AFTER);
    assert_eq!(secrets(rig.keeper.provider_anew().await), ["whsec_1", "whsec_2"]);
    assert_eq!(rig.reads(), 2);
}

#[tokio::test]
async fn unreadable_or_unusable_secret_keeps_the_one_before() {
    let rig = Rig::new(Some(ONE));
    assert_eq!(rig.secrets().await, ["whsec_1"]);
    for (stale, bad) in [None, Some("sk_test_2"), Some(LIVE)].into_iter().enumerate() {
        rig.put(bad);
        rig.later(SECRET_KEPT_FOR);
        assert_eq!(rig.secrets().await, ["whsec_1"], "{bad:?}");
        assert_eq!(rig.counting.total(Metric::SecretsStale), u64::try_from(stale).unwrap() + 1);
    }
    rig.put(Some(BOTH));
    rig.later(RETRIED_AFTER - Duration::from_millis(1));
    assert_eq!(rig.secrets().await, ["whsec_1"]);
    rig.later(Duration::from_millis(1));
    assert_eq!(rig.secrets().await, ["whsec_1", "whsec_2"]);
}

#[tokio::test]
async fn secret_filled_or_emptied_later_sets_up_or_removes_stripe() {
    let rig = Rig::new(Some(NONE));
    assert!(rig.keeper.provider().await.unwrap().is_none());
    rig.put(Some(ONE));
    rig.later(SECRET_KEPT_FOR);
    assert_eq!(rig.secrets().await, ["whsec_1"]);
    assert_eq!(rig.counting.total(Metric::SecretsStale), 0);
    // An emptied secret removes Stripe: the operator intends that.
    rig.put(Some(NONE));
    rig.later(SECRET_KEPT_FOR);
    assert!(rig.keeper.provider().await.unwrap().is_none());
    // A secret that cannot be read then leaves it removed.
    rig.put(None);
    rig.later(SECRET_KEPT_FOR);
    assert!(rig.keeper.provider().await.unwrap().is_none());
}

#[tokio::test]
async fn secret_unreadable_at_the_start_is_unavailable_until_it_is_read() {
    for bad in [None, Some("sk_test_2")] {
        let rig = Rig::new(bad);
        assert_eq!(rig.keeper.provider().await.unwrap_err(), Problem::unavailable(), "{bad:?}");
        rig.put(Some(ONE));
        rig.later(RETRIED_AFTER);
        assert_eq!(rig.secrets().await, ["whsec_1"]);
    }
}
