-- Runs that are to be told to somebody outside.

-- One row for each way that was configured when a run came to something. `due` ones are sent from `next_at` on.
CREATE TABLE deliveries (
    id         TEXT PRIMARY KEY,
    run        TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL CHECK (kind IN ('command', 'webhook')),
    state      TEXT NOT NULL CHECK (state IN ('due', 'delivered', 'failed')),
    attempts   INTEGER NOT NULL DEFAULT 0,
    next_at    INTEGER,
    last_error TEXT,
    UNIQUE (run, kind),
    CHECK ((state = 'due') = (next_at IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (next_at) WHERE next_at IS NOT NULL;
