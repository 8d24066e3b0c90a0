-- The keys that this home knows: whose they are, and what their owners may say. A key that counts no more stays, so that
-- what it signed before is still believed, and so that it is not trusted anew by mistake.
CREATE TABLE keys (
    key        TEXT PRIMARY KEY CHECK (key GLOB 'ed25519:*'),
    owner      TEXT NOT NULL,
    publishers TEXT NOT NULL CHECK (json_valid(publishers)),
    reviewer   INTEGER NOT NULL CHECK (reviewer IN (0, 1)),
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
