-- What an installer asks beyond what a publisher asks, and the confirmations that were used.

-- By name, not by digest: a restriction narrows, so it stays when other bytes take the name, and goes when the
-- capability is uninstalled. An empty `tool` stands for all tools.
CREATE TABLE restrictions (
    publisher  TEXT NOT NULL,
    slug       TEXT NOT NULL,
    tool       TEXT NOT NULL,
    hidden     INTEGER NOT NULL CHECK (hidden IN (0, 1)),
    role       TEXT,
    permission TEXT,
    flag       TEXT,
    confirm    TEXT CHECK (confirm IN ('never', 'destructive', 'writes')),
    PRIMARY KEY (publisher, slug, tool)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER restrictions_inserted AFTER INSERT ON restrictions
BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER restrictions_updated AFTER UPDATE ON restrictions
BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER restrictions_deleted AFTER DELETE ON restrictions
BEGIN UPDATE meta SET generation = generation + 1; END;

-- Confirmations that were used, each by the nonce of its token: the row is what makes one count once, whichever
-- process it is shown to. `ends_at` is when the token ends by itself, in milliseconds since 1970.
CREATE TABLE confirmations (
    nonce   BLOB PRIMARY KEY CHECK (length(nonce) = 12),
    ends_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX confirmations_ended ON confirmations (ends_at);
