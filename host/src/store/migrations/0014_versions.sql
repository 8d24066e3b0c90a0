-- Earlier versions of what is installed, where bytes came from, and what was said against releases since.

-- What a name was pinned to before, the newest last, with what people had decided about that digest. A rollback goes
-- back over pins that were replaced, not over those that another rollback left. `manifest` stands last, as in
-- `installs`.
CREATE TABLE earlier (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    publisher    TEXT NOT NULL,
    slug         TEXT NOT NULL,
    version      TEXT NOT NULL,
    digest       TEXT NOT NULL CHECK (length(digest) = 71 AND digest GLOB 'sha256:*'),
    size         INTEGER NOT NULL CHECK (size >= 0),
    installed_at INTEGER NOT NULL,
    left_at      INTEGER NOT NULL,
    left_by      TEXT NOT NULL CHECK (left_by IN ('replaced', 'rollback')),
    manifest     TEXT NOT NULL CHECK (json_valid(manifest)),
    UNIQUE (publisher, slug, digest)
) STRICT;
CREATE INDEX earlier_by_digest ON earlier (digest);

CREATE TABLE earlier_grants (
    pin       INTEGER NOT NULL REFERENCES earlier (id) ON DELETE CASCADE,
    namespace TEXT NOT NULL,
    entry     TEXT NOT NULL,
    PRIMARY KEY (pin, namespace, entry)
) STRICT, WITHOUT ROWID;

CREATE TABLE earlier_approvals (
    pin        INTEGER NOT NULL REFERENCES earlier (id) ON DELETE CASCADE,
    secret     TEXT NOT NULL,
    source     TEXT NOT NULL,
    host       TEXT NOT NULL,
    port       INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
    place      TEXT NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (pin, secret, host, port, place)
) STRICT, WITHOUT ROWID;

-- Tools that needed no word of a person as long as these bytes were installed; an empty one stands for all.
CREATE TABLE earlier_words (
    pin  INTEGER NOT NULL REFERENCES earlier (id) ON DELETE CASCADE,
    tool TEXT NOT NULL,
    PRIMARY KEY (pin, tool)
) STRICT, WITHOUT ROWID;

-- Who vouched for bytes that came from a registry, when they were pinned. No row: they came from a file.
CREATE TABLE origins (
    publisher   TEXT NOT NULL,
    slug        TEXT NOT NULL,
    digest      TEXT NOT NULL,
    registry    TEXT NOT NULL,
    key         TEXT NOT NULL,
    reviewer    TEXT NOT NULL,
    reviewed_at INTEGER NOT NULL,
    PRIMARY KEY (publisher, slug, digest)
) STRICT, WITHOUT ROWID;

-- What was said against releases. By version, which means the same bytes for ever; `source` is the registry that said
-- it, or empty for this home's own word. It stays when the capability goes: it would be as bad on its return.
CREATE TABLE recalls (
    publisher TEXT NOT NULL,
    slug      TEXT NOT NULL,
    version   TEXT NOT NULL,
    source    TEXT NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('yanked', 'revoked')),
    reason    TEXT,
    at        INTEGER NOT NULL,
    PRIMARY KEY (publisher, slug, version, source)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER recalls_inserted AFTER INSERT ON recalls BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER recalls_updated AFTER UPDATE ON recalls BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER recalls_deleted AFTER DELETE ON recalls BEGIN UPDATE meta SET generation = generation + 1; END;

-- The newest form of an entity's documents that code of this capability was installed to write. No row: the first.
CREATE TABLE entity_formats (
    publisher TEXT NOT NULL,
    slug      TEXT NOT NULL,
    entity    TEXT NOT NULL,
    format    INTEGER NOT NULL CHECK (format > 1),
    PRIMARY KEY (publisher, slug, entity)
) STRICT, WITHOUT ROWID;
