//! Alarms and dashboard watch existing metrics, and each alarm names a section and a topic.
//! The required alarms are listed here with their thresholds.
use ledger_runtime::metrics::{Metric, NAMESPACE};
use ledger_tests::cloud::Template;
use ledger_tests::cloud::alarms::{self, Alarm, Watched};
use ledger_tests::cloud::operations;
use ledger_tests::documents;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const PAGE: &str = "PageTopic";
const TICKET: &str = "TicketTopic";
const LAMBDA: &str = "AWS/Lambda";
const SQS: &str = "AWS/SQS";
const STATES: &str = "AWS/States";
const REPLAYS_MAX: &str = r#"{"Ref":"ReplayPercentMax"}"#;
const DEAD: &str = "ApproximateNumberOfMessagesVisible";

/// A required alarm: why, id, namespace, metric, statistic, seconds, threshold, topic.
type Wanted = (&'static str, &'static str, &'static str, &'static str, &'static str, u64, &'static str, &'static str);

const WANTED: [Wanted; 43] = [
    ("conflicts in 5 minutes", "ConflictsAlarm", NAMESPACE, "TransactionConflict", "Sum", 300, "5", TICKET),
    ("the books break", "ReconciliationBreakAlarm", NAMESPACE, "ReconciliationBreak", "Sum", 60, "0", PAGE),
    ("two effects", "DuplicateEffectAlarm", NAMESPACE, "DuplicateEffect", "Sum", 60, "0", PAGE),
    ("below zero", "NegativeBalanceAlarm", NAMESPACE, "NegativeBalance", "Sum", 60, "0", PAGE),
    ("another tenant's", "CrossTenantDeniedAlarm", NAMESPACE, "CrossTenantDenied", "Sum", 60, "0", PAGE),
    ("IAM refuses", "StoreDeniedAlarm", NAMESPACE, "StoreDenied", "Sum", 60, "0", PAGE),
    ("dead letters", "OutboxDeadLettersAlarm", SQS, DEAD, "Maximum", 60, "0", PAGE),
    ("dead letters", "JobsDeadLettersAlarm", SQS, DEAD, "Maximum", 60, "0", TICKET),
    ("dead letters", "StreamDeadLettersAlarm", SQS, DEAD, "Maximum", 60, "0", TICKET),
    ("stuck in flight", "StuckInFlightAlarm", NAMESPACE, "StuckInFlight", "Sum", 60, "0", PAGE),
    ("the outbox lags, s", "OutboxLagAlarm", NAMESPACE, "OutboxLag", "p99", 300, "5", TICKET),
    ("the oldest unpublished, s", "OldestUnpublishedAlarm", NAMESPACE, "OldestUnpublished", "Maximum", 60, "300", PAGE),
    ("dead letters", "PutAsideDeadLettersAlarm", SQS, DEAD, "Maximum", 60, "0", TICKET),
    ("dead letters", "ReceiverDeadLettersAlarm", SQS, DEAD, "Maximum", 60, "0", TICKET),
    ("the oldest unknown, s", "OldestInFlightAlarm", NAMESPACE, "OldestInFlight", "Maximum", 60, "300", PAGE),
    ("waits, ms", "InFlightWaitAlarm", NAMESPACE, "InFlightWait", "p99", 300, "1000", TICKET),
    ("too many replays, %", "ReplayRateAlarm", NAMESPACE, "IdempotencyReplay", "Sum", 900, REPLAYS_MAX, TICKET),
    ("conflicts, %", "ClaimConflictsAlarm", NAMESPACE, "InFlightWait", "SampleCount", 900, "0.05", TICKET),
    ("the webhook's signatures", "WebhookRefusedAlarm", NAMESPACE, "WebhookRefused", "Sum", 300, "5", TICKET),
    ("recipients are probed", "RecipientUnavailableAlarm", NAMESPACE, "RecipientUnavailable", "Sum", 300, "50", TICKET),
    ("bank holidays", "BankHolidaysEndAlarm", NAMESPACE, "BankHolidaysEnd", "Sum", 60, "0", TICKET),
    ("no acceptance", "BankFileNotAcceptedAlarm", NAMESPACE, "BankFileNotAccepted", "Sum", 3600, "0", PAGE),
    ("no debit", "BankFileNotDebitedAlarm", NAMESPACE, "BankFileNotDebited", "Sum", 3600, "0", TICKET),
    ("no decider", "NoDeciderAlarm", NAMESPACE, "NoDecider", "Sum", 3600, "0", TICKET),
    ("a merchant's volume", "VolumeExceededAlarm", NAMESPACE, "VolumeExceeded", "Sum", 60, "0", TICKET),
    ("iterator age, ms", "StreamAgeAlarm", LAMBDA, "IteratorAge", "Maximum", 60, "60000", TICKET),
    ("a tenant's misuse", "FingerprintMismatchAlarm", NAMESPACE, "FingerprintMismatch", "Sum", 60, "10", TICKET),
    ("fail closed, %", "FailClosedAlarm", NAMESPACE, "FailClosed", "Sum", 60, "1", PAGE),
    ("latency, ms", "LatencyAlarm", "AWS/ApiGateway", "Latency", "p99", 300, "500", TICKET),
    ("functions throttled", "FunctionThrottlesAlarm", LAMBDA, "Throttles", "Sum", 300, "5", PAGE),
    ("the store throttled", "StoreThrottledAlarm", NAMESPACE, "Throttled", "Sum", 300, "5", TICKET),
    ("functions fail", "FunctionErrorsAlarm", LAMBDA, "Errors", "Sum", 300, "2", PAGE),
    ("workers fail", "WorkerErrorsAlarm", LAMBDA, "Errors", "Sum", 300, "2", PAGE),
    ("workers throttled", "WorkerThrottlesAlarm", LAMBDA, "Throttles", "Sum", 300, "5", PAGE),
    ("no tokens", "TokenClaimsAlarm", LAMBDA, "Errors", "Sum", 300, "2", PAGE),
    ("no tokens", "TokenClaimsAlarm", LAMBDA, "Throttles", "Sum", 300, "2", PAGE),
    ("no tick can be sent", "TicksLostAlarm", "AWS/Scheduler", "TargetErrorCount", "Sum", 300, "0", TICKET),
    ("ticks given up", "TicksLostAlarm", "AWS/Scheduler", "InvocationDroppedCount", "Sum", 300, "0", TICKET),
    ("the trail waits, s", "SealingLagAlarm", NAMESPACE, "SealingLag", "Maximum", 300, "3600", TICKET),
    ("dead letters", "MigrateDeadLettersAlarm", SQS, DEAD, "Maximum", 60, "0", TICKET),
    ("no run over an export", "ReconcileExportFailedAlarm", STATES, "ExecutionsFailed", "Sum", 300, "0", TICKET),
    ("no run over an export", "ReconcileExportFailedAlarm", STATES, "ExecutionsTimedOut", "Sum", 300, "0", TICKET),
    ("no run over an export", "ReconcileExportFailedAlarm", STATES, "ExecutionsAborted", "Sum", 300, "0", TICKET),
];

fn every() -> Vec<Alarm> {
    alarms::all(&Template::read())
}

/// The metrics of the dashboard and of all alarms.
fn watched(template: &Template) -> Vec<Watched> {
    let of_alarms = alarms::all(template).into_iter().flat_map(|alarm| alarm.watched);
    of_alarms.chain(alarms::on_dashboard(&alarms::dashboard(template))).collect()
}

/// Metrics of the ledger's namespace that no code counts.
fn unknown(template: &Template) -> BTreeSet<String> {
    let known: BTreeSet<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
    let ours = watched(template).into_iter().filter(|watched| watched.namespace == NAMESPACE);
    ours.map(|watched| watched.metric).filter(|name| !known.contains(name.as_str())).collect()
}

#[test]
fn watched_metrics_are_counted_by_the_code() {
    let template = Template::read();
    assert_eq!(unknown(&template), BTreeSet::new());
    // No metric is overlooked, however it is written.
    let written = template.at("/Resources").to_string().matches(NAMESPACE).count();
    let found = alarms::on_dashboard(&alarms::dashboard(&template)).into_iter().map(|watched| watched.namespace);
    let found = found.filter(|namespace| namespace == NAMESPACE).count();
    let in_alarms: usize = alarms::all(&template).iter().map(of_ours).sum();
    assert_eq!(written, found + in_alarms);
}

fn of_ours(alarm: &Alarm) -> usize {
    alarm.watched.iter().filter(|watched| watched.namespace == NAMESPACE).count()
}

#[test]
fn mistyped_metric_is_found() {
    let template = Template::read();
    let in_alarm = template.with(|root| {
        root["Resources"]["BrokenAlarm"]["Properties"]["MetricName"] = "Broke".into();
    });
    assert!(unknown(&in_alarm).contains("Broke"));
    let in_query = template.with(|root| {
        let query = &mut root["Resources"]["RateLimitedAlarm"]["Properties"]["Metrics"][0]["Expression"];
        *query = query.as_str().expect("a query").replace("SUM(RateLimited)", "SUM(Limited)").into();
    });
    assert!(unknown(&in_query).contains("Limited"));
    let on_dashboard = template.with(|root| {
        let body = &mut root["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"];
        *body = body.as_str().expect("a body").replace("\"OperationParked\"", "\"Parked\"").into();
    });
    assert!(unknown(&on_dashboard).contains("Parked"));
}

#[test]
fn required_alarms_exist() {
    let alarms = every();
    for (what, id, namespace, metric, statistic, period, threshold, topic) in WANTED {
        let alarm = alarms.iter().find(|alarm| alarm.id == id).unwrap_or_else(|| panic!("{what}: no {id}"));
        let [namespace, metric, statistic] = [namespace, metric, statistic].map(str::to_owned);
        let wanted = Watched { namespace, metric, statistic, period };
        assert!(alarm.watched.contains(&wanted), "{what}: {:?}", alarm.watched);
        assert_eq!(alarm.threshold, threshold, "{what}");
        assert_eq!(alarm.topics, [topic], "{what}");
        assert_eq!(alarm.properties["ComparisonOperator"], "GreaterThanThreshold", "{what}");
    }
    // Grouped by tenant.
    let misuse = alarms.iter().find(|alarm| alarm.id == "FingerprintMismatchAlarm").expect("the alarm exists");
    let query = misuse.properties["Metrics"][0]["Expression"].as_str().expect("a query");
    assert!(query.contains(" GROUP BY tenant"), "{query}");
}

/// The page and the section that an alarm's description names.
fn section_named(alarm: &Alarm) -> (&str, &str) {
    let named = alarm.description.split_once("docs/operations/").and_then(|(_, rest)| rest.split_once(", \""));
    let named = named.and_then(|(page, rest)| Some((page, rest.split_once('"')?.0)));
    named.unwrap_or_else(|| panic!("{} names no section: {}", alarm.id, alarm.description))
}

/// An alarm's name, without the stack and the tenant.
fn name_of(alarm: &Alarm) -> &str {
    let id = alarm.id.split('&').next().unwrap_or_default();
    id.strip_suffix("Alarm").unwrap_or(id)
}

#[test]
fn every_alarm_has_a_topic_and_a_documented_section() {
    let pages = operations::pages();
    for alarm in every() {
        let [topic] = &alarm.topics[..] else { panic!("{} calls {:?}", alarm.id, alarm.topics) };
        assert!([PAGE, TICKET].contains(&topic.as_str()), "{} calls {topic}", alarm.id);
        assert!(!alarm.watched.is_empty(), "{} watches no metric", alarm.id);
        assert!(alarm.description.len() <= 1024, "{}: CloudWatch takes 1,024 characters", alarm.id);
        let (page, section) = section_named(&alarm);
        let page = pages.get(page).unwrap_or_else(|| panic!("{}: no page docs/operations/{page}", alarm.id));
        assert!(page.sections().contains(section), "{}: {} has no section {section:?}", alarm.id, page.name);
        let named = format!("`{}", name_of(&alarm));
        assert!(page.text.contains(&named), "{}: {} does not name it", alarm.id, page.name);
    }
}

#[test]
fn operations_index_links_every_alarm_to_its_section() {
    let (pages, alarms) = (operations::pages(), every());
    let rows = pages["index.md"].rows();
    for alarm in &alarms {
        let of_alarm: Vec<_> = rows.iter().filter(|row| row.names.contains(&name_of(alarm))).collect();
        let [row] = of_alarm[..] else { panic!("{}: {} rows of the index name it", alarm.id, of_alarm.len()) };
        let (page, section) = section_named(alarm);
        assert_eq!(row.target, format!("{page}#{}", documents::anchor(section)), "{}", alarm.id);
        let calls = if alarm.topics == [PAGE] { "page" } else { "ticket" };
        assert_eq!(row.second, calls, "{}", alarm.id);
    }
    let known: BTreeSet<&str> = alarms.iter().map(name_of).collect();
    let named = rows.iter().flat_map(|row| row.names.iter().copied());
    assert_eq!(named.filter(|name| !known.contains(name)).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn dashboard_shows_every_alarm() {
    let template = Template::read();
    let dashboard = alarms::dashboard(&template);
    let widgets = dashboard["widgets"].as_array().expect("widgets").iter();
    let shown = widgets.flat_map(|widget| widget["properties"]["alarms"].as_array().into_iter().flatten());
    let mut shown: Vec<&str> = shown.map(|arn| arn.as_str().expect("an ARN")).collect();
    shown.sort_unstable();
    // The dashboard cannot name an alarm that a stack may lack.
    let is_always = |alarm: &&Alarm| template.at(&format!("/Resources/{}/Condition", alarm.id)).is_null();
    let always = |alarm: &&Alarm| !alarm.is_of_tenant && is_always(alarm);
    let mut wanted: Vec<String> = every().iter().filter(always).map(|alarm| format!("${{{}.Arn}}", alarm.id)).collect();
    wanted.sort_unstable();
    assert_eq!(shown, wanted);
}

#[test]
fn dashboard_shows_percentiles_of_every_tenant_and_operation_from_the_log_lines_of_the_apis() {
    let template = Template::read();
    let dashboard = alarms::dashboard(&template);
    let widgets = dashboard["widgets"].as_array().expect("widgets").iter();
    let queries: Vec<&str> = widgets.filter_map(|widget| widget["properties"]["query"].as_str()).collect();
    let [query] = queries[..] else { panic!("one widget of logs, not {queries:?}") };
    let (sources, rest) = query.split_once(" | filter ").expect("a filter");
    let sources: Vec<&str> = sources.split(" | ").collect();
    let apis = ["Customer", "Merchant", "Admin", "Terminal"].map(|name| format!("{name}Logs"));
    assert_eq!(sources, apis.each_ref().map(|group| format!("SOURCE '${{{group}}}'")));
    for group in apis {
        assert_eq!(template.at(&format!("/Resources/{group}/Type")), "AWS::Logs::LogGroup", "{group}");
    }
    // The names are those of the log line: `ledger_runtime::logging::log_request`.
    assert_eq!(
        rest,
        "message = 'request' and ispresent(operation) | stats pct(latency_ms, 50) as p50, pct(latency_ms, 99) as p99, \
         pct(latency_ms, 99.9) as p99_9, count(*) as requests by tenant, operation | sort requests desc"
    );
}

/// The functions whose errors or throttles no alarm watches. The tasks of a state machine fail their machine instead.
fn unwatched(template: &Template) -> Vec<String> {
    let of_machines = ["ReconcileExportFunction"];
    let alarms = alarms::all(template);
    let looks = |metric: &str, function: &str| {
        let named = json!([{"Name": "FunctionName", "Value": {"Ref": function}}]);
        alarms.iter().flat_map(|alarm| alarm.properties["Metrics"].as_array().into_iter().flatten()).any(|of| {
            let of = &of["MetricStat"]["Metric"];
            of["Namespace"] == LAMBDA && of["MetricName"] == metric && of["Dimensions"] == named
        })
    };
    let functions = template.functions().into_iter().map(|function| function.id);
    let functions = functions.filter(|id| !of_machines.contains(&id.as_str()));
    let each = functions.flat_map(|id| ["Errors", "Throttles"].map(|metric| (metric, id.clone())));
    each.filter(|(metric, id)| !looks(metric, id)).map(|(metric, id)| format!("{metric} of {id}")).collect()
}

#[test]
fn errors_and_throttles_of_every_function_are_watched() {
    let template = Template::read();
    assert_eq!(unwatched(&template), Vec::<String>::new());
    let without = template.with(|root| drop(root["Resources"].as_object_mut().map(|of| of.remove("TokenClaimsAlarm"))));
    assert_eq!(unwatched(&without), ["Errors of TokenClaimsFunction", "Throttles of TokenClaimsFunction"]);
}

/// The metric that each worker with a tick per tenant measures in every run, zero included.
const MEASURED: [(&str, &str, &str); 3] = [
    ("JobsQueue", "SealingLag", TICKET),
    ("OutboxQueue", "OldestUnpublished", PAGE),
    ("ReconcileQueue", "Reconciled", TICKET),
];

/// Tenants whose silence would raise no alarm, or would be hidden in a sum over tenants.
fn tenants_without_silence_alarm(template: &Template) -> Vec<String> {
    let alarms = alarms::all(template);
    let is_for_silence = |alarm: &&Alarm| alarm.properties["ComparisonOperator"] == "LessThanThreshold";
    let sums = alarms.iter().filter(is_for_silence).filter(|alarm| !alarm.is_of_tenant);
    let mut found: Vec<String> = sums.map(|alarm| format!("{} is a sum over tenants", alarm.id)).collect();
    for schedule in template.schedules().into_values().filter(|schedule| schedule.tenants == "Tenants") {
        let measured = MEASURED.iter().find(|(queue, ..)| *queue == schedule.queue);
        let (_, metric, topic) =
            measured.unwrap_or_else(|| panic!("{}: no metric is listed for its runs", schedule.queue));
        let has_alarm = alarms.iter().filter(is_for_silence).filter(|alarm| alarm.is_of_tenant).any(|alarm| {
            let of = |name: &str| &alarm.properties[name];
            alarm.watched.iter().any(|watched| watched.metric == *metric)
                && *of("Dimensions") == json!([{"Name": "tenant", "Value": {"Fn::Sub": "${Tenant}"}}])
                && *of("Threshold") == 1
                // An alarm that never had data is not raised; one whose data ends is.
                && *of("TreatMissingData") == "missing"
                && *of("InsufficientDataActions") == json!([{"Ref": topic}])
                && alarm.topics == [*topic]
        });
        if !has_alarm {
            found.push(format!("no alarm when ticks of {} end for one tenant", schedule.queue));
        }
    }
    found
}

#[test]
fn one_silent_tenant_raises_an_alarm() {
    let template = Template::read();
    assert_eq!(tenants_without_silence_alarm(&template), Vec::<String>::new());
    let looped = |root: &mut Value, id: &str, field: &str, value: Value| {
        let all = &mut root["Resources"]["Fn::ForEach::Silences"][2];
        all[format!("{id}&{{Tenant}}")]["Properties"][field] = value;
    };
    for (id, field, value) in [
        ("OutboxSilent", "Dimensions", json!([])),
        ("JobsSilent", "TreatMissingData", "notBreaching".into()),
        ("OutboxSilent", "InsufficientDataActions", json!([])),
        ("ReconciliationSilent", "MetricName", "SealingLag".into()),
    ] {
        let changed = template.with(|root| looped(root, id, field, value.clone()));
        assert_eq!(tenants_without_silence_alarm(&changed).len(), 1, "{id}.{field} = {value}");
    }
    // The former alarm: the runs of all tenants in one sum.
    let summed = template.with(|root| {
        root["Resources"]["JobsSilentAlarm"] = json!({"Type": "AWS::CloudWatch::Alarm", "Properties": {
            "AlarmDescription": "", "Namespace": LAMBDA, "MetricName": "Invocations", "Statistic": "Sum", "Period": 300,
            "Dimensions": [{"Name": "FunctionName", "Value": {"Ref": "JobsFunction"}}], "Threshold": 1,
            "ComparisonOperator": "LessThanThreshold", "TreatMissingData": "breaching",
            "AlarmActions": [{"Ref": TICKET}],
        }});
    });
    assert_eq!(tenants_without_silence_alarm(&summed), ["JobsSilentAlarm is a sum over tenants"]);
}

/// Alarms whose OK would send mail: an alarm is OK once when it is made. A paging service closes its incident on an OK,
/// so pages send theirs, to subscriptions made after every alarm.
fn ok_mails(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for alarm in alarms::all(template) {
        let ok = &alarm.properties["OKActions"];
        let is_page = alarm.topics == [PAGE] && !alarm.is_of_tenant;
        let right = if is_page { *ok == json!([{"Ref": PAGE}]) } else { ok.is_null() };
        if !right {
            found.push(format!("{}: {ok}", alarm.id));
        }
    }
    for id in template.of_kind("AWS::SNS::Subscription") {
        // The dashboard names every alarm, and so is made after them.
        if template.at(&format!("/Resources/{id}/DependsOn")) != "Dashboard" {
            found.push(format!("{id} may be confirmed before the alarms are made"));
        }
    }
    found
}

#[test]
fn first_deployment_sends_no_ok_mails() {
    let template = Template::read();
    assert_eq!(ok_mails(&template), Vec::<String>::new());
    let changed = template.with(|root| {
        root["Resources"]["LatencyAlarm"]["Properties"]["OKActions"] = json!([{"Ref": TICKET}]);
        drop(root["Resources"]["PageSubscription"].as_object_mut().map(|of| of.remove("DependsOn")));
    });
    assert_eq!(ok_mails(&changed).len(), 2);
}

/// Whether few replays raise an alarm: on a good network an app hardly ever repeats a request.
fn has_alarm_for_few_replays(template: &Template) -> bool {
    let metrics = template.properties("ReplayRateAlarm")["Metrics"].as_array().expect("metrics");
    metrics.iter().any(|metric| metric["Expression"].to_string().contains('<'))
}

#[test]
fn few_replays_raise_no_alarm() {
    let template = Template::read();
    assert!(!has_alarm_for_few_replays(&template));
    let changed = template.with(|root| {
        let expression =
            "IF(keyed >= 500, IF((rate > 3 * ${ReplayPercentMax}) OR (rate < ${ReplayPercentMax} / 10), 1, 0), 0)";
        root["Resources"]["ReplayRateAlarm"]["Properties"]["Metrics"][0]["Expression"] = json!({"Fn::Sub": expression});
    });
    assert!(has_alarm_for_few_replays(&changed));
}

/// Every message that a queue or the stream gives up on is noticed.
#[test]
fn every_dead_letter_queue_has_an_alarm() {
    let template = Template::read();
    let dead: BTreeSet<&str> = template.of_kind("AWS::SQS::Queue").filter(|id| id.ends_with("DeadLetters")).collect();
    let target = |queue: &str| template.properties(queue)["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"].clone();
    for queue in template.of_kind("AWS::SQS::Queue").filter(|id| !dead.contains(id)) {
        let target = target(queue);
        let name = target.as_str().and_then(|name| name.strip_suffix(".Arn"));
        assert!(name.is_some_and(|name| dead.contains(name)), "{queue} has no dead-letter queue: {target}");
    }
    let alarms = every();
    for queue in dead {
        let name = format!("{queue}.QueueName");
        let of_queue = |alarm: &Alarm| alarm.properties["Dimensions"][0]["Value"]["Fn::GetAtt"] == name.as_str();
        let alarm = alarms.iter().find(|alarm| of_queue(alarm)).unwrap_or_else(|| panic!("{queue} has no alarm"));
        assert!(alarm.watched.iter().any(|watched| watched.metric == DEAD), "{queue}: {:?}", alarm.watched);
    }
}
