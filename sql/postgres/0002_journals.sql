-- Journals: one for every process that captures. Each says how far its events have reached ClickHouse, so
-- that exports know which intervals are complete.

CREATE TABLE journals
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name <> ''),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- every event that arrived before it is stored
    watermark timestamptz,
    -- when its process last said so
    seen_at timestamptz
);

CREATE INDEX journals_seen ON journals (seen_at);
