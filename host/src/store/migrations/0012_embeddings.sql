-- What texts mean to a model, so that no text is asked about twice.

-- A model by what tells it from every other: an endpoint with its settings, or the digest of a folder.
CREATE TABLE embedding_models (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL CHECK (dimensions > 0)
) STRICT;

-- `text` is the digest of the text, never the text itself. No trigger moves the generation: nothing that a call may do
-- hangs on a vector.
CREATE TABLE embeddings (
    model  INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
    text   BLOB NOT NULL CHECK (length(text) = 32),
    vector BLOB NOT NULL,
    PRIMARY KEY (model, text)
) STRICT;
