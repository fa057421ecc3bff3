//! What calls each function: the template's routes equal the document's and the routers', with tokens required where
//! the document says so; workers have queues, and each queue its schedule.
use ledger_local::faces::FACES;
use ledger_local::gateway::CORS;
use ledger_local::issuer::Api;
use ledger_local::stack::simulator_access;
use ledger_runtime::clock::Clock;
use ledger_runtime::readback::MetricSource;
use ledger_tests::cloud::Template;
use ledger_tests::cloud::template::{Route, Schedule};
use ledger_tests::http::{Call, Who, host};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stripe_simulator::SimulatorConfig;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The function of each route, and the routes with several functions.
fn of_template(template: &Template) -> (BTreeMap<Route, String>, Vec<Route>) {
    let (mut routes, mut twice) = (BTreeMap::new(), Vec::new());
    for function in template.functions() {
        for route in function.routes {
            if let Some(other) = routes.insert(route.clone(), function.binary.clone()) {
                twice.push(Route { path: format!("{} of {other} too", route.path), ..route });
            }
        }
    }
    (routes, twice)
}

/// The operations of a document, and whether each requires a token.
fn of_document(document: &Value) -> BTreeSet<Route> {
    let token =
        |needs: &Value| needs.as_array().is_some_and(|needs| needs.iter().any(|one| one.get("bearer").is_some()));
    let by_default = document.get("security").is_none_or(token);
    let mut routes = BTreeSet::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for method in METHODS.into_iter().filter(|method| item.get(*method).is_some()) {
            let own = item[method].get("security").map(token);
            let authorized = own.unwrap_or(by_default);
            routes.insert(Route { method: method.to_uppercase(), path: path.clone(), authorized });
        }
    }
    routes
}

fn document() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../openapi.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("openapi.json")).expect("JSON")
}

/// The function of each operation, by the routers in the code.
async fn of_code() -> BTreeMap<Route, String> {
    let nowhere = "http://127.0.0.1:9";
    let (app, counting) = host::app(
        (host::client(nowhere).await, "ecopay"),
        Clock::system(),
        &simulator_access(nowhere, &SimulatorConfig::default()),
    );
    let mut routes = BTreeMap::new();
    let metrics: Arc<dyn MetricSource> = Arc::new(counting);
    for (name, face) in FACES {
        let (_, declarations) = face(&app, &metrics).into_parts();
        let document = ledger_local::openapi::complete(&declarations);
        routes.extend(of_document(&document).into_iter().map(|route| (route, name.to_owned())));
    }
    routes
}

#[tokio::test]
async fn template_routes_equal_the_document_and_the_code() {
    let (template, twice) = of_template(&Template::read());
    assert_eq!(twice, []);
    assert_eq!(template, of_code().await);
    assert_eq!(template.into_keys().collect::<BTreeSet<_>>(), of_document(&document()));
}

#[tokio::test]
async fn lost_moved_or_open_route_is_found() {
    let code = of_code().await;
    let integration = |name: &str| json!({"$ref": format!("#/components/x-amazon-apigateway-integrations/{name}")});
    let of = "x-amazon-apigateway-integration";
    let changes: [&dyn Fn(&mut Value); 5] = [
        &|paths| drop(paths["/v1/me/payments"].as_object_mut().expect("operations").remove("post")),
        &|paths| {
            paths["/v1/me"]["get"][of] = integration("merchant");
            paths["/v1/merchant"]["get"][of] = integration("customer");
        },
        &|paths| paths["/v1/admin/cards"]["post"]["security"] = json!([{"NONE": []}]),
        &|paths| drop(paths["/v1/terminal/totals"]["get"].as_object_mut().expect("an operation").remove("security")),
        &|paths| paths["/v1/me/more"] = json!({"get": {of: integration("customer")}}),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let changed = Template::read().with(|root| {
            change(&mut root["Resources"]["Api"]["Properties"]["DefinitionBody"]["paths"]);
        });
        assert_ne!(of_template(&changed).0, code, "change {at}");
    }
}

