//! Alarms and dashboard look at metrics that there are, say what to do, and call somebody. The alarms that
//! must be there are written down here with their thresholds.
#![cfg(feature = "stack")]

use ledger_runtime::metrics::{Metric, NAMESPACE};
use ledger_tests::cloud::Template;
use ledger_tests::cloud::alarms::{self, Alarm, Watched};
use std::collections::BTreeSet;

const PAGE: &str = "PageTopic";
const TICKET: &str = "TicketTopic";
const LAMBDA: &str = "AWS/Lambda";
const SQS: &str = "AWS/SQS";
const STATES: &str = "AWS/States";
const DEAD: &str = "ApproximateNumberOfMessagesVisible";

/// What must be watched: why, alarm, namespace, metric, statistic, seconds, threshold, who is called.
type Wanted = (&'static str, &'static str, &'static str, &'static str, &'static str, u64, &'static str, &'static str);

const WANTED: [Wanted; 34] = [
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
    ("an unusual share of replays", "ReplayRateAlarm", NAMESPACE, "IdempotencyReplay", "Sum", 900, "0", TICKET),
    ("conflicts, %", "ClaimConflictsAlarm", NAMESPACE, "InFlightWait", "SampleCount", 900, "0.05", TICKET),
    ("the webhook's signatures", "WebhookRefusedAlarm", NAMESPACE, "WebhookRefused", "Sum", 300, "5", TICKET),
    ("iterator age, ms", "StreamAgeAlarm", LAMBDA, "IteratorAge", "Maximum", 60, "60000", TICKET),
    ("a tenant's misuse", "FingerprintMismatchAlarm", NAMESPACE, "FingerprintMismatch", "Sum", 60, "10", TICKET),
    ("fail closed, %", "FailClosedAlarm", NAMESPACE, "FailClosed", "Sum", 60, "1", PAGE),
    ("latency, ms", "LatencyAlarm", "AWS/ApiGateway", "Latency", "p99", 300, "500", TICKET),
    ("functions throttled", "FunctionThrottlesAlarm", LAMBDA, "Throttles", "Sum", 300, "5", PAGE),
    ("the store throttled", "StoreThrottledAlarm", NAMESPACE, "Throttled", "Sum", 300, "5", TICKET),
    ("functions fail", "FunctionErrorsAlarm", LAMBDA, "Errors", "Sum", 300, "2", PAGE),
    ("merchants wait, s", "CreditingLagAlarm", NAMESPACE, "CreditingLag", "Maximum", 300, "600", TICKET),
    ("the trail waits, s", "SealingLagAlarm", NAMESPACE, "SealingLag", "Maximum", 300, "3600", TICKET),
    ("dead letters", "MigrateDeadLettersAlarm", SQS, DEAD, "Maximum", 60, "0", TICKET),
    ("dead letters", "CreditingDeadLettersAlarm", SQS, DEAD, "Maximum", 60, "0", TICKET),
    ("no run over an export", "ReconcileExportFailedAlarm", STATES, "ExecutionsFailed", "Sum", 300, "0", TICKET),
    ("no run over an export", "ReconcileExportFailedAlarm", STATES, "ExecutionsTimedOut", "Sum", 300, "0", TICKET),
    ("no run over an export", "ReconcileExportFailedAlarm", STATES, "ExecutionsAborted", "Sum", 300, "0", TICKET),
    ("iterator age, ms", "CreditingStreamAgeAlarm", LAMBDA, "IteratorAge", "Maximum", 60, "60000", TICKET),
];

fn every() -> Vec<Alarm> {
    alarms::all(&Template::read())
}

/// Those of the dashboard and of all alarms.
fn watched(template: &Template) -> Vec<Watched> {
    let of_alarms = alarms::all(template).into_iter().flat_map(|alarm| alarm.watched);
    of_alarms.chain(alarms::on_dashboard(&alarms::dashboard(template))).collect()
}

/// Names of ours that no code counts.
fn unknown(template: &Template) -> BTreeSet<String> {
    let known: BTreeSet<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
    let ours = watched(template).into_iter().filter(|watched| watched.namespace == NAMESPACE);
    ours.map(|watched| watched.metric).filter(|name| !known.contains(name.as_str())).collect()
}

#[test]
fn the_metrics_are_counted() {
    let template = Template::read();
    assert_eq!(unknown(&template), BTreeSet::new());
    // However a metric is written, none is overlooked.
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
fn a_mistyped_metric_is_found() {
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
fn what_must_be_watched_is() {
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
    // Of each tenant by itself.
    let misuse = alarms.iter().find(|alarm| alarm.id == "FingerprintMismatchAlarm").expect("it was there");
    let query = misuse.properties["Metrics"][0]["Expression"].as_str().expect("a query");
    assert!(query.contains(" GROUP BY tenant"), "{query}");
}

#[test]
fn every_alarm_calls_somebody_and_says_what_to_do() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../RUNBOOK.md");
    let runbook = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("RUNBOOK.md: {error}"));
    let headings = runbook.lines().filter(|line| line.starts_with("##"));
    let sections: BTreeSet<&str> = headings.map(|line| line.trim_start_matches('#').trim()).collect();
    for alarm in every() {
        let [topic] = &alarm.topics[..] else { panic!("{} calls {:?}", alarm.id, alarm.topics) };
        assert!([PAGE, TICKET].contains(&topic.as_str()), "{} calls {topic}", alarm.id);
        assert!(!alarm.watched.is_empty(), "{} looks at nothing", alarm.id);
        let named = alarm.description.split_once("RUNBOOK.md, \"").and_then(|(_, rest)| rest.split_once('"'));
        let (section, _) = named.unwrap_or_else(|| panic!("{} names no section: {}", alarm.id, alarm.description));
        assert!(sections.contains(section), "{}: RUNBOOK.md has no section {section:?}", alarm.id);
    }
}

#[test]
fn the_dashboard_has_every_alarm() {
    let template = Template::read();
    let dashboard = alarms::dashboard(&template);
    let widgets = dashboard["widgets"].as_array().expect("widgets").iter();
    let shown = widgets.flat_map(|widget| widget["properties"]["alarms"].as_array().into_iter().flatten());
    let mut shown: Vec<&str> = shown.map(|arn| arn.as_str().expect("an ARN")).collect();
    shown.sort_unstable();
    // It cannot name an alarm that a stack may lack.
    let always = |alarm: &&Alarm| template.at(&format!("/Resources/{}/Condition", alarm.id)).is_null();
    let mut wanted: Vec<String> = every().iter().filter(always).map(|alarm| format!("${{{}.Arn}}", alarm.id)).collect();
    wanted.sort_unstable();
    assert_eq!(shown, wanted);
}

/// CloudWatch takes no more, and says so at the deployment.
#[test]
fn no_alarm_looks_at_more_than_ten_metrics() {
    let of = |alarm: &Alarm| alarm.properties["Metrics"].as_array().into_iter().flatten().cloned().collect::<Vec<_>>();
    let metrics = |alarm: &Alarm| of(alarm).iter().filter(|metric| !metric["MetricStat"].is_null()).count();
    let most: Vec<(String, usize)> = every().iter().map(|alarm| (alarm.id.clone(), metrics(alarm))).collect();
    assert!(most.iter().any(|(_, metrics)| *metrics > 1), "{most:?}");
    assert!(most.iter().all(|(_, metrics)| *metrics <= 10), "{most:?}");
}

/// What falls out of a queue, or of the stream, is noticed.
#[test]
fn every_queue_of_dead_letters_has_its_alarm() {
    let template = Template::read();
    let dead: BTreeSet<&str> = template.of_kind("AWS::SQS::Queue").filter(|id| id.ends_with("DeadLetters")).collect();
    let target = |queue: &str| template.properties(queue)["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"].clone();
    for queue in template.of_kind("AWS::SQS::Queue").filter(|id| !dead.contains(id)) {
        let target = target(queue);
        let name = target.as_str().and_then(|name| name.strip_suffix(".Arn"));
        assert!(name.is_some_and(|name| dead.contains(name)), "{queue} loses what fails: {target}");
    }
    let alarms = every();
    for queue in dead {
        let name = format!("{queue}.QueueName");
        let of_queue = |alarm: &Alarm| alarm.properties["Dimensions"][0]["Value"]["Fn::GetAtt"] == name.as_str();
        let alarm = alarms.iter().find(|alarm| of_queue(alarm)).unwrap_or_else(|| panic!("{queue} has no alarm"));
        assert!(alarm.watched.iter().any(|watched| watched.metric == DEAD), "{queue}: {:?}", alarm.watched);
    }
}
