-- Types of groups can be deleted: rows have versions now, so that a deletion wins over a row that was on its way before it.
CREATE TABLE IF NOT EXISTS group_type_rows
(
    project_id UInt32,
    group_type String,
    place UInt8,
    -- of the transaction in Postgres; rises
    version UInt64,
    is_deleted UInt8 DEFAULT 0
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (project_id, group_type)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

INSERT INTO group_type_rows (project_id, group_type, place, version)
SELECT project_id, group_type, place, 0 FROM group_types;

-- In the place of the table, and in one step.
CREATE OR REPLACE VIEW group_types AS
SELECT project_id, group_type, place FROM group_type_rows FINAL;
