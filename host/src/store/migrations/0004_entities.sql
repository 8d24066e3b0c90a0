-- Documents that capabilities keep.

-- What one capability keeps, in sums. It hangs on the name and not on the digest: an upgrade finds it, and so does
-- an install after an uninstall. `version` is the last that was given to a change; it only grows.
CREATE TABLE holdings (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant    TEXT NOT NULL,
    publisher TEXT NOT NULL,
    slug      TEXT NOT NULL,
    documents INTEGER NOT NULL CHECK (documents >= 0),
    bytes     INTEGER NOT NULL CHECK (bytes >= 0),
    old_bytes INTEGER NOT NULL CHECK (old_bytes >= 0),
    version   INTEGER NOT NULL CHECK (version >= 0),
    UNIQUE (tenant, publisher, slug)
) STRICT;

-- `key` is text, stored as bytes: keys are ordered and searched by their bytes. `value` stands last, so that what
-- looks at versions does not load its pages.
CREATE TABLE documents (
    holding    INTEGER NOT NULL REFERENCES holdings (id) ON DELETE CASCADE,
    entity     TEXT NOT NULL,
    key        BLOB NOT NULL,
    version    INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    value      TEXT NOT NULL CHECK (json_valid(value)),
    PRIMARY KEY (holding, entity, key)
) STRICT, WITHOUT ROWID;

-- What documents were before. NULL: there was none from this version on.
CREATE TABLE old_documents (
    holding    INTEGER NOT NULL REFERENCES holdings (id) ON DELETE CASCADE,
    version    INTEGER NOT NULL,
    entity     TEXT NOT NULL,
    key        BLOB NOT NULL,
    changed_at INTEGER NOT NULL,
    value      TEXT CHECK (json_valid(value)),
    PRIMARY KEY (holding, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX old_documents_by_key ON old_documents (holding, entity, key, version);

-- What a call changed: which document, never its value.
CREATE TABLE changes (
    call     TEXT NOT NULL REFERENCES calls (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    entity   TEXT NOT NULL,
    key      TEXT NOT NULL,
    action   TEXT NOT NULL CHECK (action IN ('put', 'delete')),
    version  INTEGER NOT NULL,
    bytes    INTEGER NOT NULL,
    PRIMARY KEY (call, position)
) STRICT, WITHOUT ROWID;
