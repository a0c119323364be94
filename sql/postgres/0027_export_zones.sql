-- Older servers: must stop.
-- Takes: a moment.
-- Days and weeks of batch exports begin at an hour of a zone's clock; weeks on a day, which is Thursday for those of
-- before: they were counted from 1970.

ALTER TABLE batch_exports
    ADD COLUMN timezone text NOT NULL DEFAULT 'UTC',
    -- 0 is Sunday
    ADD COLUMN offset_day smallint NOT NULL DEFAULT 0 CHECK (offset_day BETWEEN 0 AND 6),
    ADD COLUMN offset_hour smallint NOT NULL DEFAULT 0 CHECK (offset_hour BETWEEN 0 AND 23),
    -- no interval ends before it that is not scheduled; null = not known since the export was made or changed
    ADD COLUMN due_at timestamptz;
UPDATE batch_exports SET offset_day = 4 WHERE "interval" = 'week';
DROP INDEX batch_exports_to_schedule;
CREATE INDEX batch_exports_due ON batch_exports (due_at) WHERE NOT deleted AND NOT paused;

-- the export's when the backfill was requested
ALTER TABLE batch_export_backfills
    ADD COLUMN timezone text NOT NULL DEFAULT 'UTC',
    ADD COLUMN offset_day smallint NOT NULL DEFAULT 0,
    ADD COLUMN offset_hour smallint NOT NULL DEFAULT 0;
UPDATE batch_export_backfills SET offset_day = 4 WHERE "interval" = 'week';
