//! Fills a case: the core's request, the engine's reasons, and the meaning of each guard that fails. A case with another
//! outcome than it states makes no vector.

use super::build::{Built, build};
use super::vector::{Case, Row, Vector};
use super::written::Written;
use super::{judge, meanings};

/// The vector of a case.
///
/// # Panics
/// If the outcome is not the case's.
#[must_use]
pub fn fill(case: Case) -> Vector {
    let built = build(&case.given);
    let written = Written::of(&case.given, &built);
    let items = written.actions();
    let executed = judge::execute(&case.given, &built, &items);
    assert_eq!(executed.outcome, case.then, "{}: {:#?}", case.id, executed.reasons);
    let mut verdicts = vec![Row { outcome: executed.outcome, reasons: executed.reasons }];
    if matches!(&built, Built::Transaction(..) | Built::Change(_)) && case.then == written.done() {
        let does = serde_json::to_value(&case.given.command.does).unwrap();
        let name = |does: &serde_json::Value| does.as_object().unwrap().keys().next().unwrap().clone();
        let outer = name(&does);
        let inner = &does[&outer];
        let is_decision = outer == "approval" && inner[&name(inner)].get("contradiction").is_some();
        let name = &match outer.as_str() {
            "trail" => name(inner),
            "approval" if is_decision => "topup_decision".to_owned(),
            _ => outer,
        };
        verdicts.extend(meanings::rows(name, written.items(), &items, &case.given.state, case.precedence));
    }
    Vector { case, items, verdicts }
}
