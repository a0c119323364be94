-- Rows of persons on their way out: persons change while they are exported, and what was counted has to be what is
-- written. An attempt at a run keeps its rows here, and drops them at its end; what a killed one left goes by age.
CREATE TABLE IF NOT EXISTS exported_person_rows
(
    attempt UUID,
    written_at DateTime DEFAULT now(),
    project_id UInt32,
    team_id UInt32,
    distinct_id String CODEC(ZSTD(1)),
    person_id UUID,
    properties String CODEC(ZSTD(1)),
    person_distinct_id_version UInt64,
    person_version UInt64,
    created_at DateTime64(6, 'UTC'),
    _inserted_at DateTime64(6, 'UTC'),
    is_deleted Bool
)
ENGINE = MergeTree
PARTITION BY attempt
ORDER BY tuple()
TTL written_at + INTERVAL 3 DAY;
