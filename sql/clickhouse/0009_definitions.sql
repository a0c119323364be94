-- Older servers: go on.
-- Names of events and properties. The servers read them as events come in, and write them when the events are stored;
-- when events of a name happen is derived behind the flush, as sessions are. Everything folds by least, greatest and
-- sets: what is written or derived twice changes nothing.

-- One row for each name. kind: 0 an event, 1 a property of events, 2 of persons, 3 of groups of `group_type`. typed: when a
-- value showed the property's type first, as 20 digits of microseconds, and the type; `~` while none did.
CREATE TABLE IF NOT EXISTS definitions
(
    project_id UInt32,
    kind UInt8,
    group_type String,
    name String,
    created_at SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    typed SimpleAggregateFunction(min, String)
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, kind, group_type, name)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- Which properties events of a name had, those that they set of persons and groups included.
CREATE TABLE IF NOT EXISTS event_properties
(
    project_id UInt32,
    event String,
    property String
)
ENGINE = ReplacingMergeTree
ORDER BY (project_id, event, property)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- When events of a name happened, in a row of day 0; and for 32 days one for each day with a set of their uuids: `uniq`
-- counts up to 65,536 of them, and samples more.
CREATE TABLE IF NOT EXISTS event_days
(
    project_id UInt32,
    event LowCardinality(String),
    day Date,
    last SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    uuids AggregateFunction(uniq, UUID)
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, event, day)
TTL day + INTERVAL 32 DAY WHERE day > toDate(0)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- Of events that were stored before, what can be had without reading their properties: names of events, and of what they
-- set of persons and groups. Names of other properties come with the next events that have them.
INSERT INTO event_days (project_id, event, day, last, uuids)
SELECT
    project_id,
    event,
    arrayJoin(if(happened = toDate(0), [happened], [toDate(0), happened])) AS day,
    latest AS last,
    if(day = toDate(0), arrayReduce('uniqState', []::Array(UUID)), found) AS uuids
FROM
(
    SELECT
        project_id,
        event,
        if(timestamp > now() - INTERVAL 32 DAY, toDate(timestamp), toDate(0)) AS happened,
        max(timestamp) AS latest,
        uniqStateIf(uuid, timestamp > now() - INTERVAL 32 DAY) AS found
    FROM event_rows
    GROUP BY project_id, event, happened
)
SETTINGS max_bytes_before_external_group_by = 268435456;

INSERT INTO definitions (project_id, kind, group_type, name, created_at, typed)
SELECT project_id, 0, '', toString(event) AS name, min(e.created_at), '~'
FROM event_rows AS e
WHERE length(event) <= 200
GROUP BY project_id, event
ORDER BY project_id, count() DESC
LIMIT 10000 BY project_id;

INSERT INTO definitions (project_id, kind, group_type, name, created_at, typed)
SELECT project_id, 2, '', toString(key) AS name, now64(6), '~'
FROM person_props
WHERE length(key) <= 200
GROUP BY project_id, key
ORDER BY project_id, count() DESC
LIMIT 10000 BY project_id;

INSERT INTO definitions (project_id, kind, group_type, name, created_at, typed)
SELECT project_id, 3, toString(g.group_type), toString(key) AS name, now64(6), '~'
FROM group_props AS g
WHERE length(key) <= 200
GROUP BY project_id, g.group_type, key
ORDER BY project_id, count() DESC
LIMIT 10000 BY project_id;
