//! The page that has the way out of each kind of break.

use ledger_core::reconcile::BreakKind;
use ledger_tests::tree;
use std::collections::BTreeMap;

const PAGE: &str = "docs/operations/breaks.md";

/// The folders of the tests that plant breaks.
const PLANTED_BY: [&str; 2] = ["tests/tests/workers", "tests/tests/http"];

/// The ways out, as the page names them.
const WAYS: [&str; 4] = ["[adjust]", "[put back]", "[decide]", "[wait]"];

fn page() -> String {
    std::fs::read_to_string(tree::root().join(PAGE)).unwrap()
}

/// The cells of each row whose first cell is one word of code, by that word.
fn rows(page: &str) -> BTreeMap<&str, Vec<Vec<&str>>> {
    let mut rows = BTreeMap::<&str, Vec<Vec<&str>>>::new();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        rows.entry(cells[0].trim_matches('`')).or_default().push(cells);
    }
    rows
}

#[test]
fn page_has_one_row_for_each_kind_of_break() {
    let page = page();
    let rows = rows(&page);
    for kind in BreakKind::ALL {
        let of_kind = rows.get(kind.name()).map(Vec::as_slice).unwrap_or_default();
        let [cells] = of_kind else { panic!("{PAGE} has {} rows for `{}`", of_kind.len(), kind.name()) };
        assert_eq!(cells.len(), 4, "{cells:?}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{cells:?}");
        assert!(WAYS.iter().any(|way| cells[3].contains(way)), "{}: no way of {WAYS:?}", kind.name());
    }
    let others: Vec<_> = rows.keys().filter(|name| BreakKind::parse(name).is_none()).collect();
    assert!(others.is_empty(), "no kinds of breaks: {others:?}");
}

#[test]
fn page_adjusts_balances_and_exposures_alone() {
    let page = page();
    let adjusted: Vec<_> = rows(&page)
        .into_iter()
        .filter(|(_, cells)| cells[0][3].starts_with("[adjust]"))
        .map(|(kind, _)| kind.to_owned())
        .collect();
    assert_eq!(adjusted, ["balance_differs", "exposure_differs", "negative_balance"]);
}

#[test]
fn each_kind_of_break_is_planted_by_a_test() {
    let tests: String =
        tree::files(&PLANTED_BY, "rs").iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    for kind in BreakKind::ALL {
        assert!(tests.contains(&format!("\"{}\"", kind.name())), "no test plants `{}`", kind.name());
    }
}
