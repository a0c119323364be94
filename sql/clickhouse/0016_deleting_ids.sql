-- The distinct ids of a person that is being deleted, for the statements that carry it out: an attempt puts them here, and
-- drops them at its end; what a killed one left goes by age.
CREATE TABLE IF NOT EXISTS deleting_ids
(
    attempt UUID,
    written_at DateTime DEFAULT now(),
    project_id UInt32,
    distinct_id String CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY attempt
ORDER BY distinct_id
TTL written_at + INTERVAL 3 DAY;
