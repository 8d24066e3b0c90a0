-- Loops and their runs.

-- `schedule` and `task` are JSON. `next_at` is the next firing while a loop is active, else NULL.
-- `items` is the list that the last run that ended well reported: what the next one is compared with.
CREATE TABLE loops (
    id         TEXT PRIMARY KEY,
    publisher  TEXT NOT NULL,
    slug       TEXT NOT NULL,
    name       TEXT NOT NULL,
    origin     TEXT NOT NULL CHECK (origin IN ('preset', 'capability', 'agent', 'person')),
    owner      TEXT NOT NULL,
    schedule   TEXT NOT NULL CHECK (json_valid(schedule)),
    task       TEXT NOT NULL CHECK (json_valid(task)),
    quiet      INTEGER NOT NULL CHECK (quiet IN (0, 1)),
    misfire    TEXT NOT NULL CHECK (misfire IN ('run-once', 'skip', 'run-all')),
    overlap    TEXT NOT NULL CHECK (overlap IN ('skip', 'queue-one')),
    window_ms  INTEGER NOT NULL CHECK (window_ms > 0),
    status     TEXT NOT NULL CHECK (status IN ('active', 'paused', 'broken')),
    reason     TEXT,
    anchor_at  INTEGER NOT NULL,
    next_at    INTEGER,
    last_at    INTEGER,
    missed     INTEGER NOT NULL DEFAULT 0,
    skipped    INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    items      TEXT CHECK (items IS NULL OR json_valid(items)),
    UNIQUE (publisher, slug, name),
    CHECK ((status = 'active') = (next_at IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX loops_due ON loops (next_at) WHERE next_at IS NOT NULL;

-- One row for one firing: `UNIQUE` is what makes a firing start once, whoever finds it due.
-- `process` is who calls the tool of a run that runs.
CREATE TABLE runs (
    id          TEXT PRIMARY KEY,
    loop        TEXT NOT NULL REFERENCES loops (id) ON DELETE CASCADE,
    nominal_at  INTEGER NOT NULL,
    start_at    INTEGER NOT NULL,
    manual      INTEGER NOT NULL CHECK (manual IN (0, 1)),
    state       TEXT NOT NULL CHECK (state IN ('claimed', 'running', 'waiting', 'taken', 'done', 'failed',
                                               'interrupted', 'reported', 'skipped', 'missed')),
    process     TEXT,
    attempt     INTEGER NOT NULL DEFAULT 0,
    started_at  INTEGER,
    ended_at    INTEGER,
    call        TEXT,
    reason      TEXT,
    is_nothing  INTEGER NOT NULL DEFAULT 0 CHECK (is_nothing IN (0, 1)),
    report      TEXT,
    items       TEXT CHECK (items IS NULL OR json_valid(items)),
    changes     INTEGER NOT NULL DEFAULT 0,
    taken_by    TEXT,
    lease_until INTEGER,
    UNIQUE (loop, nominal_at),
    CHECK ((state = 'running') = (process IS NOT NULL)),
    CHECK ((state = 'taken') = (lease_until IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_open ON runs (loop, state) WHERE state IN ('claimed', 'running', 'waiting', 'taken');
CREATE INDEX runs_claimed ON runs (start_at) WHERE state = 'claimed';
CREATE INDEX runs_running ON runs (process) WHERE process IS NOT NULL;
CREATE INDEX runs_inbox ON runs (state) WHERE state IN ('waiting', 'taken');
