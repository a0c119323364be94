-- Older servers: go on.
-- Takes: a moment.
-- Whether the names of an export's files end in a part of its id: another export's, with other rows, would be equal.
ALTER TABLE batch_exports ADD COLUMN own_names boolean NOT NULL DEFAULT false;

-- The files of attempts at the run, recorded before they write: [{place, keys}]. null: none, or removed since.
ALTER TABLE batch_export_runs ADD COLUMN files jsonb;