/// The number of permissions by which the API may call each function with routes. One permission per route, as SAM
/// makes them, exceeds the 20,480 characters of a function's policy. Without any, every request is a 500.
fn permitted(template: &Template) -> BTreeMap<String, usize> {
    let api = "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${Api}/*";
    let mut permitted = BTreeMap::new();
    for id in template.of_kind("AWS::Lambda::Permission") {
        let permission = template.properties(id);
        if permission["Principal"] == "apigateway.amazonaws.com" {
            assert_eq!(permission["SourceArn"]["Fn::Sub"], api, "{id}");
            assert_eq!(permission["Action"], "lambda:InvokeFunction", "{id}");
            let alias = permission["FunctionName"]["Ref"].as_str().and_then(|name| name.strip_suffix(".Alias"));
            *permitted.entry(alias.unwrap_or_else(|| panic!("{id} names no alias")).to_owned()).or_default() += 1;
        }
    }
    permitted
}

#[test]
fn api_can_call_each_function_by_one_permission() {
    let template = Template::read();
    let with_routes = template.functions().into_iter().filter(|function| !function.routes.is_empty());
    let wanted: BTreeMap<String, usize> = with_routes.map(|function| (function.id, 1)).collect();
    assert_eq!(wanted.len(), FACES.len());
    assert_eq!(permitted(&template), wanted);
    let without = template.with(|root| drop(root["Resources"].as_object_mut().map(|of| of.remove("AdminPermission"))));
    assert_ne!(permitted(&without), wanted);
}

#[test]
#[should_panic(expected = "is not in the definition of the API")]
fn route_with_its_own_sam_permission_is_found() {
    let event = json!({"Type": "HttpApi", "Properties": {"Method": "GET", "Path": "/v1/admin/more"}});
    let _ = Template::read()
        .with(|root| root["Resources"]["AdminFunction"]["Properties"]["Events"] = json!({"More": event}))
        .functions();
}

/// The local gateway answers preflights as the deployed one does.
#[test]
fn local_cors_equals_the_templates() {
    let template = Template::read();
    let cors = &template.properties("Api")["CorsConfiguration"];
    let names = |name: &str| {
        let names = cors[name].as_array().unwrap_or_else(|| panic!("no list {name}")).iter();
        names.map(|name| name.as_str().expect("a name").to_owned()).collect::<BTreeSet<_>>()
    };
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(names("AllowMethods"), own(CORS.methods));
    assert_eq!(names("AllowHeaders"), own(CORS.request_headers));
    assert_eq!(names("ExposeHeaders"), own(CORS.exposed_headers));
    assert_eq!(cors["MaxAge"], CORS.max_age_s);
    assert!(cors.get("AllowCredentials").is_none(), "the local gateway sends no such header");
    for route in of_document(&document()) {
        assert!(CORS.methods.contains(&route.method.as_str()), "no page can call {} {}", route.method, route.path);
    }
    for header in ["content-digest", "signature", "signature-input", "idempotency-key", "authorization"] {
        assert!(CORS.request_headers.contains(&header), "{header}");
    }
}

/// The local gateway requires a token where the deployed one does.
#[tokio::test]
async fn local_gateway_requires_the_same_tokens() {
    let host = host::shared();
    let api = ledger_tests::http::Api::new(&host.stack().url());
    for route in of_template(&Template::read()).0.into_keys() {
        let method = route.method.parse().expect("a method");
        let answer = api.send(&Call::new(method, &route.path.replace(['{', '}'], ""), &Who::Anonymous)).await;
        let requires_token = answer.status == 401 && answer.header("www-authenticate") == Some("Bearer");
        assert_eq!(requires_token, route.authorized, "{route:?}: {answer:?}");
    }
}

