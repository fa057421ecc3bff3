//! The metrics of the alarms and the dashboard, with statistic and period, from each form that CloudWatch allows.

use super::Template;
use super::template::ALARM;
use serde_json::Value;
use std::collections::BTreeSet;

/// A metric of an alarm or the dashboard.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Watched {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub metric: String,
    /// Its statistic; may be empty on the dashboard.
    pub statistic: String,
    /// Its period in seconds; 0 on the dashboard.
    pub period: u64,
}

/// An alarm.
#[derive(Clone, Debug)]
pub struct Alarm {
    /// Its logical id.
    pub id: String,
    /// Whether each tenant has its own.
    pub is_of_tenant: bool,
    /// The text that its receivers read.
    pub description: String,
    /// Its metrics.
    pub watched: BTreeSet<Watched>,
    /// Its threshold, as written.
    pub threshold: String,
    /// The logical ids of the topics that it is sent to.
    pub topics: Vec<String>,
    /// All of its properties.
    pub properties: Value,
}

/// Every alarm.
#[must_use]
pub fn all(template: &Template) -> Vec<Alarm> {
    let of_stack = template.of_kind(ALARM).map(|id| of(id, false, template.properties(id)));
    let looped = template.looped().into_iter().filter(|(_, _, resource)| resource["Type"] == ALARM);
    of_stack.chain(looped.map(|(_, id, resource)| of(&id, true, &resource["Properties"]))).collect()
}

fn of(id: &str, is_of_tenant: bool, properties: &Value) -> Alarm {
    let mut watched = BTreeSet::new();
    if properties["MetricName"].is_string() {
        let statistic = [&properties["Statistic"], &properties["ExtendedStatistic"]];
        let statistic =
            statistic.into_iter().find(|value| value.is_string()).unwrap_or_else(|| panic!("{id}: no statistic"));
        watched.insert(one(properties, statistic, &properties["Period"]));
    }
    for metric in properties["Metrics"].as_array().into_iter().flatten() {
        let of = &metric["MetricStat"];
        if of.is_object() {
            watched.insert(one(&of["Metric"], &of["Stat"], &of["Period"]));
        }
        watched.extend(metric["Expression"].as_str().and_then(|text| selected(text, number(&metric["Period"]))));
    }
    let topics = properties["AlarmActions"].as_array().into_iter().flatten();
    Alarm {
        id: id.to_owned(),
        is_of_tenant,
        description: text(&properties["AlarmDescription"]),
        watched,
        threshold: properties["Threshold"].to_string(),
        topics: topics.map(|topic| text(&topic["Ref"])).collect(),
        properties: properties.clone(),
    }
}

fn one(metric: &Value, statistic: &Value, period: &Value) -> Watched {
    Watched {
        namespace: text(&metric["Namespace"]),
        metric: text(&metric["MetricName"]),
        statistic: text(statistic),
        period: number(period),
    }
}

/// The metric in `SELECT SUM(name) FROM SCHEMA("namespace", ...`.
fn selected(expression: &str, period: u64) -> Option<Watched> {
    let (metric, rest) = expression.strip_prefix("SELECT SUM(")?.split_once(") FROM SCHEMA(\"")?;
    let (namespace, _) = rest.split_once('"')?;
    let [namespace, metric, statistic] = [namespace, metric, "Sum"].map(str::to_owned);
    Some(Watched { namespace, metric, statistic, period })
}

/// The dashboard with unresolved references.
///
/// # Panics
/// When it is not JSON.
#[must_use]
pub fn dashboard(template: &Template) -> Value {
    let body = text(&template.properties("Dashboard")["DashboardBody"]["Fn::Sub"]);
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("the dashboard: {error}"))
}

/// The metrics on the dashboard.
#[must_use]
pub fn on_dashboard(dashboard: &Value) -> Vec<Watched> {
    let widgets = dashboard["widgets"].as_array().into_iter().flatten();
    widgets.flat_map(|widget| rows(&widget["properties"]["metrics"])).collect()
}

fn rows(metrics: &Value) -> Vec<Watched> {
    let mut watched: Vec<Watched> = Vec::new();
    for row in metrics.as_array().into_iter().flatten() {
        // `.` repeats the value above it, and `...` the whole row above except its end.
        let texts: Vec<&str> = row.as_array().into_iter().flatten().map_while(Value::as_str).collect();
        let above = || watched.last().cloned().unwrap_or_else(|| panic!("{row} repeats nothing"));
        let named = match texts[..] {
            // The parts of a computed metric have their own rows.
            [] => continue,
            ["...", ..] => above(),
            [".", metric, ..] => Watched { metric: metric.to_owned(), ..above() },
            [namespace, metric, ..] => Watched {
                namespace: namespace.to_owned(),
                metric: metric.to_owned(),
                statistic: String::new(),
                period: 0,
            },
            [_] => panic!("{row} names no metric"),
        };
        watched.push(named);
    }
    watched
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a text")).to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}
