-- Older servers: must stop.
-- Takes: a moment.
-- Whether the intervals of a backfill are ones of events' timestamps; those of before, and runs that are repeated, go by
-- arrival.

ALTER TABLE batch_export_backfills ADD COLUMN by_timestamp boolean NOT NULL DEFAULT false;
