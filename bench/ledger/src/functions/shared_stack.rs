//! What all functions share: one table of the local stack's embedded engine, one tenant and one merchant. Each function
//! has a customer of its own, with the same money.

use super::operation::{Operation, PerOperation};
use super::payer::{self, FUNDS, Payer};
use super::program::{self, OURS, Opponent};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, TimeToLiveSpecification,
};
use ledger_tests::cloud::proxy;
use ledger_tests::http::{Host, World};
use ledger_tests::lambda::{Function, Program, Reply, Secrets, events};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const TENANT: &str = "side-by-side";

/// The table and what is in it.
#[derive(Debug)]
pub struct SharedStack {
    host: Arc<Host>,
    world: World,
    /// The id of the merchant that is paid.
    merchant: String,
    secrets: Secrets,
}

/// A function that is measured.
#[derive(Debug)]
pub struct Candidate {
    /// Its name.
    pub name: &'static str,
    /// Its command.
    pub program: Program,
    variables: Vec<(String, String)>,
    payer: Payer,
}

impl SharedStack {
    /// Starts the local stack, and opens the tenant.
    ///
    /// # Panics
    /// When the stack does not start.
    pub async fn new() -> Self {
        let host = Host::fresh();
        // Without a cap a wallet has money for any number of payments.
        let world = World::with_terms(Arc::clone(&host), TENANT, |terms| {
            terms.assets.values_mut().for_each(|asset| asset.cap = None);
        });
        let world = world.await;
        let merchant = world.merchant().await.id;
        let stripe = host.stack().stripe();
        let webhook_secrets: Vec<&str> = stripe.webhook_secrets.iter().map(|secret| secret.expose().as_str()).collect();
        let secrets = Secrets::start(stripe.api_key.expose(), &webhook_secrets).await;
        Self { host, world, merchant, secrets }
    }

    /// Our function, built by a profile. It gets the variables of the template, and the addresses of the services.
    ///
    /// # Errors
    /// If it cannot be built as the profile says.
    ///
    /// # Panics
    /// When it does not build.
    pub async fn ours(&self, profile: &str) -> Result<Candidate, String> {
        let program = program::ours(profile)?;
        let template = template_variables(self.host.stack().table());
        let variables = template.into_iter().chain(self.secrets.variables()).collect();
        Ok(self.candidate(OURS, program, variables).await)
    }

    /// An opponent, in the folder that `bench/functions/install` makes.
    ///
    /// # Errors
    /// If it is not installed.
    ///
    /// # Panics
    /// When the engine does not create its table.
    pub async fn opponent(&self, opponent: Opponent, installed: &Path) -> Result<Candidate, String> {
        let program = opponent.program(installed)?;
        let [(clients, client), ..] = events::CLIENTS;
        let mut variables = vec![
            ("TABLE_NAME", self.host.stack().table().to_owned()),
            ("LOG_LEVEL", "info".to_owned()),
            (clients, client.to_owned()),
        ];
        if opponent != Opponent::PythonBoto3 {
            let table = format!("idempotency-{}", opponent.name());
            self.create_idempotency_table(&table).await;
            variables.push(("IDEMPOTENCY_TABLE_NAME", table));
        }
        let mut variables: Vec<_> = variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        if opponent == Opponent::PythonBoto3 {
            variables.extend(self.secrets.variables());
        }
        Ok(self.candidate(opponent.name(), program, variables).await)
    }

    async fn candidate(&self, name: &'static str, program: Program, mut variables: Vec<(String, String)>) -> Candidate {
        let customer = self.world.customer().await;
        self.world.adjust(&json!({"customer_id": customer.id}), "credit", FUNDS).await;
        let url = self.host.stack().dynamodb_url().to_owned();
        variables.push((ENDPOINT.to_owned(), url));
        Candidate { name, program, variables, payer: Payer::new(TENANT, &customer.id, &self.merchant) }
    }

