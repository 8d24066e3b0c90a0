-- Calls that a program made.

-- The record of the program. Not a foreign key: a program that reads alone is written after its calls.
ALTER TABLE calls ADD COLUMN parent TEXT;
CREATE INDEX calls_parent ON calls (parent) WHERE parent IS NOT NULL;
