-- What a program of the first version wrote: two installs, a secret, an approval, records. Its key is beside it.
BEGIN TRANSACTION;
CREATE TABLE approvals (
    publisher TEXT NOT NULL,
    slug      TEXT NOT NULL,
    digest    TEXT NOT NULL,
    secret    TEXT NOT NULL,
    source    TEXT NOT NULL,
    host      TEXT NOT NULL,
    port      INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
    place     TEXT NOT NULL,
    PRIMARY KEY (publisher, slug, digest, secret, host, port, place),
    FOREIGN KEY (publisher, slug, digest) REFERENCES installs (publisher, slug, digest) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "approvals" VALUES('test','probe','sha256:c6b6cbcd30fc8acefea9c5d8a80f5e4899e76b3a1971cc58c4ad2bfb85d8f3a8','API_KEY','API_KEY','api.example.com',443,'body');
INSERT INTO "approvals" VALUES('test','probe','sha256:c6b6cbcd30fc8acefea9c5d8a80f5e4899e76b3a1971cc58c4ad2bfb85d8f3a8','API_KEY','API_KEY','api.example.com',443,'header:authorization');
INSERT INTO "approvals" VALUES('test','probe','sha256:c6b6cbcd30fc8acefea9c5d8a80f5e4899e76b3a1971cc58c4ad2bfb85d8f3a8','API_KEY','API_KEY','api.example.com',443,'header:x-api-key');
CREATE TABLE calls (
    id          TEXT PRIMARY KEY,
    process     TEXT,
    started_at  INTEGER NOT NULL,
    principal   TEXT NOT NULL,
    capability  TEXT NOT NULL,
    tool        TEXT NOT NULL,
    digest      TEXT,
    dry_run     INTEGER NOT NULL CHECK (dry_run IN (0, 1)),
    outcome     TEXT NOT NULL,
    detail      TEXT,
    fuel        INTEGER NOT NULL,
    memory_peak INTEGER NOT NULL,
    time_us     INTEGER NOT NULL,
    host_calls  INTEGER NOT NULL,
    requests    INTEGER NOT NULL,
    bytes_out   INTEGER NOT NULL,
    bytes_in    INTEGER NOT NULL,
    log         TEXT NOT NULL CHECK (json_valid(log)),
    CHECK ((outcome = 'running') = (process IS NOT NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO "calls" VALUES('01m8q8kfh1pqp736y4589xk5mw',NULL,1796077108769,'cli','remit/text','count','sha256:7ce58ac8e90b12028e0f0a5f033793b3bf1f7b3e9e93190796466ebfec67c2ca',0,'call/invalid-input','the arguments: the property `text` is missing',0,0,8456,0,0,0,0,'[]');
INSERT INTO "calls" VALUES('01m8q8kfjb0sar8p7aqdxsyhnm',NULL,1796077108811,'cli','test/probe','fetch','sha256:c6b6cbcd30fc8acefea9c5d8a80f5e4899e76b3a1971cc58c4ad2bfb85d8f3a8',0,'capability/failed','SchemeNotAllowed',8714,1180080,12948,1,1,0,0,'[]');
INSERT INTO "calls" VALUES('01m8q8kfkb3x9xhny9tp5j96rg',NULL,1796077108843,'cli','test/probe','fetch','sha256:c6b6cbcd30fc8acefea9c5d8a80f5e4899e76b3a1971cc58c4ad2bfb85d8f3a8',0,'capability/failed','HostNotAllowed("evil.example")',13379,1180080,54070,1,1,0,0,'[]');
CREATE TABLE grants (
    publisher TEXT NOT NULL,
    slug      TEXT NOT NULL,
    digest    TEXT NOT NULL,
    namespace TEXT NOT NULL,
    entry     TEXT NOT NULL,
    PRIMARY KEY (publisher, slug, digest, namespace, entry),
    FOREIGN KEY (publisher, slug, digest) REFERENCES installs (publisher, slug, digest) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "grants" VALUES('test','probe','sha256:c6b6cbcd30fc8acefea9c5d8a80f5e4899e76b3a1971cc58c4ad2bfb85d8f3a8','http','');
INSERT INTO "grants" VALUES('test','probe','sha256:c6b6cbcd30fc8acefea9c5d8a80f5e4899e76b3a1971cc58c4ad2bfb85d8f3a8','http','*.cdn.example.com');
INSERT INTO "grants" VALUES('test','probe','sha256:c6b6cbcd30fc8acefea9c5d8a80f5e4899e76b3a1971cc58c4ad2bfb85d8f3a8','http','api.example.com');
INSERT INTO "grants" VALUES('test','probe','sha256:c6b6cbcd30fc8acefea9c5d8a80f5e4899e76b3a1971cc58c4ad2bfb85d8f3a8','http','api.example.com:8443');
CREATE TABLE installs (
    publisher    TEXT NOT NULL,
    slug         TEXT NOT NULL,
    version      TEXT NOT NULL,
    digest       TEXT NOT NULL CHECK (length(digest) = 71 AND digest GLOB 'sha256:*'),
    size         INTEGER NOT NULL CHECK (size >= 0),
    installed_at INTEGER NOT NULL,
    manifest     TEXT NOT NULL CHECK (json_valid(manifest)),
    PRIMARY KEY (publisher, slug),
    UNIQUE (publisher, slug, digest)
) STRICT;
INSERT INTO "installs" VALUES('test','probe','1.0.0','sha256:c6b6cbcd30fc8acefea9c5d8a80f5e4899e76b3a1971cc58c4ad2bfb85d8f3a8',85127,1796077102529,'{"publisher":"test","slug":"probe","version":"1.0.0","title":"Probe","description":"Sends what a test tells it to.","runtime":"component","uses":["http"],"http":{"allow":["api.example.com","*.cdn.example.com","api.example.com:8443"]},"secrets":[{"name":"API_KEY","required":false,"description":"A key for tests.","hosts":["api.example.com"],"in":["header:authorization","header:x-api-key","body"]}],"tools":[{"name":"fetch","description":"Sends one request and answers what came back.","inputSchema":{"type":"object","properties":{"url":{"type":"string","description":"The URL."},"method":{"type":"string","description":"`GET`, unless it is said."},"headers":{"type":"array","description":"Header fields, as `name: value`.","items":{"type":"string"}},"body":{"type":"string","description":"The body."}},"required":["url"],"additionalProperties":false},"outputSchema":{"type":"object","description":"What came back.","properties":{"status":{"type":"integer","description":"The status code.","minimum":0,"maximum":65535},"headers":{"type":"array","description":"Header fields, as `name: value`.","items":{"type":"string"}},"body":{"type":"string","description":"The body as text."}},"required":["status","headers","body"],"additionalProperties":false},"readOnly":true,"idempotent":false,"expose":true,"run":{"kind":"component"}},{"name":"change","description":"The same as a tool that changes something.","inputSchema":{"type":"object","properties":{"url":{"type":"string","description":"The URL."},"headers":{"type":"array","description":"Header fields, as `name: value`.","items":{"type":"string"}},"body":{"type":"string","description":"The body."}},"required":["url"],"additionalProperties":false},"outputSchema":{"type":"object","description":"What came back.","properties":{"status":{"type":"integer","description":"The status code.","minimum":0,"maximum":65535},"headers":{"type":"array","description":"Header fields, as `name: value`.","items":{"type":"string"}},"body":{"type":"string","description":"The body as text."}},"required":["status","headers","body"],"additionalProperties":false},"readOnly":false,"destructive":false,"idempotent":false,"expose":true,"run":{"kind":"component"}},{"name":"flood","description":"Sends the same request again and again.","inputSchema":{"type":"object","properties":{"url":{"type":"string","description":"The URL."},"times":{"type":"integer","description":"How often.","minimum":0,"maximum":4294967295}},"required":["url","times"],"additionalProperties":false},"readOnly":true,"idempotent":false,"expose":true,"run":{"kind":"component"}},{"name":"complain","description":"Logs a message and fails with it: the two ways out besides an answer.","inputSchema":{"type":"object","properties":{"message":{"type":"string","description":"What to say."},"url":{"type":"string","description":"Asks there first, and says what came back as well."},"headers":{"type":"array","description":"Header fields, as `name: value`.","items":{"type":"string"}}},"required":["message"],"additionalProperties":false},"readOnly":true,"idempotent":false,"expose":true,"run":{"kind":"component"}}],"limits":{"httpRequests":5}}');
INSERT INTO "installs" VALUES('remit','text','1.0.0','sha256:7ce58ac8e90b12028e0f0a5f033793b3bf1f7b3e9e93190796466ebfec67c2ca',398708,1796077108690,'{"publisher":"remit","slug":"text","version":"1.0.0","title":"Text","description":"Exact work on text and JSON: count, compare, replace, extract, query, format, encode, hash.","keywords":["string","regex","diff","json","base64","sha256","slug"],"runtime":"component","tools":[{"name":"echo","description":"Repeats a message, unchanged.","inputSchema":{"type":"object","properties":{"message":{"type":"string","description":"What to repeat."}},"required":["message"],"additionalProperties":false},"readOnly":true,"idempotent":true,"expose":true,"run":{"kind":"component"}},{"name":"count","description":"Counts bytes (as UTF-8), characters, words and lines of a text.","keywords":["length","size","wc"],"inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to measure."}},"required":["text"],"additionalProperties":false},"outputSchema":{"type":"object","description":"How long a text is.","properties":{"bytes":{"type":"integer","description":"Bytes, as UTF-8.","minimum":0,"maximum":4294967295},"characters":{"type":"integer","description":"Unicode characters (scalar values).","minimum":0,"maximum":4294967295},"words":{"type":"integer","description":"Runs of characters other than white space.","minimum":0,"maximum":4294967295},"lines":{"type":"integer","description":"Lines, the last one counted even without its end.","minimum":0,"maximum":4294967295}},"required":["bytes","characters","words","lines"],"additionalProperties":false},"readOnly":true,"idempotent":true,"expose":true,"run":{"kind":"component"}},{"name":"diff","description":"Compares two texts line by line and gives a unified diff.","keywords":["compare","patch","changes"],"inputSchema":{"type":"object","properties":{"before":{"type":"string","description":"The old text."},"after":{"type":"string","description":"The new text."},"context_lines":{"type":"integer","description":"How many unchanged lines to show around each change.","minimum":0,"maximum":100,"default":3}},"required":["before","after"],"additionalProperties":false},"outputSchema":{"type":"object","description":"What changed between two texts.","properties":{"same":{"type":"boolean","description":"Whether the texts are the same."},"lines_added":{"type":"integer","description":"How many lines are only in the new text.","minimum":0,"maximum":4294967295},"lines_removed":{"type":"integer","description":"How many lines are only in the old text.","minimum":0,"maximum":4294967295},"unified":{"type":"string","description":"The changes as a unified diff. Empty when there are none."}},"required":["same","lines_added","lines_removed","unified"],"additionalProperties":false},"readOnly":true,"idempotent":true,"expose":true,"run":{"kind":"component"}},{"name":"change_lines","description":"Sorts, reverses, trims lines, or drops repeated or empty ones. Steps are applied in the order given.","keywords":["sort","unique","deduplicate"],"inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text whose lines to change."},"steps":{"type":"array","description":"What to do, in order.","minItems":1,"maxItems":10,"items":{"type":"string","description":"A change to the lines of a text.","enum":["sort","reverse","unique","trim","drop_empty"]}}},"required":["text","steps"],"additionalProperties":false},"readOnly":true,"idempotent":true,"expose":true,"run":{"kind":"component"}},{"name":"replace","description":"Replaces all occurrences of a string or a regular expression, and says how many there were.","keywords":["substitute","regex"],"inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to search."},"find":{"type":"string","description":"What to find: a string, taken literally unless `regex` is true.","minLength":1,"maxLength":2000},"replacement":{"type":"string","description":"What to put in its place. With `regex`, `$1` and `${name}` stand for groups, and `$$` for `$`."},"regex":{"type":"boolean","description":"Whether `find` is a regular expression.","default":false}},"required":["text","find","replacement"],"additionalProperties":false},"outputSchema":{"type":"object","description":"A text after replacing.","properties":{"text":{"type":"string","description":"The text."},"replaced":{"type":"integer","description":"How many occurrences there were.","minimum":0,"maximum":4294967295}},"required":["text","replaced"],"additionalProperties":false},"readOnly":true,"idempotent":true,"expose":true,"run":{"kind":"component"}},{"name":"extract","description":"Finds the matches of a regular expression, with their groups and where they are.","keywords":["regex","match","search","grep"],"inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to search."},"pattern":{"type":"string","description":"A regular expression, as in Perl but without look-around and back-references. `(?i)` at its start ignores case, `(?m)` lets `^` and `$` match at each line.","minLength":1,"maxLength":2000},"limit":{"type":"integer","description":"How many matches to give at most.","minimum":1,"maximum":1000,"default":100}},"required":["text","pattern"],"additionalProperties":false},"outputSchema":{"type":"object","description":"What was found.","properties":{"matches":{"type":"array","description":"The matches, in order.","items":{"type":"object","description":"One match.","properties":{"text":{"type":"string","description":"The text that matches."},"line":{"type":"integer","description":"The line it starts in; the first is 1.","minimum":0,"maximum":4294967295},"groups":{"type":"array","description":"Its groups, in order: an empty text where a group is not part of the match.","items":{"type":"string"}}},"required":["text","line"],"additionalProperties":false}},"more":{"type":"boolean","description":"Whether there are more than were asked for."}},"required":["matches","more"],"additionalProperties":false},"readOnly":true,"idempotent":true,"expose":true,"run":{"kind":"component"}},{"name":"json_query","description":"Picks values out of a JSON document by path. Values are given exactly as they are written.","keywords":["jq","jsonpath","pointer","select"],"inputSchema":{"type":"object","properties":{"json":{"type":"string","description":"The JSON document."},"path":{"type":"string","description":"A path such as `items[0].name`, `items[*].id` (each), `items[-1]` (the last) or `[\"odd key\"].x`; or a JSON Pointer such as `/items/0/name`. Empty means the whole document.","maxLength":2000},"limit":{"type":"integer","description":"How many values to give at most.","minimum":1,"maximum":1000,"default":100}},"required":["json","path"],"additionalProperties":false},"outputSchema":{"type":"object","description":"What a query found.","properties":{"values":{"type":"array","description":"The values, in order.","items":{"type":"object","description":"A value and its place.","properties":{"pointer":{"type":"string","description":"Where it is, as a JSON Pointer."},"json":{"type":"string","description":"The value, as JSON."}},"required":["pointer","json"],"additionalProperties":false}},"more":{"type":"boolean","description":"Whether there are more than were asked for."}},"required":["values","more"],"additionalProperties":false},"readOnly":true,"idempotent":true,"expose":true,"run":{"kind":"component"}},{"name":"json_format","description":"Checks a JSON document and lays it out again. Numbers and strings stay exactly as they are written.","keywords":["pretty","minify","validate","indent"],"inputSchema":{"type":"object","properties":{"json":{"type":"string","description":"The JSON document."},"style":{"type":"string","description":"How to lay it out.","default":"pretty","enum":["pretty","compact"]},"sort_keys":{"type":"boolean","description":"Whether to put the keys of each object in order.","default":false}},"required":["json"],"additionalProperties":false},"readOnly":true,"idempotent":true,"expose":true,"run":{"kind":"component"}},{"name":"encode","description":"Encodes a text (as UTF-8) in base64, hexadecimal or percent-encoding.","keywords":["base64","hex","url","percent"],"inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to encode."},"encoding":{"type":"string","description":"The encoding.","enum":["base64","base64url","hex","url"]}},"required":["text","encoding"],"additionalProperties":false},"readOnly":true,"idempotent":true,"expose":true,"run":{"kind":"component"}},{"name":"decode","description":"Decodes base64, hexadecimal or percent-encoding to text.","keywords":["base64","hex","url","percent"],"inputSchema":{"type":"object","properties":{"encoded":{"type":"string","description":"What to decode. White space around it is ignored."},"encoding":{"type":"string","description":"The encoding.","enum":["base64","base64url","hex","url"]}},"required":["encoded","encoding"],"additionalProperties":false},"readOnly":true,"idempotent":true,"expose":true,"run":{"kind":"component"}},{"name":"hash","description":"Gives the SHA-256 digest of a text (as UTF-8), in hexadecimal.","keywords":["sha256","digest","checksum"],"inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to hash."}},"required":["text"],"additionalProperties":false},"readOnly":true,"idempotent":true,"expose":true,"run":{"kind":"component"}},{"name":"convert_case","description":"Writes a name or a title in another case, or as a slug for a URL.","keywords":["slugify","camel","snake","kebab","rename"],"inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The name or title.","maxLength":10000},"to":{"type":"string","description":"The case.","enum":["camel","pascal","snake","screaming_snake","kebab","title","slug","lower","upper"]}},"required":["text","to"],"additionalProperties":false},"readOnly":true,"idempotent":true,"expose":true,"run":{"kind":"component"}},{"name":"truncate","description":"Shortens a text to a number of characters, at the end of a word where there is one.","keywords":["shorten","ellipsis","cut"],"inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"The text to shorten."},"max_characters":{"type":"integer","description":"How many characters to keep, the mark included.","minimum":1,"maximum":4294967295},"mark":{"type":"string","description":"What to put where it was cut.","maxLength":100,"default":"…"}},"required":["text","max_characters"],"additionalProperties":false},"outputSchema":{"type":"object","description":"A text that was cut where it had to be.","properties":{"text":{"type":"string","description":"The text."},"characters_cut":{"type":"integer","description":"How many characters are missing.","minimum":0,"maximum":4294967295}},"required":["text","characters_cut"],"additionalProperties":false},"readOnly":true,"idempotent":true,"expose":true,"run":{"kind":"component"}}],"prompt":"Use the text tools where a result has to be exact: counting, comparing two texts, regular expressions, reading or formatting JSON, encodings and hashes. They change nothing and reach nothing."}');
CREATE TABLE meta (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    generation INTEGER NOT NULL
) STRICT;
INSERT INTO "meta" VALUES(1,11);
CREATE TABLE requests (
    call      TEXT NOT NULL REFERENCES calls (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    method    TEXT NOT NULL,
    authority TEXT NOT NULL,
    path      TEXT NOT NULL,
    address   TEXT,
    status    INTEGER,
    outcome   TEXT NOT NULL,
    bytes_out INTEGER NOT NULL,
    bytes_in  INTEGER NOT NULL,
    secrets   TEXT NOT NULL CHECK (json_valid(secrets)),
    time_ms   INTEGER NOT NULL,
    PRIMARY KEY (call, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "requests" VALUES('01m8q8kfjb0sar8p7aqdxsyhnm',0,'GET','api.example.com','',NULL,NULL,'http/scheme-not-allowed',0,0,'[]',0);
INSERT INTO "requests" VALUES('01m8q8kfkb3x9xhny9tp5j96rg',0,'GET','evil.example','',NULL,NULL,'http/host-not-allowed',0,0,'[]',0);
CREATE TABLE secrets (
    name       TEXT PRIMARY KEY,
    version    INTEGER NOT NULL,
    kek_id     TEXT NOT NULL,
    salt       BLOB NOT NULL CHECK (length(salt) = 32),
    nonce      BLOB NOT NULL CHECK (length(nonce) = 12),
    ciphertext BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;
INSERT INTO "secrets" VALUES('API_KEY',7,'12e2a76dfc95e798',X'7C11759168C43B21AC66DBB86926193A06BF368135150397AA90360FBDE85E15',X'CEE122F105494CE02E38FC31',X'A0365219D23C16E0241A5B174166C62270C412080C4EBCCAA605652CF542DB6C0DF77FCB3D8338A261E93F7C',1796077102629,1796077102629);
CREATE INDEX calls_running ON calls (process) WHERE process IS NOT NULL;
CREATE TRIGGER installs_inserted AFTER INSERT ON installs BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER installs_updated AFTER UPDATE ON installs BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER installs_deleted AFTER DELETE ON installs BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER grants_inserted AFTER INSERT ON grants BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER grants_updated AFTER UPDATE ON grants BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER grants_deleted AFTER DELETE ON grants BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER approvals_inserted AFTER INSERT ON approvals BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER approvals_updated AFTER UPDATE ON approvals BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER approvals_deleted AFTER DELETE ON approvals BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER secrets_inserted AFTER INSERT ON secrets BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER secrets_updated AFTER UPDATE ON secrets BEGIN UPDATE meta SET generation = generation + 1; END;
CREATE TRIGGER secrets_deleted AFTER DELETE ON secrets BEGIN UPDATE meta SET generation = generation + 1; END;
COMMIT;
PRAGMA application_id = 1380796756;
PRAGMA user_version = 1;