/// Each route accepts the tokens of its own API's client, at API Gateway as at the local gateway.
#[test]
fn route_accepts_the_tokens_of_its_own_client() {
    let template = Template::read();
    let auth = &template.properties("Api")["Auth"];
    let named = |api: Api| match api {
        Api::Customer => "Customer",
        Api::Merchant => "Merchant",
        Api::Admin => "Admin",
    };
    assert_eq!(auth["DefaultAuthorizer"], "Admin");
    assert_eq!(auth["Authorizers"].as_object().map(serde_json::Map::len), Some(Api::ALL.len()));
    for api in Api::ALL {
        let name = named(api);
        let configuration = &auth["Authorizers"][name]["JwtConfiguration"];
        let clients = json!([{"Ref": format!("{name}Client")}]);
        let others = json!({"Ref": format!("Jwt{name}Audience")});
        assert_eq!(configuration["audience"], json!({"Fn::If": ["WithCognito", clients, others]}));
        assert_eq!(configuration["issuer"], template.at("/Outputs/IssuerUrl")["Value"]);
        // The function compares the client with the same list, and has no other API's.
        let own = json!({"Fn::If": [
            "WithCognito", {"Ref": format!("{name}Client")}, {"Fn::Join": [",", {"Ref": format!("Jwt{name}Audience")}]},
        ]});
        let variables = &template.properties(&format!("{name}Function"))["Environment"]["Variables"];
        for other in Api::ALL {
            let expected = if other == api { &own } else { &Value::Null };
            let variable = format!("{}_CLIENTS", named(other).to_uppercase());
            assert_eq!(&variables[&variable], expected, "{name}: {variable}");
        }
    }
    let mut seen = BTreeSet::new();
    for route in of_template(&template).0.into_keys().filter(|route| route.authorized) {
        let paths = &template.properties("Api")["DefinitionBody"]["paths"];
        let security = &paths[&route.path][route.method.to_lowercase()]["security"];
        let expected = match Api::of_route(&route.path) {
            Api::Admin => Value::Null,
            api => json!([{named(api): []}]),
        };
        assert_eq!(*security, expected, "{route:?}");
        seen.insert(Api::of_route(&route.path));
    }
    assert_eq!(seen.len(), Api::ALL.len());
}

/// People sign in by the code flow alone; a refresh token is good once, and an access token for minutes.
#[test]
fn clients_of_the_pool_get_codes_and_short_tokens() {
    let template = Template::read();
    for name in ["Customer", "Merchant", "Admin"] {
        let client = template.properties(&format!("{name}Client"));
        for (property, value) in [
            ("GenerateSecret", json!(false)),
            ("AllowedOAuthFlowsUserPoolClient", json!(true)),
            ("AllowedOAuthFlows", json!(["code"])),
            ("AllowedOAuthScopes", json!(["openid", "email"])),
            ("SupportedIdentityProviders", json!(["COGNITO"])),
            ("CallbackURLs", json!({"Ref": format!("{name}CallbackUrls")})),
            ("LogoutURLs", json!({"Ref": format!("{name}LogoutUrls")})),
            ("EnableTokenRevocation", json!(true)),
            ("PreventUserExistenceErrors", json!("ENABLED")),
            ("ReadAttributes", json!(["email"])),
            ("WriteAttributes", json!(["email"])),
        ] {
            assert_eq!(client[property], value, "{name} {property}");
        }
        assert_eq!(client["RefreshTokenRotation"]["Feature"], "ENABLED", "{name}");
        assert_eq!(client["TokenValidityUnits"]["AccessToken"], "minutes", "{name}");
        assert!(client["AccessTokenValidity"].as_u64().is_some_and(|minutes| minutes <= 15), "{name}");
        let callbacks = &template.parameter(&format!("{name}CallbackUrls"))["Default"];
        assert_eq!(*callbacks, ledger_local::sign_in::SHELL_CALLBACK, "{name}");
    }
    let pool = template.properties("UserPool");
    // A user is of a tenant for good. No attribute says of which API: one user signs in at every client.
    let attributes = json!([
        {"Name": "tenant", "AttributeDataType": "String", "Mutable": false},
        {"Name": "merchant_id", "AttributeDataType": "String", "Mutable": true},
    ]);
    assert_eq!(pool["Schema"], attributes);
    assert_eq!(pool["MfaConfiguration"], json!({"Ref": "MfaMode"}));
    assert_eq!(template.parameter("MfaMode")["Default"], "ON");
    assert_eq!(template.properties("SignInDomain")["UserPoolId"], json!({"Ref": "UserPool"}));
}

