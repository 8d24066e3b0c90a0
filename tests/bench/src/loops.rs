//! `loops_due`: how long it takes to find the due ones among ten thousand loops, and when the next is due.

use std::sync::Arc;
use std::time::Instant;

use remit::clock::Clock;
use remit::store::Store;
use rusqlite::Connection;

use crate::{Effort, figure, home, median};

const LOOPS: u32 = 10_000;

/// So many of them are due.
const DUE: i64 = 10;

pub(crate) fn measure(effort: Effort) {
    let scratch = home::scratch();
    home::remit(scratch.path(), &["install", "--yes", "remit/loops"]);
    home::remit(scratch.path(), &["loops", "create", "first", "--every", "1d", "--prompt", "Look."]);
    let first = copy(scratch.path());
    let store = Store::open(scratch.path(), Arc::new(Clock::system())).expect("a store");
    let mut times = Vec::new();
    for _ in 0..effort.rounds * 20 {
        let begun = Instant::now();
        let due = store.due_loops(first + DUE - 1, 250).expect("a list");
        store.next_due().expect("a time");
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        assert_eq!(due.len() as i64, DUE, "loops that are due");
    }
    figure("loops_due_of_10000", "value", median(&mut times), "ms", "< 1");
}

/// Copies the one loop there is, each a millisecond later than the one before, and gives the first's time.
fn copy(home: &std::path::Path) -> i64 {
    let connection = Connection::open(home.join("remit.db")).expect("a database");
    let first = connection.query_row("SELECT next_at FROM loops", [], |row| row.get(0)).expect("a loop");
    let columns = connection
        .prepare("SELECT name FROM pragma_table_info('loops') WHERE name NOT IN ('id', 'name', 'next_at')")
        .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>())
        .expect("columns")
        .join(", ");
    let copy = format!(
        "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {LOOPS} - 1)
         INSERT INTO loops (id, name, next_at, {columns})
         SELECT id || n, name || n, next_at + n, {columns} FROM loops, number"
    );
    connection.execute(&copy, []).expect("room for ten thousand");
    first
}
