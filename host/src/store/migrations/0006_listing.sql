-- What capabilities have withdrawn from agents for now.

-- It hangs on the digest: an upgrade offers everything again, and an uninstall takes it along.
CREATE TABLE withdrawn (
    publisher TEXT NOT NULL,
    slug      TEXT NOT NULL,
    digest    TEXT NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('tool', 'prompt', 'resource')),
    item      TEXT NOT NULL,
    PRIMARY KEY (publisher, slug, digest, kind, item),
    FOREIGN KEY (publisher, slug, digest) REFERENCES installs (publisher, slug, digest) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TRIGGER withdrawn_inserted AFTER INSERT ON withdrawn BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER withdrawn_deleted AFTER DELETE ON withdrawn BEGIN UPDATE meta SET generation = generation + 1; END;
