-- Older servers: go on.
-- What journals report apart: rows that are stored, rows from which all is derived, pieces of recordings.

ALTER TABLE journals
    -- every event taken before it is stored; `watermark` says the same of their sessions, too. null: an older process
    ADD COLUMN stored_watermark timestamptz,
    -- every piece of a recording taken before it is stored; null: an older process
    ADD COLUMN recordings_watermark timestamptz;

-- Stored batches of events whose sessions could not be derived; any server derives them later from the stored rows.
CREATE TABLE session_backlog
(
    -- the number of a batch, as text: it has 64 bits and no sign
    batch text PRIMARY KEY,
    added_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX session_backlog_added_at ON session_backlog (added_at);
