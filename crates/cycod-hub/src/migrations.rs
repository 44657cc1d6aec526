//! The tables, as each version of ours left them. Both databases understand every statement.

use crate::{HubError, HubTransaction};

/// The steps from one version to the next; the number of a step is the version that it leads to. A step is never changed.
const MIGRATIONS: [&[&str]; 13] = [
    &[
        "CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL)",
        "INSERT INTO counters (name, value) VALUES ('audit', 0)",
        "INSERT INTO counters (name, value) VALUES ('release', 0)",
        "INSERT INTO counters (name, value) VALUES ('root', 0)",
        "CREATE TABLE members (name TEXT PRIMARY KEY, ssh_key TEXT NOT NULL, admin BIGINT NOT NULL)",
        "CREATE TABLE devices (key TEXT PRIMARY KEY, member TEXT NOT NULL, enrolled BIGINT NOT NULL)",
        "CREATE TABLE tokens (digest TEXT PRIMARY KEY, member TEXT NOT NULL, expires BIGINT NOT NULL)",
        "CREATE TABLE used (what TEXT PRIMARY KEY, expires BIGINT NOT NULL)",
        "CREATE INDEX used_by_time ON used (expires)",
        "CREATE TABLE roots (path TEXT PRIMARY KEY, bytes BYTEA NOT NULL)",
        "CREATE TABLE blobs (digest TEXT PRIMARY KEY, bytes BYTEA NOT NULL)",
        "CREATE TABLE proposals (digest TEXT PRIMARY KEY, document TEXT NOT NULL, signature TEXT NOT NULL, \
     added BIGINT NOT NULL, closed BIGINT NOT NULL)",
        "CREATE INDEX proposals_that_wait ON proposals (closed)",
        "CREATE TABLE reviews (proposal TEXT NOT NULL, reviewer TEXT NOT NULL, made BIGINT NOT NULL, \
     document TEXT NOT NULL, signature TEXT NOT NULL, PRIMARY KEY (proposal, reviewer))",
        "CREATE TABLE yanks (digest TEXT PRIMARY KEY, document TEXT NOT NULL, signature TEXT NOT NULL)",
        "CREATE TABLE releases (number BIGINT PRIMARY KEY, digest TEXT NOT NULL, document BYTEA NOT NULL, \
     signature BYTEA NOT NULL, expires BIGINT NOT NULL)",
        "CREATE TABLE audit (number BIGINT PRIMARY KEY, at BIGINT NOT NULL, member TEXT NOT NULL, action TEXT NOT NULL, \
     subject TEXT NOT NULL, digest TEXT NOT NULL)",
    ],
    &[
        "CREATE TABLE codes (digest TEXT PRIMARY KEY, member TEXT NOT NULL, expires BIGINT NOT NULL)",
        "CREATE TABLE sessions (digest TEXT PRIMARY KEY, member TEXT NOT NULL, expires BIGINT NOT NULL)",
        "CREATE INDEX proposals_by_time ON proposals (added)",
    ],
    &[
        "CREATE TABLE workers (key TEXT PRIMARY KEY, name TEXT NOT NULL, labels TEXT NOT NULL, seen BIGINT NOT NULL)",
        "CREATE TABLE worker_tokens (digest TEXT PRIMARY KEY, name TEXT NOT NULL, expires BIGINT NOT NULL)",
        "CREATE TABLE tasks (id TEXT PRIMARY KEY, member TEXT NOT NULL, device TEXT NOT NULL, ticket TEXT NOT NULL, \
     signature TEXT NOT NULL, tool TEXT NOT NULL, labels TEXT NOT NULL, again BIGINT NOT NULL, state TEXT NOT NULL, \
     worker TEXT NOT NULL, fence BIGINT NOT NULL, piece BIGINT NOT NULL, pieces BIGINT NOT NULL, \
     lease_until BIGINT NOT NULL, lost TEXT NOT NULL, cancelled BIGINT NOT NULL, made BIGINT NOT NULL, \
     ended BIGINT NOT NULL, watched BIGINT NOT NULL, expires BIGINT NOT NULL, result TEXT NOT NULL, late TEXT NOT NULL)",
        "CREATE INDEX tasks_by_state ON tasks (state, made)",
        "CREATE INDEX tasks_by_end ON tasks (ended)",
        "CREATE TABLE task_files (task TEXT NOT NULL, path TEXT NOT NULL, bytes BYTEA NOT NULL, PRIMARY KEY (task, path))",
        "CREATE TABLE task_pieces (task TEXT NOT NULL, number BIGINT NOT NULL, fence BIGINT NOT NULL, \
     body TEXT NOT NULL, PRIMARY KEY (task, number))",
    ],
    &[
        "CREATE TABLE channel_releases (channel TEXT NOT NULL DEFAULT 'stable', number BIGINT NOT NULL, \
     digest TEXT NOT NULL, document BYTEA NOT NULL, signature BYTEA NOT NULL, expires BIGINT NOT NULL, \
     PRIMARY KEY (channel, number))",
        "INSERT INTO channel_releases (number, digest, document, signature, expires) \
     SELECT number, digest, document, signature, expires FROM releases",
        "DROP TABLE releases",
        "ALTER TABLE channel_releases RENAME TO releases",
    ],
    &[
        "ALTER TABLE tasks ADD COLUMN run TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE tasks ADD COLUMN work TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE tasks ADD COLUMN awakeable TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX tasks_by_run ON tasks (run)",
        "CREATE TABLE flows (run TEXT PRIMARY KEY, member TEXT NOT NULL, device TEXT NOT NULL, ticket TEXT NOT NULL, \
     signature TEXT NOT NULL, tool TEXT NOT NULL, labels TEXT NOT NULL, state TEXT NOT NULL, cancelled BIGINT NOT NULL, \
     pieces BIGINT NOT NULL, stored BIGINT NOT NULL, cut BIGINT NOT NULL, made BIGINT NOT NULL, ended BIGINT NOT NULL, \
     expires BIGINT NOT NULL)",
        "CREATE INDEX flows_by_state ON flows (state, expires)",
        "CREATE TABLE flow_log (run TEXT NOT NULL, number BIGINT NOT NULL, event TEXT NOT NULL, entry BYTEA NOT NULL, \
     worker TEXT NOT NULL, PRIMARY KEY (run, number))",
        "CREATE TABLE flow_outbox (id TEXT PRIMARY KEY, path TEXT NOT NULL, body TEXT NOT NULL, made BIGINT NOT NULL)",
    ],
    &["CREATE TABLE subjects (subject TEXT PRIMARY KEY, member TEXT NOT NULL)"],
    &[
        "CREATE TABLE schedules (name TEXT PRIMARY KEY, member TEXT NOT NULL, device TEXT NOT NULL, ticket TEXT NOT NULL, \
     signature TEXT NOT NULL, flow TEXT NOT NULL, state TEXT NOT NULL, why TEXT NOT NULL, next BIGINT NOT NULL, \
     made BIGINT NOT NULL)",
        "CREATE INDEX schedules_by_time ON schedules (state, next)",
        "CREATE TABLE schedule_runs (schedule TEXT NOT NULL, instant BIGINT NOT NULL, run TEXT NOT NULL, \
     state TEXT NOT NULL, why TEXT NOT NULL, PRIMARY KEY (schedule, instant))",
    ],
    &[
        "CREATE TABLE task_parts (task TEXT NOT NULL, from_worker BIGINT NOT NULL, digest TEXT NOT NULL, \
     member TEXT NOT NULL, made BIGINT NOT NULL, bytes BYTEA NOT NULL, PRIMARY KEY (task, from_worker, digest))",
        "CREATE INDEX task_parts_by_time ON task_parts (made)",
    ],
    &["ALTER TABLE tasks ADD COLUMN claim TEXT NOT NULL DEFAULT ''"],
    &[
        "ALTER TABLE flows ADD COLUMN timed BIGINT NOT NULL DEFAULT 0",
        "CREATE TABLE flow_questions (run TEXT NOT NULL, about TEXT NOT NULL, step TEXT NOT NULL, worker TEXT NOT NULL, \
     awakeable TEXT NOT NULL, state TEXT NOT NULL, asked BIGINT NOT NULL, expires BIGINT NOT NULL, answer TEXT NOT NULL, \
     decider TEXT NOT NULL, PRIMARY KEY (run, about))",
        "CREATE INDEX flow_questions_by_state ON flow_questions (state, expires)",
    ],
    &[
        "ALTER TABLE tasks ADD COLUMN late_by TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE tasks ADD COLUMN late_at BIGINT NOT NULL DEFAULT 0",
        "CREATE TABLE consents (run TEXT NOT NULL, question TEXT NOT NULL, document TEXT NOT NULL, worker TEXT NOT NULL, \
     state TEXT NOT NULL, asked BIGINT NOT NULL, expires BIGINT NOT NULL, decider TEXT NOT NULL, answer TEXT NOT NULL, \
     PRIMARY KEY (run, question))",
        "CREATE INDEX consents_by_state ON consents (state, expires)",
        "CREATE TABLE holds (run TEXT NOT NULL, work TEXT NOT NULL, question TEXT NOT NULL, step TEXT NOT NULL, \
     awakeable TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (run, work))",
    ],
    &[
        "CREATE TABLE part_bytes (digest TEXT PRIMARY KEY, used BIGINT NOT NULL, bytes BYTEA NOT NULL)",
        "CREATE INDEX part_bytes_by_time ON part_bytes (used)",
        "INSERT INTO part_bytes (digest, used, bytes) SELECT digest, made, bytes FROM task_parts WHERE true \
     ON CONFLICT DO NOTHING",
        "ALTER TABLE task_parts ADD COLUMN size BIGINT NOT NULL DEFAULT 0",
        "UPDATE task_parts SET size = LENGTH(bytes)",
        "ALTER TABLE task_parts DROP COLUMN bytes",
        "CREATE INDEX task_parts_by_digest ON task_parts (digest)",
        "CREATE TABLE flow_changes (run TEXT NOT NULL, number BIGINT NOT NULL, task TEXT NOT NULL, parts TEXT NOT NULL, \
     PRIMARY KEY (run, number))",
        "CREATE TABLE hubs (id TEXT PRIMARY KEY, seen BIGINT NOT NULL)",
    ],
    &["ALTER TABLE tasks ADD COLUMN keep_on BIGINT NOT NULL DEFAULT 0"],
];

