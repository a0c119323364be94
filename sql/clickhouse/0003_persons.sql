-- Who did it. Nothing here is written by hand: every row is derived from event_rows or from merges by idempotent
-- aggregates (min, max), so that deriving a batch again changes nothing, and the order of arrival does not matter.

-- What an event says of its person and groups, as capture read it; blocks without any leave these columns out.
ALTER TABLE event_rows
    -- 0 of a person, 1 of nobody ($process_person_profile: false), 2 of a person, and tells of its first group
    ADD COLUMN IF NOT EXISTS person_mode UInt8,
    -- keys that are changed; how: 0 set, 1 set once, 2 unset, 3 set for the group; and the raw JSON values
    ADD COLUMN IF NOT EXISTS pk Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS pw Array(Int8),
    ADD COLUMN IF NOT EXISTS pv Array(String) CODEC(ZSTD(1)),
    -- the groups it belongs to
    ADD COLUMN IF NOT EXISTS gt Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS gk Array(String) CODEC(ZSTD(1));

-- A person's id is computed: UUIDv5 of "<project>:<distinct id>" under a fixed namespace.

-- Distinct ids that are persons, or parts of one. created_at of an event is its arrival.
CREATE TABLE IF NOT EXISTS seen
(
    project_id UInt32,
    distinct_id String,
    -- timestamps of its events
    first SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    last SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    -- arrival of its first event, and of the last that changed the person (by properties or a merge)
    arrived SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    changed SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    own_person_id UUID MATERIALIZED reinterpretAsUUID(concat(
        reinterpretAsFixedString(bitOr(bitAnd(reinterpretAsUInt64(reverse(substring(
            SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(project_id), ':', distinct_id)),
            1, 8))), 0xFFFFFFFFFFFF0FFF), 0x0000000000005000)),
        reinterpretAsFixedString(bitOr(bitAnd(reinterpretAsUInt64(reverse(substring(
            SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(project_id), ':', distinct_id)),
            9, 8))), 0x3FFFFFFFFFFFFFFF), 0x8000000000000000)))),
    INDEX own_person own_person_id TYPE bloom_filter(0.0001) GRANULARITY 1
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, distinct_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- One row per key, and for a key that was set once two more: kind 0 = the latest set or unset, 1 = the first set
-- once, 2 = the latest. w = when (µs; negated for kind 1, as its tie is turned round), the event's uuid as a number
-- that sorts like its text, what (0 set, 1 once, 2 unset), and the raw JSON value.
CREATE TABLE IF NOT EXISTS person_props
(
    project_id UInt32,
    distinct_id String,
    key LowCardinality(String),
    kind UInt8,
    w SimpleAggregateFunction(max, Tuple(at Int64, tie UInt128, op Int8, value String)) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, distinct_id, key, kind)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- Groups exist by $groupidentify alone.
CREATE TABLE IF NOT EXISTS groups_seen
(
    project_id UInt32,
    group_type LowCardinality(String),
    group_key String,
    first SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    arrived SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    changed SimpleAggregateFunction(max, DateTime64(6, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, group_type, group_key)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

CREATE TABLE IF NOT EXISTS group_props
(
    project_id UInt32,
    group_type LowCardinality(String),
    group_key String,
    key LowCardinality(String),
    w SimpleAggregateFunction(max, Tuple(at Int64, tie UInt128, op Int8, value String)) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, group_type, group_key, key)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- Ids of events that were stored before these tables were there.
INSERT INTO seen (project_id, distinct_id, first, last, arrived, changed)
SELECT project_id, distinct_id, min(timestamp), max(timestamp), min(created_at), toDateTime64(0, 6, 'UTC')
FROM event_rows
GROUP BY project_id, distinct_id;
