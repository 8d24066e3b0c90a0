-- The first state. A released migration is never edited: the next change is a new file.

-- One row. `generation` grows with every change of what a call may do, and not with records of calls.
CREATE TABLE meta (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    generation INTEGER NOT NULL
) STRICT;
INSERT INTO meta (one, generation) VALUES (1, 1);

-- The pins. `manifest` stands last, so that a reader that knows it does not load its pages.
CREATE TABLE installs (
    publisher    TEXT NOT NULL,
    slug         TEXT NOT NULL,
    version      TEXT NOT NULL,
    digest       TEXT NOT NULL CHECK (length(digest) = 71 AND digest GLOB 'sha256:*'),
    size         INTEGER NOT NULL CHECK (size >= 0),
    installed_at INTEGER NOT NULL,
    manifest     TEXT NOT NULL CHECK (json_valid(manifest)),
    PRIMARY KEY (publisher, slug),
    UNIQUE (publisher, slug, digest)
) STRICT;

-- Grants and approvals hang on the digest: they go with it, and no other digest inherits them.
-- An empty `entry` is the namespace itself.
CREATE TABLE grants (
    publisher TEXT NOT NULL,
    slug      TEXT NOT NULL,
    digest    TEXT NOT NULL,
    namespace TEXT NOT NULL,
    entry     TEXT NOT NULL,
    PRIMARY KEY (publisher, slug, digest, namespace, entry),
    FOREIGN KEY (publisher, slug, digest) REFERENCES installs (publisher, slug, digest) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE approvals (
    publisher TEXT NOT NULL,
    slug      TEXT NOT NULL,
    digest    TEXT NOT NULL,
    secret    TEXT NOT NULL,
    source    TEXT NOT NULL,
    host      TEXT NOT NULL,
    port      INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
    place     TEXT NOT NULL,
    PRIMARY KEY (publisher, slug, digest, secret, host, port, place),
    FOREIGN KEY (publisher, slug, digest) REFERENCES installs (publisher, slug, digest) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Values are sealed before they come here. `version` never repeats within a database.
CREATE TABLE secrets (
    name       TEXT PRIMARY KEY,
    version    INTEGER NOT NULL,
    kek_id     TEXT NOT NULL,
    salt       BLOB NOT NULL CHECK (length(salt) = 32),
    nonce      BLOB NOT NULL CHECK (length(nonce) = 12),
    ciphertext BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;

-- Records of calls. `process` is who runs a call that has not ended.
CREATE TABLE calls (
    id          TEXT PRIMARY KEY,
    process     TEXT,
    started_at  INTEGER NOT NULL,
    principal   TEXT NOT NULL,
    capability  TEXT NOT NULL,
    tool        TEXT NOT NULL,
    digest      TEXT,
    dry_run     INTEGER NOT NULL CHECK (dry_run IN (0, 1)),
    outcome     TEXT NOT NULL,
    detail      TEXT,
    fuel        INTEGER NOT NULL,
    memory_peak INTEGER NOT NULL,
    time_us     INTEGER NOT NULL,
    host_calls  INTEGER NOT NULL,
    requests    INTEGER NOT NULL,
    bytes_out   INTEGER NOT NULL,
    bytes_in    INTEGER NOT NULL,
    log         TEXT NOT NULL CHECK (json_valid(log)),
    CHECK ((outcome = 'running') = (process IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX calls_running ON calls (process) WHERE process IS NOT NULL;

CREATE TABLE requests (
    call      TEXT NOT NULL REFERENCES calls (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    method    TEXT NOT NULL,
    authority TEXT NOT NULL,
    path      TEXT NOT NULL,
    address   TEXT,
    status    INTEGER,
    outcome   TEXT NOT NULL,
    bytes_out INTEGER NOT NULL,
    bytes_in  INTEGER NOT NULL,
    secrets   TEXT NOT NULL CHECK (json_valid(secrets)),
    time_ms   INTEGER NOT NULL,
    PRIMARY KEY (call, position)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER installs_inserted AFTER INSERT ON installs BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER installs_updated AFTER UPDATE ON installs BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER installs_deleted AFTER DELETE ON installs BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER grants_inserted AFTER INSERT ON grants BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER grants_updated AFTER UPDATE ON grants BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER grants_deleted AFTER DELETE ON grants BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER approvals_inserted AFTER INSERT ON approvals BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER approvals_updated AFTER UPDATE ON approvals BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER approvals_deleted AFTER DELETE ON approvals BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER secrets_inserted AFTER INSERT ON secrets BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER secrets_updated AFTER UPDATE ON secrets BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER secrets_deleted AFTER DELETE ON secrets BEGIN UPDATE meta SET generation = generation + 1; END;
