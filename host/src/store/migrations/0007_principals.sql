-- Who calls, what they may, and by which tokens they are known.

-- `cli`, `stdio` and `http` are the doors' own: they are there from the start, and have no tokens.
CREATE TABLE principals (
    name       TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO principals (name, created_at) VALUES ('cli', 0), ('stdio', 0), ('http', 0);

CREATE TABLE principal_roles (
    principal TEXT NOT NULL REFERENCES principals (name) ON DELETE CASCADE,
    role      TEXT NOT NULL,
    PRIMARY KEY (principal, role)
) STRICT, WITHOUT ROWID;

CREATE TABLE principal_permissions (
    principal  TEXT NOT NULL REFERENCES principals (name) ON DELETE CASCADE,
    permission TEXT NOT NULL,
    PRIMARY KEY (principal, permission)
) STRICT, WITHOUT ROWID;

-- A token is 256 random bits; only its SHA-256 is kept. `id` names it in lists and opens nothing.
CREATE TABLE tokens (
    hash       BLOB PRIMARY KEY CHECK (length(hash) = 32),
    id         TEXT NOT NULL UNIQUE,
    principal  TEXT NOT NULL REFERENCES principals (name) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_principal ON tokens (principal);

-- When a token was last used. A table of its own: a change of `tokens` moves the generation, a use must not.
CREATE TABLE token_uses (
    id      TEXT PRIMARY KEY REFERENCES tokens (id) ON DELETE CASCADE,
    used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE role_permissions (
    role       TEXT NOT NULL,
    permission TEXT NOT NULL,
    PRIMARY KEY (role, permission)
) STRICT, WITHOUT ROWID;

-- With `percent`, a flag that is on is on for so many of a hundred principals, and always for the same ones.
CREATE TABLE flags (
    name    TEXT PRIMARY KEY,
    is_on   INTEGER NOT NULL CHECK (is_on IN (0, 1)),
    percent INTEGER CHECK (percent BETWEEN 0 AND 100)
) STRICT, WITHOUT ROWID;

CREATE TABLE flag_exceptions (
    flag      TEXT NOT NULL REFERENCES flags (name) ON DELETE CASCADE,
    principal TEXT NOT NULL REFERENCES principals (name) ON DELETE CASCADE,
    is_on     INTEGER NOT NULL CHECK (is_on IN (0, 1)),
    PRIMARY KEY (flag, principal)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER principals_inserted AFTER INSERT ON principals BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER principals_updated AFTER UPDATE ON principals BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER principals_deleted AFTER DELETE ON principals BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER principal_roles_inserted AFTER INSERT ON principal_roles BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER principal_roles_updated AFTER UPDATE ON principal_roles BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER principal_roles_deleted AFTER DELETE ON principal_roles BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER principal_permissions_inserted AFTER INSERT ON principal_permissions BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER principal_permissions_updated AFTER UPDATE ON principal_permissions BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER principal_permissions_deleted AFTER DELETE ON principal_permissions BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER tokens_inserted AFTER INSERT ON tokens BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER tokens_updated AFTER UPDATE ON tokens BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER tokens_deleted AFTER DELETE ON tokens BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER role_permissions_inserted AFTER INSERT ON role_permissions BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER role_permissions_updated AFTER UPDATE ON role_permissions BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER role_permissions_deleted AFTER DELETE ON role_permissions BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER flags_inserted AFTER INSERT ON flags BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER flags_updated AFTER UPDATE ON flags BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER flags_deleted AFTER DELETE ON flags BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER flag_exceptions_inserted AFTER INSERT ON flag_exceptions BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER flag_exceptions_updated AFTER UPDATE ON flag_exceptions BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER flag_exceptions_deleted AFTER DELETE ON flag_exceptions BEGIN UPDATE meta SET generation = generation + 1; END;
