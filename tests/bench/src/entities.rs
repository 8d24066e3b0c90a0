//! `entity_put` and `entity_get`: documents through a guest, against SQLite alone with the same settings, on the
//! same disk, in turns.

use std::path::Path;
use std::time::Instant;

use remit::app::App;
use remit::call::{CallRequest, Host};
use remit::client::Confirmation;
use remit::config::Config;
use remit::policy::Identity;
use rusqlite::{Connection, OptionalExtension};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{Effort, figure, home, median};

/// Bytes of a value: a note.
const VALUE_BYTES: usize = 200;

/// Puts in one call. The record of the call, before and after, waits for the disk twice more; a guest that ran for
/// long would give up its priority.
const PUTS: usize = 60;

/// Reads in one call.
const READS: usize = 500;

/// Turns of one round: short ones, because the disk is shared too.
const TURNS: usize = 8;

pub(crate) fn measure(effort: Effort) {
    let scratch = home::scratch();
    home::install(scratch.path(), &home::plugin("keeper"));
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let threads = threads.expect("threads");
    let app = App::open(scratch.path(), Config::default()).expect("a home");
    let host = threads.block_on(async { app.host() }).expect("a host");
    let beside = home::scratch();
    let mut bare = Bare::open(&beside.path().join("bare.db"));

    let fill = |prefix: &str, times: usize| {
        let arguments = json!({ "entity": "notes", "prefix": prefix, "bytes": VALUE_BYTES, "times": times });
        threads.block_on(call(&host, "fill", &arguments)) / count(times)
    };
    let get = || {
        let arguments = json!({ "entity": "notes", "key": "over7", "times": READS });
        threads.block_on(call(&host, "get_often", &arguments)) / count(READS)
    };
    // Code is loaded, and what will be put over is there.
    fill("over", PUTS);
    bare.fill("over", PUTS);
    get();
    let (mut put, mut bare_put, mut over, mut bare_over) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut read, mut bare_read, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..effort.rounds * TURNS {
        let prefix = format!("new{turn}-");
        put.push(fill(&prefix, PUTS));
        bare_put.push(bare.fill(&prefix, PUTS));
        over.push(fill("over", PUTS));
        bare_over.push(bare.fill("over", PUTS));
        read.push(get());
        bare_read.push(bare.get("over7", READS));
        alone.push(fill("alone", 1));
    }
    let (put, bare_put) = (median(&mut put), median(&mut bare_put));
    figure("entity_put_p50", "value", put, "µs", "");
    figure("bare_put_p50", "value", bare_put, "µs", "");
    figure("entity_put", "ratio", put / bare_put, "x", "<= 1.5");
    figure("entity_put_over", "ratio", median(&mut over) / median(&mut bare_over), "x", "");
    figure("entity_call_with_one_put", "value", median(&mut alone), "µs", "");
    let (read, bare_read) = (median(&mut read), median(&mut bare_read));
    figure("entity_get_p50", "value", read, "µs", "");
    figure("bare_get_p50", "value", bare_read, "µs", "");
    figure("entity_get", "ratio", read / bare_read, "x", "<= 3");
}

/// Calls a tool of the guest and gives the microseconds it took.
async fn call(host: &Host, tool: &str, arguments: &Value) -> f64 {
    let tool = format!("test/keeper.{tool}").parse().expect("a name");
    let arguments = arguments.as_object().cloned().expect("an object");
    let plain = CallRequest::new(Identity::operator("bench"), tool, arguments);
    let request = CallRequest { confirmation: Confirmation::Standing, ..plain };
    let begun = Instant::now();
    let reply = host.call(request, CancellationToken::new()).await;
    let took = begun.elapsed().as_secs_f64() * 1e6;
    let reply = reply.expect("an answer");
    // `fill` says where it stopped.
    assert!(!format!("{:?}", reply.content).contains("Error"), "{reply:?}");
    took
}

/// A table of keys and values, and nothing around it.
struct Bare {
    connection: Connection,
    turns: usize,
}

impl Bare {
    fn open(path: &Path) -> Self {
        let connection = Connection::open(path).expect("a database");
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL;
                 PRAGMA synchronous = FULL;
                 PRAGMA foreign_keys = ON;
                 PRAGMA trusted_schema = OFF;
                 PRAGMA secure_delete = ON;
                 PRAGMA cell_size_check = ON;
                 CREATE TABLE documents (key BLOB PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;",
            )
            .expect("a table");
        Self { connection, turns: 0 }
    }

    /// Puts so many values, each in a transaction of its own, and gives the microseconds of one.
    fn fill(&mut self, prefix: &str, times: usize) -> f64 {
        // Each time another value: SQLite does not write what is there already.
        self.turns += 1;
        let value = format!("{:0VALUE_BYTES$}", self.turns);
        let begun = Instant::now();
        for number in 0..times {
            let key = format!("{prefix}{number}");
            let transaction = self
                .connection
                .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
                .expect("a transaction");
            transaction
                .prepare_cached(
                    "INSERT INTO documents (key, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2",
                )
                .and_then(|mut statement| statement.execute((key.as_bytes(), &value)))
                .expect("a row");
            transaction.commit().expect("a commit");
        }
        begun.elapsed().as_secs_f64() * 1e6 / count(times)
    }

    /// Reads one value again and again, and gives the microseconds of one read.
    fn get(&self, key: &str, times: usize) -> f64 {
        let begun = Instant::now();
        for _ in 0..times {
            let mut statement =
                self.connection.prepare_cached("SELECT value FROM documents WHERE key = ?1").expect("a statement");
            let value: Option<String> =
                statement.query_row([key.as_bytes()], |row| row.get(0)).optional().expect("a row");
            assert_eq!(value.map(|value| value.len()), Some(VALUE_BYTES));
        }
        begun.elapsed().as_secs_f64() * 1e6 / count(times)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number of calls")]
fn count(number: usize) -> f64 {
    number as f64
}
