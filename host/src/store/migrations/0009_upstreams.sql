-- Upstream MCP servers: how each is reached, and what it said since it was accepted.

-- What was accepted is pinned in `installs`, as `mcp/<name>`. `held` are other definitions that the server gave
-- since, until a person decides. Secrets stand in `reach` as placeholders.
CREATE TABLE upstreams (
    name     TEXT PRIMARY KEY,
    reach    TEXT NOT NULL CHECK (json_valid(reach)),
    added_at INTEGER NOT NULL,
    held     TEXT CHECK (held IS NULL OR json_valid(held)),
    held_at  INTEGER,
    CHECK ((held IS NULL) = (held_at IS NULL))
) STRICT;

CREATE TRIGGER upstreams_inserted AFTER INSERT ON upstreams BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER upstreams_moved AFTER UPDATE OF reach ON upstreams BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER upstreams_deleted AFTER DELETE ON upstreams BEGIN UPDATE meta SET generation = generation + 1; END;