/// Brings the tables to this version.
pub(crate) fn migrate(transaction: &mut dyn HubTransaction) -> Result<(), HubError> {
    migrate_to(transaction, MIGRATIONS.len())
}

fn migrate_to(transaction: &mut dyn HubTransaction, version: usize) -> Result<(), HubError> {
    transaction.execute("CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY)", &[])?;
    let done = transaction.rows("SELECT number FROM migrations ORDER BY number", &[])?.len();
    if done > MIGRATIONS.len() {
        let message = format!("it has version {done}, and this program knows {}", MIGRATIONS.len());
        return Err(HubError::failed("the database is of a newer cycod-hub", message));
    }
    for (index, statements) in MIGRATIONS.iter().enumerate().take(version).skip(done) {
        for statement in *statements {
            transaction.execute(statement, &[])?;
        }
        let number = i64::try_from(index + 1).unwrap_or(i64::MAX);
        transaction.execute("INSERT INTO migrations (number) VALUES ($1)", &[number.into()])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{MIGRATIONS, migrate, migrate_to};
    use crate::{HubError, HubStore, SqlRow, SqliteStore};

    /// Tables that an earlier version left keep what they have.
    #[test]
    fn a_database_of_each_version_becomes_one_of_this() {
        for version in 1..MIGRATIONS.len() {
            let store: Box<dyn HubStore> = Box::new(SqliteStore::bare().expect("a database"));
            let releases = store.run(|tx| {
                migrate_to(tx, version)?;
                let insert = "INSERT INTO releases (number, digest, document, signature, expires) \
                              VALUES ($1, 'd', $2, $3, 7)";
                tx.execute(insert, &[5.into(), b"x".as_slice().into(), b"y".as_slice().into()])?;
                migrate(tx)?;
                migrate(tx)?;
                assert_eq!(tx.rows("SELECT number FROM migrations", &[])?.len(), MIGRATIONS.len());
                tx.rows("SELECT number, digest, document, signature, expires FROM releases", &[])
            });
            let bytes = |bytes: &[u8]| bytes.into();
            let row = SqlRow(vec![5.into(), "d".into(), bytes(b"x"), bytes(b"y"), 7.into()]);
            assert_eq!(releases, Ok::<_, HubError>(vec![row]), "version {version}");
        }
    }
}
