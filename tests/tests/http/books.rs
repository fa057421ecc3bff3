//! The audit reads a tenant's rows, and no others.

use ledger_tests::audit::s;
use ledger_tests::engine::other;
use ledger_tests::http::{World, books, host};

/// More rows than a page of the audit has.
const ROWS: usize = 450;

/// The audit reads the embedded engine in the order of keys, and other engines from end to end.
#[tokio::test]
async fn rows_read_in_the_order_of_keys_are_those_of_a_whole_scan() {
    if other::given_url().is_some() {
        return;
    }
    let host = host::shared();
    let mut worlds = Vec::new();
    // The middle one in the order of keys has the most rows, and all names begin alike.
    for (name, rows) in [("books-2", 1), ("books", ROWS), ("books2", 1)] {
        let world = World::with_terms(host.clone(), name, |_| {}).await;
        for row in 0..rows {
            let pk = s(format!("{}#customer#{row}", world.tenant));
            world.plant([("uuid".to_owned(), pk), ("type".to_owned(), s("PLANTED"))].into()).await;
        }
        worlds.push((world, rows));
    }
    for (world, rows) in &worlds {
        let (client, table) = (world.table(), world.table_name());
        let in_order = books::read_by(client, table, &world.tenant, true).await;
        let scanned = books::read_by(client, table, &world.tenant, false).await;
        assert!(in_order.rows == scanned.rows, "{}", world.tenant);
        assert!(in_order.rows.keys().all(|(pk, _)| pk.starts_with(&format!("{}#", world.tenant))));
        assert_eq!(in_order.rows.keys().filter(|(_, sk)| sk == "PLANTED").count(), *rows);
    }
}
