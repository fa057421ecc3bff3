//! Builds the vector of a case: the expectations written by hand, the core's request, and the engine's reasons. A case
//! with another outcome makes no vector.

use super::build::{Built, build};
use super::cases::Case;
use super::vector::{Effects, Row, Vector};
use super::world::{self, World};
use super::written::Written;
use super::{judge, meanings};

/// The vector of a case, as differences from a world or from the nearest one. Panics if the outcome is not the case's.
#[must_use]
pub fn vector(case: &Case, world: Option<String>) -> Vector {
    let built = build(&case.given);
    let written = Written::of(&case.given, &built);
    let actions = written.actions();
    let executed = judge::execute(&case.given, &built, &actions);
    assert_eq!(executed.outcome, case.outcome, "{}: {:#?}", case.id, executed.reasons);
    let mut verdicts = vec![Row { outcome: executed.outcome, reasons: executed.reasons }];
    if matches!(&built, Built::Transaction(..) | Built::Change(_)) && case.outcome == written.done() {
        let does = serde_json::to_value(&case.given.command.does).unwrap();
        let name = |does: &serde_json::Value| does.as_object().unwrap().keys().next().unwrap().clone();
        let outer = name(&does);
        let name = &if outer == "trail" { name(&does[&outer]) } else { outer };
        verdicts.extend(meanings::rows(name, written.items(), &actions, &case.given.state, case.precedence));
    }
    let mut effects = Effects::new();
    for (account, asset, change) in &case.effects {
        let before = effects.entry(account.clone()).or_default().insert((*asset).to_owned(), (*change).to_owned());
        assert!(before.is_none(), "{}: {account} {asset} twice", case.id);
    }
    let mut given = case.given.clone();
    given.state = world::sorted(given.state).expect("items have keys");
    given.command.seen = world::sorted(given.command.seen).expect("items have keys");
    Vector {
        id: case.id.to_owned(),
        why: case.why.to_owned(),
        world: world.unwrap_or_else(|| World::nearest(&given.state)),
        given,
        items: actions,
        verdicts,
        effects,
    }
}
