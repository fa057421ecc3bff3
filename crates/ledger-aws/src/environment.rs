//! The start of a function in Lambda: configuration, logs, store, warm-up and AWS clients.

use crate::cloud_watch::CloudWatch;
use crate::event_bus::EventBus;
use crate::file_store::S3FileStore;
use crate::reports::S3Reports;
use crate::secrets::SecretsManager;
use crate::sqs::SqsSink;
use crate::state_machine::StateMachine;
use crate::tls::with_amazon_roots;
use crate::{StartError, is_inside};
use aws_config::SdkConfig;
use ledger_runtime::announcer::Announcer;
use ledger_runtime::app::App;
use ledger_runtime::clock::Clock;
use ledger_runtime::config::{Config, StripeAccess};
use ledger_runtime::dynamo::{Dynamo, sdk_loader};
use ledger_runtime::entropy::Entropy;
use ledger_runtime::execute::Ledger;
use ledger_runtime::logging;
use ledger_runtime::metrics::{Emf, Metrics};
use ledger_runtime::psp::Stripe;
use ledger_runtime::publishing::Publisher;
use ledger_runtime::reconcile::Outlets;
use ledger_runtime::settlement::{HttpKyc, Settler};
use std::sync::Arc;

/// The clients and configuration of a function. Every client is made once, before the first request.
#[derive(Debug)]
pub struct Environment {
    app: App,
    sdk: SdkConfig,
}

impl Environment {
    /// Reads the configuration, calls `make`, and warms up the store and the secrets.
    ///
    /// The first request then waits for neither.
    pub(crate) async fn start<M>(
        make: impl FnOnce(&mut Self) -> Result<M, StartError>,
    ) -> Result<(App, M), StartError> {
        let config = Config::from_env()?;
        is_inside()?;
        logging::init(&config.log_filter)?;
        let (clock, entropy) = (Clock::system(), Entropy::system());
        let url = config.endpoint_url.as_deref();
        let sdk = with_amazon_roots(sdk_loader(url), url).load().await;
        let dynamo = Dynamo::from_sdk_config(&sdk, &config, entropy.clone());
        let ledger = Ledger::new(dynamo, clock.clone(), entropy, Metrics::to(Emf::stdout(clock)));
        let mut environment = Self { app: App::new(ledger, config), sdk };
        let made = make(&mut environment)?;
        let app = environment.app;
        let (warmed_up, _, ()) =
            tokio::join!(app.dynamo().warm_up(), app.provider_anew(), app.ledger().warm_up_marker_keys());
        // Not fatal: a store that does not respond for a moment must not stop the function from starting.
        if let Err(error) = warmed_up {
            tracing::warn!(%error, "the store did not answer the warm-up");
        }
        Ok((app, made))
    }

    /// The state of the function's handlers.
    #[must_use]
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Adds the keys of markers to the app, if the environment names their secret.
    ///
    /// Call it first: an app taken earlier does not have them.
    pub fn use_marker_keys(&mut self) {
        if let Some(id) = &self.app.config().marker_keys_secret {
            let ledger = self.app.ledger().clone().with_marker_keys(SecretsManager::new(&self.sdk, id));
            self.app = App::new(ledger, self.app.config().clone());
        }
    }

    /// Adds Stripe to the app, if the environment configures it, directly or by a secret in Secrets Manager.
    ///
    /// Call it before the app is used for anything else: an app taken earlier does not have Stripe.
    ///
    /// # Errors
    /// [`StartError::Stripe`] if Stripe's client could not be made.
    pub fn use_stripe(&mut self) -> Result<(), StartError> {
        let (app, name) = (self.app.clone(), self.app.config().ledger.clone());
        self.app = match app.config().stripe.clone() {
            Some(StripeAccess::Given(given)) => app.with_psp(Stripe::new(&given, &name)?, &given),
            Some(StripeAccess::Kept(kept)) => {
                app.with_kept_secrets(SecretsManager::new(&self.sdk, &kept.secret_id), kept)
            }
            None => app,
        };
        Ok(())
    }

    /// Adds the keys of cards' PINs to the app, if the environment names their secret.
    pub fn use_pin_keys(&mut self) {
        let app = self.app.clone();
        self.app = match &app.config().card_pin_keys {
            Some(id) => app.clone().with_pin_keys(SecretsManager::new(&self.sdk, id)),
            None => app,
        };
    }

    /// Adds the store of files to the app, if the environment names its bucket.
    pub fn use_files(&mut self) {
        let app = self.app.clone();
        self.app = match &app.config().files_bucket {
            Some(bucket) => app.clone().with_files(Arc::new(S3FileStore::new(&self.sdk, bucket))),
            None => app,
        };
    }

    /// A client of CloudWatch, for reading metrics.
    #[must_use]
    pub fn cloud_watch(&self) -> CloudWatch {
        CloudWatch::new(&self.sdk)
    }

    /// The publisher of journal entries; `None` if the environment names no queues.
    #[must_use]
    pub fn publisher(&self) -> Option<Publisher> {
        let queues = self.app.config().events.clone()?;
        Some(Publisher::new(&self.app, Arc::new(SqsSink::new(&self.sdk, queues))))
    }

    /// The runner of settlement tasks, with the KYC check that the environment names.
    ///
    /// # Errors
    /// [`StartError::Kyc`] if the client of the KYC check could not be made.
    pub fn settler(&self) -> Result<Settler, StartError> {
        let access = &self.app.config().settlement;
        let kyc = match &access.kyc {
            Some(config) => {
                Some(HttpKyc::new(config, SecretsManager::new(&self.sdk, &config.secret_id), self.app.ledger())?)
            }
            None => None,
        };
        Ok(Settler::new(&self.app, kyc.map(|kyc| Arc::new(kyc) as _)))
    }

    /// The state machine of settlements; `None` if the environment names none.
    #[must_use]
    pub fn state_machine(&self) -> Option<StateMachine> {
        self.app.config().settlement.state_machine.as_deref().map(|arn| StateMachine::new(&self.sdk, arn))
    }

    /// The bucket of reports and the event bus of announcements, each if the environment names it.
    #[must_use]
    pub fn outlets(&self) -> Outlets {
        let access = &self.app.config().reconcile;
        let reports = access.bucket.as_deref().map(|bucket| S3Reports::new(&self.sdk, bucket));
        Outlets { reports: reports.map(|to| Arc::new(to) as _), announcer: self.announcer() }
    }

    /// The event bus of announcements, if the environment names it.
    #[must_use]
    pub fn announcer(&self) -> Option<Arc<dyn Announcer>> {
        let bus = self.app.config().reconcile.bus.as_deref();
        bus.map(|bus| Arc::new(EventBus::new(&self.sdk, bus)) as _)
    }
}