    /// The table of Powertools' Idempotency utility, as its documentation has it.
    async fn create_idempotency_table(&self, name: &str) {
        let key = KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash).build();
        let id = AttributeDefinition::builder().attribute_name("id").attribute_type(ScalarAttributeType::S).build();
        let expiry = TimeToLiveSpecification::builder().attribute_name("expiration").enabled(true).build();
        let client = self.world.table();
        let table = client.create_table().table_name(name).billing_mode(BillingMode::PayPerRequest);
        let table = table.key_schema(key.expect("a key")).attribute_definitions(id.expect("an attribute"));
        table.send().await.expect("the engine creates the table");
        let expiry =
            client.update_time_to_live().table_name(name).time_to_live_specification(expiry.expect("all is set"));
        expiry.send().await.expect("the engine takes the attribute");
    }

    /// The calls of the store for each operation, by name, with warm caches.
    ///
    /// # Errors
    /// If a reply is not as expected.
    pub async fn calls(&self, candidate: &Candidate) -> Result<PerOperation<BTreeMap<String, u64>>, String> {
        let (url, calls) = proxy::counting(self.host.stack().dynamodb_url()).await;
        let mut function = candidate.start_over(&candidate.program, Some(&url)).await;
        let _ = function.ready().await;
        candidate.warm_up(&function, 2).await?;
        let mut found = PerOperation::default();
        for operation in Operation::ALL {
            let _ = calls.take();
            candidate.request(&function, operation).await?;
            found[operation.place()] = calls.take();
        }
        Ok(found)
    }
}

/// The variable with the store's address.
const ENDPOINT: &str = "LEDGER_ENDPOINT_URL";

/// The variables that the template gives our function, but for those of secrets. The limit on the tenant's rate is the
/// highest: the requests here follow each other without a pause.
fn template_variables(table: &str) -> Vec<(String, String)> {
    let [clients, ..] = events::CLIENTS;
    [
        clients,
        ("TABLE_NAME", table),
        ("LEDGER_NAME", table),
        ("LOG_LEVEL", "info"),
        ("TENANT_REQUESTS_PER_SECOND", "100000"),
        ("CALLER_REQUESTS_PER_SECOND", "100000"),
        ("FRONT_END_SECRET_DIGESTS", ""),
        ("LOG_PSEUDONYM_KEY", ""),
        ("STRIPE_ACCOUNT", ""),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

impl Candidate {
    /// Starts the function by its command, or by another one that runs it, without waiting.
    pub(super) async fn start(&self, program: &Program) -> Function {
        self.start_over(program, None).await
    }

    async fn start_over(&self, program: &Program, store: Option<&str>) -> Function {
        let mut variables = self.variables.clone();
        if let Some(store) = store {
            // The last one of a name counts.
            variables.push((ENDPOINT.to_owned(), store.to_owned()));
        }
        Function::start(self.name, program, &variables).await
    }

    /// Sends some requests of each operation, the first of which make and replay the payment that is repeated.
    pub(super) async fn warm_up(&self, function: &Function, requests: u32) -> Result<(), String> {
        // The first use of the key is a payment, unless another process of this function has used it.
        let _ = function.invoke_raw(self.payer.event(Operation::Replay)).await;
        for _ in 0..requests {
            for operation in Operation::ALL {
                self.request(function, operation).await?;
            }
        }
        Ok(())
    }

    /// Sends one request, and checks its reply.
    pub(super) async fn request(&self, function: &Function, operation: Operation) -> Result<(), String> {
        let reply = function.invoke_raw(self.payer.event(operation)).await;
        self.check(operation, &reply)
    }

    /// An event of an operation.
    pub(super) fn event(&self, operation: Operation) -> String {
        self.payer.event(operation)
    }

    /// Checks a reply.
    pub(super) fn check(&self, operation: Operation, reply: &Reply) -> Result<(), String> {
        payer::check(operation, reply).map_err(|wrong| format!("{}: {wrong}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger_tests::cloud::Template;
    use std::collections::BTreeSet;

    #[test]
    fn our_function_gets_the_variables_of_the_template() {
        let functions = Template::read().functions();
        let deployed = functions.into_iter().find(|function| function.binary == OURS).unwrap();
        let mut ours: BTreeSet<String> = template_variables("t").into_iter().map(|(name, _)| name).collect();
        ours.extend(["STRIPE_SECRET_ID", "MARKER_KEYS_SECRET_ID", "CARD_PIN_KEYS_SECRET_ID"].map(str::to_owned));
        assert_eq!(ours, deployed.environment);
    }
}