/// Other places of the template that name routes: throttles, alarms, the dashboard.
#[test]
fn named_routes_exist() {
    let template = Template::read();
    let routes = of_template(&template).0.into_keys();
    let known: BTreeSet<String> = routes.map(|route| format!("{} {}", route.method, route.path)).collect();
    let throttled = template.properties("Api")["RouteSettings"].as_object().expect("settings").keys().cloned();
    let mut named: Vec<String> = throttled.collect();
    for metric in template.properties("LatencyAlarm")["Metrics"].as_array().expect("metrics") {
        let dimensions = metric["MetricStat"]["Metric"]["Dimensions"].as_array().into_iter().flatten();
        let of = |name: &str| dimensions.clone().find(|of| of["Name"] == name).and_then(|of| of["Value"].as_str());
        named.extend(of("Method").zip(of("Resource")).map(|(method, path)| format!("{method} {path}")));
    }
    assert!(named.len() > 8, "{named:?}");
    let dashboard = ledger_tests::cloud::alarms::dashboard(&template).to_string();
    for row in dashboard.split("\"Method\",\"").skip(1) {
        let parts: Vec<&str> = row.splitn(5, '"').collect();
        named.push(format!("{} {}", parts[0], parts[4].split('"').next().expect("a path")));
    }
    for name in named {
        assert!(known.contains(&name), "there is no route {name}");
    }
}

/// Each folder under `functions` is deployed as one function.
#[test]
fn every_function_is_deployed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../functions");
    let folders = std::fs::read_dir(folder).expect("functions").map(|entry| entry.expect("a folder").file_name());
    let mut folders: Vec<String> = folders.map(|name| name.into_string().expect("a name")).collect();
    folders.sort_unstable();
    let mut binaries: Vec<String> = Template::read().functions().into_iter().map(|function| function.binary).collect();
    binaries.sort_unstable();
    assert_eq!(binaries, folders);
}

/// Each function is called by routes, by a queue that is filled every minute for each tenant (or each migrating one),
/// by a state machine, or by the user pool.
#[test]
fn every_function_has_a_caller() {
    let template = Template::read();
    let faces = FACES.map(|(name, _)| name);
    let schedules: Vec<Schedule> = template.schedules().into_values().collect();
    let machines = BTreeMap::from([("settlement", "SettlementSaga"), ("reconcile-export", "ReconcileExport")]);
    let (mut called, mut queues) = (BTreeMap::new(), Vec::new());
    for function in template.functions() {
        let by = match (&function.routes[..], &function.queues[..]) {
            ([_, ..], []) if faces.contains(&function.binary.as_str()) => "routes",
            ([], [queue]) => {
                queues.push(queue.clone());
                "a queue"
            }
            ([], []) if machines.contains_key(function.binary.as_str()) => {
                let machine = template.properties(machines[function.binary.as_str()]);
                let task = machine.pointer(&format!("/DefinitionSubstitutions/{}Alias", function.id));
                let alias = json!({"Ref": format!("{}.Alias", function.id)});
                assert_eq!(task, Some(&alias), "{}", function.id);
                "the state machine"
            }
            ([], []) => {
                let pool = template.properties("UserPool").pointer("/LambdaConfig/PreTokenGenerationConfig/LambdaArn");
                assert_eq!(pool, Some(&json!({"Ref": format!("{}.Alias", function.id)})), "{}", function.id);
                "the pool"
            }
            (routes, queues) => panic!("{}: {routes:?} {queues:?}", function.id),
        };
        called.insert(function.binary, by);
    }
    let workers = ["jobs", "migrate", "outbox", "reconcile"].map(|name| (name.to_owned(), "a queue"));
    let expected = faces.map(|name| (name.to_owned(), "routes")).into_iter().chain(workers);
    let expected = expected.chain([("token-claims".to_owned(), "the pool")]);
    let expected = expected.chain(machines.keys().map(|name| ((*name).to_owned(), "the state machine")));
    assert_eq!(called, expected.collect::<BTreeMap<_, _>>());

    let ticks = queues.into_iter().map(|queue| {
        let [expression, input] = ["rate(1 minute)", "{\"tenant\":\"${Tenant}\"}"].map(str::to_owned);
        let tenants = if queue == "MigrateQueue" { "MigratingTenants" } else { "Tenants" }.to_owned();
        Schedule { tenants, queue, expression, input }
    });
    assert_eq!(schedules.into_iter().collect::<BTreeSet<_>>(), ticks.collect::<BTreeSet<_>>());
}
