-- The tables and views of a new store: what files 0001 to 0027 made, one after the other. A store that some of these files
-- made runs the others instead. Read events through the views `events` and `stored_events`.

-- Distinct ids of deleted persons, as hashes, since the ids themselves are what was deleted. Rows that arrived before
-- deleted_at are not derived, however late they are stored or derived again.
CREATE TABLE IF NOT EXISTS deleted_ids
(
    project_id UInt32,
    id_hash UInt64,
    deleted_at DateTime64(6, 'UTC')
)
ENGINE = ReplacingMergeTree(deleted_at)
ORDER BY (project_id, id_hash)
TTL toDateTime(deleted_at) + INTERVAL 90 DAY
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- Distinct ids of deleted persons, in projects with an export of persons, which reports them. They are forgotten after a
-- month: longer than a run may wait.
CREATE TABLE IF NOT EXISTS deleted_persons
(
    project_id UInt32,
    distinct_id String CODEC(ZSTD(1)),
    person_id UUID,
    version UInt64,
    created_at DateTime64(6, 'UTC'),
    -- arrivals of its first event and of its last change
    arrived DateTime64(6, 'UTC'),
    changed DateTime64(6, 'UTC'),
    deleted_at DateTime64(6, 'UTC')
)
ENGINE = ReplacingMergeTree(deleted_at)
ORDER BY (project_id, distinct_id)
TTL toDateTime(deleted_at) + INTERVAL 30 DAY
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- Recordings that were deleted, by the hash of their session: a page that is still open sends further pieces, which no
-- query shows. Longer than late pieces are looked for and removed.
CREATE TABLE IF NOT EXISTS deleted_recordings
(
    project_id UInt32,
    session_hash UInt64,
    deleted_at DateTime64(6, 'UTC')
)
ENGINE = ReplacingMergeTree
ORDER BY (project_id, session_hash)
TTL toDateTime(deleted_at) + INTERVAL 90 DAY
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 90;

