-- Older servers: go on.
-- Servers of several versions on the same stores: which changes older ones bear, and what each server knows.

-- One row for each migration of either store from this one on, written before its first statement.
CREATE TABLE migrations_begun
(
    store text NOT NULL CHECK (store IN ('postgres', 'clickhouse')),
    version integer NOT NULL,
    -- the file's name
    name text NOT NULL,
    -- whether servers that do not know it can go on beside it
    older_go_on boolean NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (store, version)
);

ALTER TABLE journals
    -- the last migration of each store that the process knows; null: it is older than these columns
    ADD COLUMN postgres_migration integer,
    ADD COLUMN clickhouse_migration integer,
    -- host and folder of the process, for log lines
    ADD COLUMN location text;
