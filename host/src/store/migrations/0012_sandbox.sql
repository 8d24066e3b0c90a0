-- Files of conversations.

-- A conversation that has or had files. `key` is made of principal and conversation, and tells neither a session's
-- id nor a client's word. `used_at` is when something in it was changed last.
CREATE TABLE conversations (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant    TEXT NOT NULL,
    principal TEXT NOT NULL,
    key       TEXT NOT NULL CHECK (length(key) = 32),
    kind      TEXT NOT NULL CHECK (kind IN ('own', 'session', 'named')),
    began_at  INTEGER NOT NULL,
    used_at   INTEGER NOT NULL,
    UNIQUE (tenant, principal, key)
) STRICT;
CREATE INDEX conversations_by_use ON conversations (used_at);

-- Who gets the name of a principal that is gone gets nothing of it.
CREATE TRIGGER principals_deleted_conversations AFTER DELETE ON principals
BEGIN DELETE FROM conversations WHERE principal = OLD.name; END;

-- `folded` is the name as a system takes it that ignores case.
CREATE TABLE files (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    publisher    TEXT NOT NULL,
    slug         TEXT NOT NULL,
    name         TEXT NOT NULL,
    folded       TEXT NOT NULL,
    bytes        INTEGER NOT NULL CHECK (bytes >= 0),
    written_at   INTEGER NOT NULL,
    UNIQUE (conversation, publisher, slug, folded)
) STRICT;

-- The bytes of files, in pieces of one size but the last: so that a part is read without what is before it.
CREATE TABLE file_pieces (
    file     INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    bytes    BLOB NOT NULL,
    PRIMARY KEY (file, position)
) STRICT;

-- What a call did to files: which one, never its bytes.
CREATE TABLE file_changes (
    call     TEXT NOT NULL REFERENCES calls (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    action   TEXT NOT NULL CHECK (action IN ('write', 'delete')),
    bytes    INTEGER NOT NULL,
    PRIMARY KEY (call, position)
) STRICT, WITHOUT ROWID;
