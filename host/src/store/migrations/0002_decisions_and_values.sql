-- Approvals that end, asks of refused calls, values with a kind and a history.

-- After this time, in milliseconds since 1970, an approval counts for nothing. NULL: it has no end.
ALTER TABLE approvals ADD COLUMN expires_at INTEGER;

-- What a refused call needed and the manifest declares: a person decides it by its id. One row for one wish,
-- however often it is refused; who asked is who asked last. After `refused_at` a person does not want to be asked.
CREATE TABLE asks (
    id         TEXT PRIMARY KEY,
    publisher  TEXT NOT NULL,
    slug       TEXT NOT NULL,
    digest     TEXT NOT NULL,
    wish       TEXT NOT NULL CHECK (json_valid(wish)),
    principal  TEXT NOT NULL,
    tool       TEXT NOT NULL,
    call       TEXT NOT NULL,
    first_at   INTEGER NOT NULL,
    last_at    INTEGER NOT NULL,
    times      INTEGER NOT NULL CHECK (times > 0),
    refused_at INTEGER,
    UNIQUE (publisher, slug, digest, wish),
    FOREIGN KEY (publisher, slug, digest) REFERENCES installs (publisher, slug, digest) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Ids of asks are made of their wish with this: the same in every process, and not to be guessed by a guest.
ALTER TABLE meta ADD COLUMN ask_key BLOB NOT NULL DEFAULT x'';
UPDATE meta SET ask_key = randomblob(32);

-- `value` is what is put in; `oauth2` holds a connection whose access token is put in.
-- After `expires_at` a value is not available any more. `scheme` says what the ciphertext is bound to: from 2 on
-- also kind and end, and the row counts only when it is in the roster.
ALTER TABLE secrets ADD COLUMN kind TEXT NOT NULL DEFAULT 'value' CHECK (kind IN ('value', 'oauth2'));
ALTER TABLE secrets ADD COLUMN expires_at INTEGER;
ALTER TABLE secrets ADD COLUMN scheme INTEGER NOT NULL DEFAULT 1;

-- One row: which version of each secret is the newest, under a MAC, so that a row that was put back is seen.
CREATE TABLE roster (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    kek_id TEXT NOT NULL,
    newest TEXT NOT NULL CHECK (json_valid(newest)),
    mac    BLOB NOT NULL CHECK (length(mac) = 32)
) STRICT;

-- When a value last went out. A table of its own: a change of `secrets` moves the generation, a use must not.
CREATE TABLE secret_uses (
    name    TEXT PRIMARY KEY,
    used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Values that were replaced: nothing puts them in any more, but answers are searched for them for a while.
CREATE TABLE old_values (
    name        TEXT NOT NULL,
    version     INTEGER NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('value', 'oauth2')),
    expires_at  INTEGER,
    scheme      INTEGER NOT NULL,
    kek_id      TEXT NOT NULL,
    salt        BLOB NOT NULL CHECK (length(salt) = 32),
    nonce       BLOB NOT NULL CHECK (length(nonce) = 12),
    ciphertext  BLOB NOT NULL,
    replaced_at INTEGER NOT NULL,
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;

-- Which stored values a capability was ever allowed to send. An approval that is withdrawn stays here: what was
-- stored at an API yesterday can come back tomorrow, and is searched for.
CREATE TABLE exposures (
    publisher TEXT NOT NULL,
    slug      TEXT NOT NULL,
    secret    TEXT NOT NULL,
    source    TEXT NOT NULL,
    PRIMARY KEY (publisher, slug, secret, source)
) STRICT, WITHOUT ROWID;
INSERT INTO exposures SELECT DISTINCT publisher, slug, secret, source FROM approvals;
CREATE TRIGGER approvals_inserted_expose AFTER INSERT ON approvals BEGIN
    INSERT INTO exposures VALUES (NEW.publisher, NEW.slug, NEW.secret, NEW.source) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER approvals_updated_expose AFTER UPDATE ON approvals BEGIN
    INSERT INTO exposures VALUES (NEW.publisher, NEW.slug, NEW.secret, NEW.source) ON CONFLICT DO NOTHING;
END;

-- How many values were cut out of the answer.
ALTER TABLE requests ADD COLUMN redactions INTEGER NOT NULL DEFAULT 0;

-- The host's own request, for the connection that `secrets` names.
ALTER TABLE requests ADD COLUMN own INTEGER NOT NULL DEFAULT 0 CHECK (own IN (0, 1));
