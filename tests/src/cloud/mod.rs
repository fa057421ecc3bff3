//! Checks of `template.yaml` against the code: functions and their roles, IAM's decision on each call of the store,
//! routes, schedules, alarms, the dashboard.

pub mod alarms;
pub mod authorization;
pub mod gate;
pub mod iam;
pub mod operations;
pub mod parameters;
pub mod proxy;
pub mod refs;
pub mod requests;
pub mod template;
pub mod yaml;

pub use template::{Function, Template};
