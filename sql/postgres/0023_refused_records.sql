-- Older servers: go on.
-- Takes: a moment.
-- How many rows of a run its destination refused; null before.

ALTER TABLE batch_export_runs ADD COLUMN records_failed bigint;