-- Events. One row is kept for each (project, day, event, distinct id, uuid), the first that arrived: a client's retry
-- never moves an event into a later export interval.
--
-- One partition a year: each part costs the engine 5 ms however small it is, and months would make 120 parts of an import
-- of ten years. Without these settings the engine neither syncs parts nor keeps merged ones for a while: an acknowledged
-- row must survive a power loss. Parts that a merge has replaced stay for 45 s, or a long import needs several times the
-- disk that it ends with. They stay at all because on a full disk the embedded engine takes a failed write of a merge for
-- one that succeeded, which is looked for every ten seconds; what was merged is synced before.
CREATE TABLE IF NOT EXISTS event_rows
(
    uuid UUID,
    project_id UInt32,
    event LowCardinality(String),
    distinct_id String CODEC(ZSTD(1)),
    properties String CODEC(ZSTD(1)),
    timestamp DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    created_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    historical_migration Bool,
    -- the journal's batch: whether any row of a batch is there tells whether its INSERT was stored
    _batch UInt64 CODEC(Delta, ZSTD(1)),
    _row UInt32 CODEC(Delta, ZSTD(1)),
    -- the earlier created_at, the higher the version: ReplacingMergeTree keeps the first arrival
    _version UInt64 MATERIALIZED 18446744073709551615 - toUInt64(greatest(toUnixTimestamp64Micro(created_at), 0)) CODEC(Delta, ZSTD(1)),
    -- whose event it is: 0 a person's; 1 nobody's ($process_person_profile: false); 2 a person's, and it sets
    -- properties of its first group
    person_mode UInt8,
    -- changed keys of person and group; operations: 0 set, 1 set once, 2 unset, 3 set of the group; values as raw
    -- JSON
    pk Array(LowCardinality(String)),
    pw Array(Int8),
    pv Array(String) CODEC(ZSTD(1)),
    -- types and keys of the event's groups
    gt Array(LowCardinality(String)),
    gk Array(String) CODEC(ZSTD(1)),
    -- the order in which events that change a person or group arrived, or their lines in an import: of two changes of one
    -- moment the one with the higher rank counts; changes without one come before them, in the order of their uuids
    rank UInt64 DEFAULT 0 CODEC(Delta, ZSTD(1)),
    -- what is asked most of properties: the server writes it with the row; values that only the engine reads as it does
    -- (lists, fractions) get it from the text, by propertyText() of src/storage/events/property_filter.ts
    `$current_url` Nullable(String) DEFAULT if(isNull(JSONExtract(properties, '$current_url', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$current_url', 'Nullable(String)')), JSONExtract(properties, '$current_url', 'Nullable(String)')) CODEC(ZSTD(1)),
    `$session_id` Nullable(String) DEFAULT if(isNull(JSONExtract(properties, '$session_id', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$session_id', 'Nullable(String)')), JSONExtract(properties, '$session_id', 'Nullable(String)')) CODEC(ZSTD(1)),
    `$pathname` LowCardinality(Nullable(String)) DEFAULT if(isNull(JSONExtract(properties, '$pathname', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$pathname', 'Nullable(String)')), JSONExtract(properties, '$pathname', 'Nullable(String)')) CODEC(ZSTD(1)),
    `$referring_domain` LowCardinality(Nullable(String)) DEFAULT if(isNull(JSONExtract(properties, '$referring_domain', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$referring_domain', 'Nullable(String)')), JSONExtract(properties, '$referring_domain', 'Nullable(String)')) CODEC(ZSTD(1)),
    `$browser` LowCardinality(Nullable(String)) DEFAULT if(isNull(JSONExtract(properties, '$browser', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$browser', 'Nullable(String)')), JSONExtract(properties, '$browser', 'Nullable(String)')) CODEC(ZSTD(1)),
    `$os` LowCardinality(Nullable(String)) DEFAULT if(isNull(JSONExtract(properties, '$os', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$os', 'Nullable(String)')), JSONExtract(properties, '$os', 'Nullable(String)')) CODEC(ZSTD(1)),
    `$device_type` LowCardinality(Nullable(String)) DEFAULT if(isNull(JSONExtract(properties, '$device_type', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$device_type', 'Nullable(String)')), JSONExtract(properties, '$device_type', 'Nullable(String)')) CODEC(ZSTD(1)),
    `$geoip_country_code` LowCardinality(Nullable(String)) DEFAULT if(isNull(JSONExtract(properties, '$geoip_country_code', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$geoip_country_code', 'Nullable(String)')), JSONExtract(properties, '$geoip_country_code', 'Nullable(String)')) CODEC(ZSTD(1)),
    INDEX batch_range _batch TYPE minmax GRANULARITY 1,
    INDEX created_at_range created_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYear(timestamp)
ORDER BY (project_id, toDate(timestamp), event, cityHash64(distinct_id), uuid)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 45;

-- Tables derived from events read this feed: it gets every stored row, and once more the rows of batches that must be
-- derived again because the engine may have died between storing a batch and running its views. Materialized views
-- are attached here, not to event_rows.
CREATE TABLE IF NOT EXISTS event_feed
(
    uuid UUID,
    project_id UInt32,
    event LowCardinality(String),
    distinct_id String,
    properties String,
    timestamp DateTime64(6, 'UTC'),
    created_at DateTime64(6, 'UTC'),
    historical_migration Bool,
    person_mode UInt8,
    pk Array(LowCardinality(String)),
    pw Array(Int8),
    pv Array(String),
    gt Array(LowCardinality(String)),
    gk Array(String),
    rank UInt64 DEFAULT 0
)
ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS event_feed_of_rows TO event_feed AS
SELECT
    e.uuid AS uuid,
    e.project_id AS project_id,
    e.event AS event,
    e.distinct_id AS distinct_id,
    e.properties AS properties,
    e.timestamp AS timestamp,
    e.created_at AS created_at,
    e.historical_migration AS historical_migration,
    e.person_mode AS person_mode,
    e.pk AS pk,
    e.pw AS pw,
    e.pv AS pv,
    e.gt AS gt,
    e.gk AS gk,
    e.rank AS rank
FROM event_rows AS e
LEFT ANY JOIN
(
    SELECT project_id, id_hash, max(deleted_at) AS id_deleted_at
    FROM deleted_ids
    GROUP BY project_id, id_hash
) AS d ON e.project_id = d.project_id AND sipHash64(e.distinct_id) = d.id_hash
WHERE e.created_at > d.id_deleted_at;

-- Events that change a person or a group. An INSERT pays for each view that its rows reach, even where the view keeps
-- none of them; most events change nothing, and with this feed they pay for one condition only.
CREATE TABLE IF NOT EXISTS change_feed
(
    uuid UUID,
    project_id UInt32,
    distinct_id String,
    timestamp DateTime64(6, 'UTC'),
    created_at DateTime64(6, 'UTC'),
    person_mode UInt8,
    pk Array(LowCardinality(String)),
    pw Array(Int8),
    pv Array(String),
    gt Array(LowCardinality(String)),
    gk Array(String),
    rank UInt64 DEFAULT 0
)
ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS change_feed_of_events TO change_feed AS
SELECT uuid, project_id, distinct_id, timestamp, created_at, person_mode, pk, pw, pv, gt, gk, rank
FROM event_feed
WHERE notEmpty(pk) OR person_mode = 2;

-- Events without their persons: queries that need none do not pay for the join of `events`.
CREATE OR REPLACE VIEW stored_events AS
SELECT
    uuid,
    project_id,
    event,
    distinct_id,
    properties,
    timestamp,
    created_at,
    historical_migration,
    gt AS group_types,
    gk AS group_keys,
    CAST(e.`$current_url`, 'Nullable(String)') AS `$current_url`,
    CAST(e.`$session_id`, 'Nullable(String)') AS `$session_id`,
    CAST(e.`$pathname`, 'Nullable(String)') AS `$pathname`,
    CAST(e.`$referring_domain`, 'Nullable(String)') AS `$referring_domain`,
    CAST(e.`$browser`, 'Nullable(String)') AS `$browser`,
    CAST(e.`$os`, 'Nullable(String)') AS `$os`,
    CAST(e.`$device_type`, 'Nullable(String)') AS `$device_type`,
    CAST(e.`$geoip_country_code`, 'Nullable(String)') AS `$geoip_country_code`
FROM event_rows AS e FINAL
-- Duplicates have the same day, so each partition can be made final by itself.
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- Persons. Every row of them is derived from events or mirrors a merge from Postgres. The aggregates are idempotent
-- (min, max): deriving a batch again changes nothing, and the order of arrival does not matter.
--
-- A person's id is computed: UUIDv5 of "<project>:<distinct id>" under a fixed namespace, of the main id where ids
-- were merged.
--
-- Distinct ids that are persons, or parts of one.
CREATE TABLE IF NOT EXISTS seen
(
    project_id UInt32,
    distinct_id String,
    -- timestamps of its events
    first SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    last SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    -- arrivals: of its first event, and of the last event that changed the person (properties or a merge)
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
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 45;

CREATE MATERIALIZED VIEW IF NOT EXISTS seen_of_events TO seen AS
SELECT
    project_id,
    distinct_id,
    min(timestamp) AS first,
    max(timestamp) AS last,
    min(created_at) AS arrived,
    maxIf(created_at, arrayExists(w -> w < 3, pw)) AS changed
FROM event_feed
WHERE person_mode != 1
GROUP BY project_id, distinct_id;

-- Properties as changes. One row for each key, and two more for a key that was set once: kind 0 = the latest set or
-- unset, 1 = the first set once, 2 = the latest set once. w = moment (µs), the event's uuid as a number that sorts
-- like its text, operation (0 set, 1 set once, 2 unset), raw JSON value; max(w) is the row that counts. Kind 1 keeps
-- the earliest: its moment is negated and its uuid's bits are inverted.
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
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 45;

-- Changes of the same keys of the same person within a batch are reduced to the latest (and, of set once, the first)
-- before they are split into one row a key: where every event sets keys, this halves the cost. `moment` is the time
-- with the event's uuid below it, in one number, which compares many times faster than the two.
-- A rank is above every uuid: no uuid begins with 64 bits that are set.
CREATE MATERIALIZED VIEW IF NOT EXISTS person_props_of_events TO person_props AS
SELECT
    project_id,
    distinct_id,
    key,
    kind,
    if(
        kind = 1,
        (-first_at, bitNot(first_tie), op, first_value),
        (last_at, last_tie, op, last_value)
    )::Tuple(at Int64, tie UInt128, op Int8, value String) AS w
FROM
(
    SELECT
        project_id,
        distinct_id,
        pk,
        pw,
        toInt64(bitShiftRight(max(moment), 128)) AS last_at,
        toUInt128(max(moment)) AS last_tie,
        argMax(pv, moment) AS last_pv,
        toInt64(bitShiftRight(min(moment), 128)) AS first_at,
        toUInt128(min(moment)) AS first_tie,
        argMin(pv, moment) AS first_pv,
        arrayFilter(op -> op = 1, pw) AS onces
    FROM
    (
        SELECT
            project_id,
            distinct_id,
            pk,
            pw,
            pv,
            if(
                rank = 0,
                reinterpretAsUInt128(reverse(UUIDToNum(uuid))),
                bitOr(bitShiftLeft(toUInt128(18446744073709551615), 64), toUInt128(rank))
            ) AS tie,
            bitShiftLeft(toInt256(toUnixTimestamp64Micro(timestamp)), 128) + tie AS moment
        FROM change_feed
        WHERE arrayExists(op -> op < 3, pw)
    )
    GROUP BY project_id, distinct_id, pk, pw
)
-- A key that is set once appears twice: among all keys as the latest (kind 2), at the end as the first (kind 1).
ARRAY JOIN
    arrayConcat(pk, arrayFilter((key, op) -> op = 1, pk, pw)) AS key,
    arrayConcat(pw, onces) AS op,
    arrayConcat(last_pv, arrayFilter((value, op) -> op = 1, last_pv, pw)) AS last_value,
    arrayConcat(first_pv, arrayFilter((value, op) -> op = 1, first_pv, pw)) AS first_value,
    arrayConcat(arrayMap(op -> toUInt8(if(op = 1, 2, 0)), pw), arrayMap(op -> toUInt8(1), onces)) AS kind
WHERE op < 3;

-- Distinct ids that share a person with others, the main one included. Merges are decided in Postgres and mirrored
-- here; mirroring one again changes nothing. What was set under an id before merged_at yields to what was set under
-- the main id.
CREATE TABLE IF NOT EXISTS merged_ids
(
    project_id UInt32,
    distinct_id String,
    main_id String,
    -- the timestamp of the event that merged it
    merged_at DateTime64(6, 'UTC'),
    -- the arrival of that event
    created_at DateTime64(6, 'UTC'),
    version UInt64,
    is_deleted UInt8 DEFAULT 0,
    person_id UUID MATERIALIZED reinterpretAsUUID(concat(
        reinterpretAsFixedString(bitOr(bitAnd(reinterpretAsUInt64(reverse(substring(
            SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(project_id), ':', main_id)),
            1, 8))), 0xFFFFFFFFFFFF0FFF), 0x0000000000005000)),
        reinterpretAsFixedString(bitOr(bitAnd(reinterpretAsUInt64(reverse(substring(
            SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(project_id), ':', main_id)),
            9, 8))), 0x3FFFFFFFFFFFFFFF), 0x8000000000000000)))),
    INDEX main main_id TYPE bloom_filter(0.0001) GRANULARITY 1,
    INDEX person person_id TYPE bloom_filter(0.0001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (project_id, distinct_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- A merged id belongs to a person even if all its own events were personless, and its person has changed.
CREATE MATERIALIZED VIEW IF NOT EXISTS seen_of_merges TO seen AS
SELECT
    project_id,
    distinct_id,
    merged_at AS first,
    merged_at AS last,
    created_at AS arrived,
    created_at AS changed
FROM merged_ids
WHERE is_deleted = 0;

-- The distinct ids of a person that is being deleted, for the statements of one attempt, which drops its partition at
-- the end. The TTL removes what a killed attempt left.
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
TTL written_at + INTERVAL 3 DAY
SETTINGS old_parts_lifetime = 480;

-- Events with their persons.
CREATE OR REPLACE VIEW events AS
WITH
    SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(e.project_id), ':', e.distinct_id)) AS person_hash,
    reinterpretAsUInt64(reverse(substring(person_hash, 1, 8))) AS person_high,
    reinterpretAsUInt64(reverse(substring(person_hash, 9, 8))) AS person_low,
    reinterpretAsUUID(concat(
        reinterpretAsFixedString(bitOr(bitAnd(person_high, 0xFFFFFFFFFFFF0FFF), 0x0000000000005000)),
        reinterpretAsFixedString(bitOr(bitAnd(person_low, 0x3FFFFFFFFFFFFFFF), 0x8000000000000000))
    )) AS own_person_id
SELECT
    e.uuid AS uuid,
    e.project_id AS project_id,
    e.event AS event,
    e.distinct_id AS distinct_id,
    e.properties AS properties,
    e.timestamp AS timestamp,
    e.created_at AS created_at,
    if(m.main_id = '', own_person_id, m.merged_person_id) AS person_id,
    e.historical_migration AS historical_migration,
    e.gt AS group_types,
    e.gk AS group_keys,
    CAST(e.`$current_url`, 'Nullable(String)') AS `$current_url`,
    CAST(e.`$session_id`, 'Nullable(String)') AS `$session_id`,
    CAST(e.`$pathname`, 'Nullable(String)') AS `$pathname`,
    CAST(e.`$referring_domain`, 'Nullable(String)') AS `$referring_domain`,
    CAST(e.`$browser`, 'Nullable(String)') AS `$browser`,
    CAST(e.`$os`, 'Nullable(String)') AS `$os`,
    CAST(e.`$device_type`, 'Nullable(String)') AS `$device_type`,
    CAST(e.`$geoip_country_code`, 'Nullable(String)') AS `$geoip_country_code`
FROM event_rows AS e FINAL
LEFT ANY JOIN
(
    SELECT project_id, distinct_id, main_id, person_id AS merged_person_id
    FROM merged_ids FINAL
) AS m ON e.project_id = m.project_id AND e.distinct_id = m.distinct_id
SETTINGS do_not_merge_across_partitions_select_final = 1;

-- changed_at: the arrival of the last event that changed the person under this id.
CREATE OR REPLACE VIEW person_distinct_ids AS
SELECT
    s.project_id AS project_id,
    s.distinct_id AS distinct_id,
    if(any(m.main_id) = '', any(s.own_person_id), any(m.merged_person_id)) AS person_id,
    any(m.version) AS version,
    min(s.first) AS created_at,
    greatest(min(s.arrived), max(s.changed)) AS changed_at
FROM
(
    SELECT project_id, distinct_id, first, arrived, changed, own_person_id
    FROM seen
) AS s
LEFT ANY JOIN
(
    SELECT project_id, distinct_id, main_id, person_id AS merged_person_id, version
    FROM merged_ids FINAL
) AS m ON s.project_id = m.project_id AND s.distinct_id = m.distinct_id
GROUP BY s.project_id, s.distinct_id;

-- One row for each person and key: the property's current value. Changes under the main id, and under another id from
-- its merge on, are ordered by time. Changes under another id before its merge come before all of these; among them,
-- those of the id that was merged earlier win. The value is the latest $set unless an $unset follows it; otherwise
-- the first $set_once after the latest $unset, where a $set_once under another id takes part from its merge on.
CREATE OR REPLACE VIEW person_properties AS
WITH
    arraySort(arrayFilter(
        once -> NOT was_set OR (once.2, once.5, once.3, once.4) > (last.1, last.2, last.3, last.4),
        onces
    )) AS later,
    was_set AND last.5 = 0 AS is_set
SELECT
    project_id,
    main_id,
    key,
    if(is_set, last.3, later[1].3) AS changed_at,
    if(is_set, last.6, later[1].6) AS value
FROM
(
    SELECT
        project_id,
        main_id,
        key,
        maxIf((senior, weak, at, tie, op, value), kind = 0) AS last,
        countIf(kind = 0) > 0 AS was_set,
        groupArrayIf((entered, senior, at, tie, weak, value), kind > 0) AS onces
    FROM
    (
        SELECT
            p.project_id AS project_id,
            if(m.main_id = '', p.distinct_id, m.main_id) AS main_id,
            p.key AS key,
            p.kind AS kind,
            if(p.kind = 1, -p.w.1, p.w.1) AS at,
            if(p.kind = 1, bitNot(p.w.2), p.w.2) AS tie,
            p.w.3 AS op,
            p.w.4 AS value,
            toUnixTimestamp64Micro(m.merged_at) AS merged,
            m.main_id = '' OR m.main_id = p.distinct_id OR at >= merged AS senior,
            if(senior, 0, -merged) AS weak,
            if(senior, at, merged) AS entered
        FROM person_props AS p
        LEFT ANY JOIN
        (
            SELECT project_id, distinct_id, main_id, merged_at
            FROM merged_ids FINAL
        ) AS m ON p.project_id = m.project_id AND p.distinct_id = m.distinct_id
    )
    GROUP BY project_id, main_id, key
)
WHERE is_set OR notEmpty(later);

-- properties: JSON text, the latest changed keys first, cut after 640 KiB. changed_at: the arrival of the last event
-- that changed the person. last_seen_at: the time of their last event, under any of their ids.
CREATE OR REPLACE VIEW persons AS
SELECT
    i.project_id AS project_id,
    i.person_id AS person_id,
    if(p.properties = '', '{}', p.properties) AS properties,
    i.created_at AS created_at,
    i.is_identified AS is_identified,
    i.distinct_ids AS distinct_ids,
    i.changed_at AS changed_at,
    i.last_seen_at AS last_seen_at
FROM
(
    SELECT
        s.project_id AS project_id,
        if(m.main_id = '', s.distinct_id, m.main_id) AS main_id,
        if(m.main_id = '', s.own_person_id, m.merged_person_id) AS person_id,
        min(s.first) AS created_at,
        toBool(max(m.main_id != '')) AS is_identified,
        groupUniqArray(s.distinct_id) AS distinct_ids,
        greatest(min(s.arrived), max(s.changed)) AS changed_at,
        max(s.last) AS last_seen_at
    FROM
    (
        SELECT project_id, distinct_id, first, last, arrived, changed, own_person_id
        FROM seen
    ) AS s
    LEFT ANY JOIN
    (
        SELECT project_id, distinct_id, main_id, person_id AS merged_person_id
        FROM merged_ids FINAL
    ) AS m ON s.project_id = m.project_id AND s.distinct_id = m.distinct_id
    GROUP BY project_id, main_id, person_id
) AS i
LEFT ANY JOIN
(
    SELECT
        project_id,
        main_id,
        arraySort(member -> (-member.1, member.2), groupArray((changed_at, key, value))) AS members,
        concat('{', arrayStringConcat(arrayMap(
            member -> concat(toJSONString(toString(member.2)), ':', member.3),
            arrayFilter(
                (member, size) -> size <= 655360,
                members,
                arrayCumSum(member -> length(member.2) + length(member.3), members)
            )
        ), ','), '}') AS properties
    FROM person_properties
    GROUP BY project_id, main_id
) AS p ON i.project_id = p.project_id AND i.main_id = p.main_id;

-- The same properties without a look at `seen`: exports of events join their persons' properties from here. With a
-- condition on main_id, only those persons are put together.
CREATE OR REPLACE VIEW person_texts AS
SELECT
    project_id,
    main_id,
    reinterpretAsUUID(concat(
        reinterpretAsFixedString(bitOr(bitAnd(reinterpretAsUInt64(reverse(substring(
            SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(project_id), ':', main_id)),
            1, 8))), 0xFFFFFFFFFFFF0FFF), 0x0000000000005000)),
        reinterpretAsFixedString(bitOr(bitAnd(reinterpretAsUInt64(reverse(substring(
            SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(project_id), ':', main_id)),
            9, 8))), 0x3FFFFFFFFFFFFFFF), 0x8000000000000000))
    )) AS person_id,
    concat('{', arrayStringConcat(arrayMap(
        member -> concat(toJSONString(toString(member.2)), ':', member.3),
        arrayFilter(
            (member, size) -> size <= 655360,
            members,
            arrayCumSum(member -> length(member.2) + length(member.3), members)
        )
    ), ','), '}') AS properties
FROM
(
    SELECT
        project_id,
        main_id,
        arraySort(member -> (-member.1, member.2), groupArray((changed_at, key, value))) AS members
    FROM person_properties
    GROUP BY project_id, main_id
);

-- A person's current properties one by one, for questions about some of them: with a condition on `key` nothing of the
-- others is folded or written. properties: JSON text of an object with this one member.
CREATE OR REPLACE VIEW person_values AS
SELECT
    project_id,
    main_id,
    key,
    reinterpretAsUUID(concat(
        reinterpretAsFixedString(bitOr(bitAnd(reinterpretAsUInt64(reverse(substring(
            SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(project_id), ':', main_id)),
            1, 8))), 0xFFFFFFFFFFFF0FFF), 0x0000000000005000)),
        reinterpretAsFixedString(bitOr(bitAnd(reinterpretAsUInt64(reverse(substring(
            SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(project_id), ':', main_id)),
            9, 8))), 0x3FFFFFFFFFFFFFFF), 0x8000000000000000))
    )) AS person_id,
    concat('{', toJSONString(toString(key)), ':', value, '}') AS properties
FROM person_properties;

-- Groups, derived from events in the same way as persons. A group exists once a $groupidentify has named it.
--
-- The types of groups a project has, five at most. They are decided in Postgres and mirrored here.
CREATE TABLE IF NOT EXISTS group_type_rows
(
    project_id UInt32,
    group_type String,
    place UInt8,
    -- of the transaction in Postgres; rises, so that a deletion wins over a row that was sent before it
    version UInt64,
    is_deleted UInt8 DEFAULT 0
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (project_id, group_type)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

CREATE OR REPLACE VIEW group_types AS
SELECT project_id, group_type, place FROM group_type_rows FINAL;

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

CREATE MATERIALIZED VIEW IF NOT EXISTS groups_seen_of_events TO groups_seen AS
SELECT
    project_id,
    gt[1] AS group_type,
    gk[1] AS group_key,
    min(timestamp) AS first,
    min(created_at) AS arrived,
    max(created_at) AS changed
FROM change_feed
WHERE person_mode = 2
GROUP BY project_id, group_type, group_key;

-- One row for each key; w as in person_props.
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

CREATE MATERIALIZED VIEW IF NOT EXISTS group_props_of_events TO group_props AS
SELECT
    project_id,
    gt[1] AS group_type,
    gk[1] AS group_key,
    key,
    (toUnixTimestamp64Micro(timestamp), if(
        rank = 0,
        reinterpretAsUInt128(reverse(UUIDToNum(uuid))),
        bitOr(bitShiftLeft(toUInt128(18446744073709551615), 64), toUInt128(rank))
    ), op, value)::Tuple(at Int64, tie UInt128, op Int8, value String) AS w
FROM change_feed
ARRAY JOIN pk AS key, pw AS op, pv AS value
WHERE person_mode = 2 AND op = 3;

CREATE OR REPLACE VIEW groups AS
SELECT
    s.project_id AS project_id,
    s.group_type AS group_type,
    s.group_key AS group_key,
    if(p.properties = '', '{}', p.properties) AS properties,
    s.created_at AS created_at,
    s.changed_at AS changed_at
FROM
(
    SELECT project_id, group_type, group_key, min(first) AS created_at, max(changed) AS changed_at
    FROM groups_seen
    WHERE (project_id, group_type) IN (SELECT project_id, group_type FROM group_types)
    GROUP BY project_id, group_type, group_key
) AS s
LEFT ANY JOIN
(
    SELECT
        project_id,
        group_type,
        group_key,
        arraySort(groupArray((key, latest.4))) AS members,
        concat('{', arrayStringConcat(arrayMap(
            member -> concat(toJSONString(toString(member.1)), ':', member.2), members
        ), ','), '}') AS properties
    FROM
    (
        SELECT project_id, group_type, group_key, key, max(w) AS latest
        FROM group_props
        GROUP BY project_id, group_type, group_key, key
    )
    GROUP BY project_id, group_type, group_key
) AS p ON s.project_id = p.project_id AND s.group_type = p.group_type AND s.group_key = p.group_key;

-- Sessions: what the events of one $session_id say together, derived behind the flush, in big steps, from the journal's
-- own blocks: as a view of event_feed they took 3.3 of the 7.9 CPU-seconds that an INSERT cost for each GB. The aggregates
-- are idempotent: neither a client's retry nor an INSERT that was repeated in doubt changes anything.
CREATE TABLE IF NOT EXISTS session_facts
(
    project_id UInt32,
    session_id String,
    start_time SimpleAggregateFunction(min, DateTime64(6, 'UTC')),
    end_time SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    -- These begin with eight bytes that sort like the event's moment, inverted where the earliest wins; the rest is
    -- of that event. Empty = no such event. Comparing texts takes a tenth of the time that comparing tuples takes. of
    -- the first event: its distinct id
    first_seen SimpleAggregateFunction(max, String),
    -- of the first event with a URL, separated by NUL: URL, referrer, its domain; if any is there, five utm and
    -- fifteen click ids
    entry SimpleAggregateFunction(max, String),
    -- of the last event with a URL: its URL
    exit SimpleAggregateFunction(max, String),
    -- of the last click on an external link: its URL
    external_click SimpleAggregateFunction(max, String),
    -- of the first event that measured it: the bytes of a Float64, in milliseconds
    lcp SimpleAggregateFunction(max, String),
    -- its events, each once however often it was sent, 65,536 at most: thirty bits of the uuid's hash, and two bits
    -- of kind: 1 $pageview, 2 $autocapture, 3 $screen, 0 any other. A list costs three quarters of what four states
    -- of uniq cost
    counted SimpleAggregateFunction(groupUniqArrayArray(65536), Array(UInt32)),
    -- the arrival of its latest event, by which who copies sessions sees which have changed: PostHog's name for it is
    -- max_inserted_at
    arrived SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    -- when it began and ended by the events of its own time, so that none that a backend dated days back moves it: the
    -- least and the greatest moment in microseconds, moved by 2^60 for each rank of a stray
    -- (src/storage/events/sessions.ts); start_time and end_time lie around both
    began SimpleAggregateFunction(min, Int64) DEFAULT toUnixTimestamp64Micro(start_time),
    ended SimpleAggregateFunction(max, Int64) DEFAULT toUnixTimestamp64Micro(end_time),
    -- so that the sessions of a month are found without reading a year of them: ids of today's posthog-js rise with time
    INDEX times (start_time, end_time) TYPE minmax GRANULARITY 4,
    -- used by the conditions of the view `sessions`: its expressions are those of the view
    INDEX bounds (fromUnixTimestamp64Micro(toInt64(bitAnd(began + 576460752303423488, 1152921504606846975) - 576460752303423488), 'UTC'), fromUnixTimestamp64Micro(toInt64(bitAnd(ended + 576460752303423488, 1152921504606846975) - 576460752303423488), 'UTC')) TYPE minmax GRANULARITY 4
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, session_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 45;

-- One row a session. channel_type: where the visitor came from, as at PostHog, by the entry's URL and referrer. A campaign
-- whose source is not known has its referrer's channel, `cp` inside of a medium is no payment, a click id of Facebook
-- without a referrer is social; of several gad_source only 1 is search, a campaign of videos is one, the text null is no
-- source, mail programs are e-mail before their owner is a search engine, and without a referrer unknown sources leave a
-- visit direct.
CREATE OR REPLACE VIEW sessions AS
WITH
    fromUnixTimestamp64Micro(toInt64(bitAnd(began + 576460752303423488, 1152921504606846975) - 576460752303423488), 'UTC') AS first_time,
    fromUnixTimestamp64Micro(toInt64(bitAnd(ended + 576460752303423488, 1152921504606846975) - 576460752303423488), 'UTC') AS last_time,
    splitByChar('\0', substring(entry, 9)) AS entered,
    entered[1] AS entered_url,
    entered[3] AS entered_domain,
    entered[4] AS entered_source,
    entered[5] AS entered_medium,
    entered[6] AS entered_campaign,
    mapFilter((name, value) -> value NOT IN ('', 'null'), mapFromArrays(
        ['gclid', 'gad_source', 'gclsrc', 'dclid', 'gbraid', 'wbraid', 'fbclid', 'msclkid', 'twclid', 'li_fat_id', 'mc_cid', 'igshid', 'ttclid', '_kx', 'irclid'],
        arrayResize(arraySlice(entered, 9, 15), 15)
    )) AS clicks,
    substring(exit, 9) AS left_url,
    arrayMap(number -> bitAnd(number, 3), counted) AS kinds,
    -- The text null is none, as at PostHog.
    arrayMap(name -> if(name = 'null', '', name), [lower(entered_source), lower(entered_medium), lower(entered_campaign)]) AS campaign_texts,
    campaign_texts[1] AS source,
    campaign_texts[2] AS medium,
    campaign_texts[3] AS campaign,
    -- What a campaign's source says, and what the referrer says.
    arrayMap(name -> multiIf(
        match(name, '^(mail\\.|.*webmail.*|com\\.google\\.android\\.gm$)'), 'Email',
        match(name, '(^|\\.)plus\\.google(\\.|$)'), 'Social',
        match(name, '(^|\\.)(amazon|ebay|etsy|walmart|alibaba|aliexpress|shopping|rakuten|mercadolibre|wayfair)(\\.|$)'), 'Shopping',
        match(name, '(^|\\.)(google|googleads|adwords|bing|duckduckgo|yahoo|baidu|yandex|ecosia|ask|aol|startpage|qwant|naver|sogou|seznam|perplexity|search\\.brave|kagi)(\\.|$)'), 'Search',
        match(name, '(^|\\.)(facebook|fb|instagram|ig|twitter|x\\.com|t\\.co|linkedin|lnkd|pinterest|reddit|tiktok|snapchat|threads|quora|tumblr|vk|weibo|whatsapp|wa\\.me|telegram|t\\.me|discord|mastodon|bsky|medium|ycombinator)(\\.|$)'), 'Social',
        match(name, '(^|\\.)(youtube|youtu|vimeo|twitch|dailymotion|netflix|hulu|wistia)(\\.|$)'), 'Video',
        ''), [source, lower(entered_domain)]) AS places,
    match(medium, '^(cpc|cpm|cpv|cpa|ppc|retargeting|paid.*)$') OR mapContains(clicks, 'gclid') OR mapContains(clicks, 'gad_source') AS paid,
    multiIf(
        places[1] != '', places[1],
        match(campaign, '(([^a-df-z]|^)shop|shopping)'), 'Shopping',
        medium IN ('social', 'social-network', 'social-media', 'sm', 'social network', 'social media'), 'Social',
        match(medium, 'video'), 'Video',
        '') AS campaign_place,
    multiIf(places[2] != '', places[2], match(campaign, 'video'), 'Video', mapContains(clicks, 'fbclid'), 'Social', '') AS referrer_place,
    multiIf(campaign_place NOT IN ('', 'Email'), campaign_place, referrer_place != 'Email', referrer_place, '') AS place
SELECT
    project_id,
    session_id,
    substring(first_seen, 9) AS distinct_id,
    first_time AS start_time,
    last_time AS end_time,
    dateDiff('second', first_time, last_time) AS duration,
    arrived,
    entered_url AS entry_url,
    domain(entered_url) AS entry_hostname,
    path(entered_url) AS entry_pathname,
    left_url AS exit_url,
    domain(left_url) AS exit_hostname,
    path(left_url) AS exit_pathname,
    substring(external_click, 9) AS last_external_click_url,
    entered[2] AS entry_referrer,
    entered_domain AS entry_referring_domain,
    entered_source AS entry_utm_source,
    entered_medium AS entry_utm_medium,
    entered_campaign AS entry_utm_campaign,
    entered[7] AS entry_utm_term,
    entered[8] AS entry_utm_content,
    clicks AS entry_click_ids,
    reinterpretAsFloat64(substring(lcp, 9)) AS vitals_lcp,
    length(counted) AS event_count,
    countEqual(kinds, 1) AS pageview_count,
    countEqual(kinds, 2) AS autocapture_count,
    countEqual(kinds, 3) AS screen_count,
    pageview_count + screen_count <= 1 AND autocapture_count = 0 AND duration < 10 AS is_bounce,
    multiIf(
        match(campaign, 'cross-?network'), 'Cross Network',
        paid AND place != '', concat('Paid ', place),
        paid AND clicks['gad_source'] = '1', 'Paid Search',
        paid, 'Paid Unknown',
        entered_domain = '$direct' AND medium = '' AND source IN ('', 'direct', '(direct)', '$direct') AND NOT mapContains(clicks, 'fbclid'), 'Direct',
        campaign_place NOT IN ('', 'Email'), concat('Organic ', campaign_place),
        match(medium, '^(affiliates?|partnerships?)$'), 'Affiliate',
        campaign_place = 'Email' OR match(medium, '^(e[-_ ]?mail|newsletter)$') OR match(source, '^(e-?mail|newsletter)'), 'Email',
        medium IN ('referral', 'link', 'app'), 'Referral',
        medium = 'audio', 'Audio',
        medium = 'sms' OR source = 'sms', 'SMS',
        match(medium, '(push|mobile|notification)') OR source = 'firebase', 'Push',
        referrer_place = 'Email', 'Email',
        referrer_place != '', concat('Organic ', referrer_place),
        entered_domain NOT IN ('', '$direct'), 'Referral',
        entered_domain = '$direct', 'Direct',
        'Unknown') AS channel_type
FROM session_facts FINAL;

-- Session recordings. A chunk is what a client's recorder sent as one $snapshot: rrweb events, with figures read from
-- them. A chunk is stored once for each (project, session, uuid). All of a recording's figures are computed from its
-- chunks. Small granules, as a recording is read by its key.
CREATE TABLE IF NOT EXISTS snapshot_chunks
(
    project_id UInt32,
    session_id String CODEC(ZSTD(1)),
    -- by which lists and look-ups find a recording: many times faster to compare than the id
    session_hash UInt64 MATERIALIZED sipHash64(session_id),
    uuid UUID,
    window_id String CODEC(ZSTD(1)),
    distinct_id String CODEC(ZSTD(1)),
    -- of its earliest and latest rrweb event, by the client's clock
    first_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    last_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    created_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    expires_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    event_count UInt32 CODEC(ZSTD(1)),
    click_count UInt32 CODEC(ZSTD(1)),
    keypress_count UInt32 CODEC(ZSTD(1)),
    mouse_activity_count UInt32 CODEC(ZSTD(1)),
    console_log_count UInt32 CODEC(ZSTD(1)),
    console_warn_count UInt32 CODEC(ZSTD(1)),
    console_error_count UInt32 CODEC(ZSTD(1)),
    -- seconds since 1970 in which the visitor moved, clicked or typed, separated by commas
    active_at String CODEC(ZSTD(1)),
    start_url String CODEC(ZSTD(1)),
    snapshot_source LowCardinality(String),
    -- bytes of data
    size UInt32 CODEC(ZSTD(1)),
    -- JSON text: an rrweb event or an array of them, as the client sent them
    data String CODEC(ZSTD(3)),
    -- as in event_rows
    _batch UInt64 CODEC(Delta, ZSTD(1)),
    _row UInt32 CODEC(Delta, ZSTD(1)),
    -- the first arrival wins, as in event_rows
    _version UInt64 MATERIALIZED 18446744073709551615 - toUInt64(greatest(toUnixTimestamp64Micro(created_at), 0)) CODEC(Delta, ZSTD(1)),
    -- whether it shows no page, since it has no full snapshot; 0 of those that older servers stored
    lacks_full_snapshot UInt8 DEFAULT 0 CODEC(ZSTD(1)),
    -- bytes that its compressed events inflate to, as far as they declare it
    inflated_size UInt32 DEFAULT 0 CODEC(ZSTD(1)),
    INDEX batch_range _batch TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY toYYYYMM(created_at)
ORDER BY (project_id, session_hash, session_id, uuid)
TTL toDateTime(expires_at)
SETTINGS index_granularity = 256, min_compress_block_size = 4096, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 45;

-- The recordings that have chunks of a day (UTC, by the client's clock). Ordered by day, so that a list of the newest
-- reads only these. A recording over midnight has a row for each day; its start is the least of them. Deriving a
-- chunk again changes nothing.
CREATE TABLE IF NOT EXISTS session_recording_days
(
    project_id UInt32,
    day Date32,
    session_hash UInt64,
    distinct_id String CODEC(ZSTD(1)),
    start_time SimpleAggregateFunction(min, DateTime64(6, 'UTC')) CODEC(Delta, ZSTD(1)),
    expires_at SimpleAggregateFunction(max, DateTime64(6, 'UTC')) CODEC(Delta, ZSTD(1)),
    lacks_full_snapshot SimpleAggregateFunction(min, UInt8) DEFAULT 0,
    last_received_at SimpleAggregateFunction(max, DateTime64(6, 'UTC')),
    INDEX distinct_id distinct_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, day, session_hash, distinct_id)
TTL toDateTime(expires_at)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

CREATE MATERIALIZED VIEW IF NOT EXISTS session_recording_days_of_chunks TO session_recording_days AS
SELECT
    project_id,
    toDate32(first_at) AS day,
    session_hash,
    distinct_id,
    min(first_at) AS start_time,
    max(expires_at) AS expires_at,
    min(lacks_full_snapshot) AS lacks_full_snapshot,
    max(created_at) AS last_received_at
FROM snapshot_chunks
GROUP BY project_id, day, session_hash, distinct_id;

-- The sessions of which a piece has ever arrived, by their hash: kept when the pieces expire or are deleted, so that a
-- recording whose pieces are gone differs from one that never was. Filled from the days, which are derived again with
-- the pieces.
CREATE TABLE IF NOT EXISTS recorded_sessions
(
    project_id UInt32,
    session_hash UInt64
)
ENGINE = ReplacingMergeTree
ORDER BY (project_id, session_hash)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 90;

CREATE MATERIALIZED VIEW IF NOT EXISTS recorded_sessions_of_days TO recorded_sessions AS
SELECT DISTINCT project_id, session_hash FROM session_recording_days;

-- One row a recording. Active seconds run from one movement, click or keypress to the next if at most five seconds
-- lie between; the last one of such a stretch counts as one second.
CREATE OR REPLACE VIEW session_recordings AS
WITH
    arraySort(arrayDistinct(arrayMap(second -> toUInt32OrZero(second),
        splitByChar(',', arrayStringConcat(groupArrayIf(active_at, active_at != ''), ','))))) AS seconds,
    arraySum(arrayMap(gap -> if(gap <= 5, gap, 1), arrayPopFront(arrayDifference(seconds)))) + 1 AS active
SELECT
    project_id,
    session_hash,
    session_id,
    argMin(distinct_id, (first_at, uuid)) AS distinct_id,
    min(first_at) AS start_time,
    max(last_at) AS end_time,
    toUInt32(dateDiff('second', start_time, end_time)) AS recording_duration,
    toUInt32(least(recording_duration, if(seconds[1] = 0, 0, active))) AS active_seconds,
    toUInt32(recording_duration - active_seconds) AS inactive_seconds,
    toUInt32(sum(chunk.click_count)) AS click_count,
    toUInt32(sum(chunk.keypress_count)) AS keypress_count,
    toUInt32(sum(chunk.mouse_activity_count)) AS mouse_activity_count,
    toUInt32(sum(chunk.console_log_count)) AS console_log_count,
    toUInt32(sum(chunk.console_warn_count)) AS console_warn_count,
    toUInt32(sum(chunk.console_error_count)) AS console_error_count,
    argMinIf(chunk.start_url, (first_at, uuid), chunk.start_url != '') AS start_url,
    argMin(chunk.snapshot_source, (first_at, uuid)) AS snapshot_source,
    'clickhouse' AS storage,
    min(chunk.lacks_full_snapshot) AS lacks_full_snapshot,
    max(created_at) AS last_received_at,
    last_received_at > now64(6) - INTERVAL 5 MINUTE AS ongoing,
    round(least(100, 100 * (active_seconds + click_count + keypress_count + console_error_count)
        / greatest(1, recording_duration + mouse_activity_count + console_log_count + console_warn_count + console_error_count)), 2) AS activity_score,
    count() AS chunk_count,
    sum(size) AS size
FROM
(
    -- A chunk that was sent twice counts once. FINAL would take four times as long for a page of recordings.
    SELECT *, session_hash
    FROM snapshot_chunks
    WHERE (project_id, session_hash) NOT IN (SELECT project_id, session_hash FROM deleted_recordings)
    LIMIT 1 BY project_id, session_hash, session_id, uuid
) AS chunk
GROUP BY project_id, session_hash, session_id;

-- What exports of persons read. Exports of events read the views of events and persons.
--
-- One row for each distinct id. _inserted_at is the arrival of the last event that changed the person, under
-- whichever of its ids, and equal for all of them. Half-open intervals of it (>= from, < to) within one project meet
-- without gap or overlap once every journal's watermark has passed their end. A person that changes before it is read
-- moves to the later interval, with its newer state. A deletion is a change like any other: a person that appears again
-- moves to the later interval. Rows from before it may still be stored for a moment. arrived, changed: of the person that
-- was deleted. person_distinct_id_version rises with a split, too: receivers keep the row of the highest version, and would
-- show a split-off id under the person that it was merged into. Its own row of merged_ids is deleted then, which FINAL
-- leaves out; deleted rows are few.
CREATE OR REPLACE VIEW exported_persons AS
SELECT
    d.project_id AS project_id,
    d.project_id AS team_id,
    d.distinct_id AS distinct_id,
    d.person_id AS person_id,
    p.properties AS properties,
    greatest(d.version, u.version) AS person_distinct_id_version,
    toUInt64(toUnixTimestamp64Micro(p.changed_at)) AS person_version,
    p.created_at AS created_at,
    p.changed_at AS _inserted_at,
    false AS is_deleted,
    p.changed_at AS arrived,
    p.changed_at AS changed
FROM person_distinct_ids AS d
INNER JOIN
(
    SELECT project_id, person_id, properties, created_at, changed_at
    FROM persons
) AS p ON d.project_id = p.project_id AND d.person_id = p.person_id
LEFT ANY JOIN
(
    SELECT project_id, distinct_id, max(version) AS version
    FROM merged_ids
    WHERE is_deleted = 1
    GROUP BY project_id, distinct_id
) AS u ON d.project_id = u.project_id AND d.distinct_id = u.distinct_id
LEFT ANY JOIN
(
    SELECT project_id, distinct_id, max(deleted_at) AS deleted_at
    FROM deleted_persons
    GROUP BY project_id, distinct_id
) AS x ON d.project_id = x.project_id AND d.distinct_id = x.distinct_id
WHERE d.changed_at > x.deleted_at
UNION ALL
SELECT
    x.project_id AS project_id,
    x.project_id AS team_id,
    x.distinct_id AS distinct_id,
    x.person_id AS person_id,
    '{}' AS properties,
    greatest(x.version, u.version) AS person_distinct_id_version,
    toUInt64(toUnixTimestamp64Micro(x.deleted_at)) AS person_version,
    x.created_at AS created_at,
    x.deleted_at AS _inserted_at,
    true AS is_deleted,
    x.arrived AS arrived,
    x.changed AS changed
FROM
(
    SELECT project_id, distinct_id, person_id, version, created_at, arrived, changed, deleted_at
    FROM deleted_persons FINAL
) AS x
LEFT ANY JOIN
(
    SELECT project_id, distinct_id, max(version) AS version
    FROM merged_ids
    WHERE is_deleted = 1
    GROUP BY project_id, distinct_id
) AS u ON x.project_id = u.project_id AND x.distinct_id = u.distinct_id
LEFT ANY JOIN
(
    SELECT project_id, distinct_id, max(greatest(arrived, changed)) AS changed_at
    FROM seen
    WHERE (project_id, distinct_id) IN (SELECT project_id, distinct_id FROM deleted_persons)
    GROUP BY project_id, distinct_id
) AS s ON x.project_id = s.project_id AND x.distinct_id = s.distinct_id
WHERE s.changed_at <= x.deleted_at;

-- The rows that one attempt at a run exports. Persons change during an export, and what is written must be what was
-- counted. The attempt drops its partition at the end; the TTL removes what a killed attempt left.
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
TTL written_at + INTERVAL 3 DAY
SETTINGS old_parts_lifetime = 480;

-- Ingestion warnings: events that were ignored or altered, events that lack what their kind needs, and spikes. The
-- first ones of each type, project and minute have a row each, the others share one row: sum(count) counts all.
CREATE TABLE IF NOT EXISTS ingestion_warnings
(
    project_id UInt32,
    type LowCardinality(String),
    -- JSON text of an object
    details String CODEC(ZSTD(1)),
    event String CODEC(ZSTD(1)),
    distinct_id String CODEC(ZSTD(1)),
    -- how many events this row stands for
    count UInt64 DEFAULT 1,
    timestamp DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    -- as in event_rows
    _batch UInt64 CODEC(Delta, ZSTD(1)),
    _row UInt32 CODEC(Delta, ZSTD(1)),
    INDEX batch_range _batch TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(timestamp)
ORDER BY (project_id, timestamp)
TTL toDateTime(timestamp) + INTERVAL 90 DAY
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- Names of events and properties. The servers read them as events come in, and write them when the events are stored;
-- when events of a name happen is derived behind the flush, as sessions are. Everything folds by least, greatest and
-- sets: what is written or derived twice changes nothing.
--
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
