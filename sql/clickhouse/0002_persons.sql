-- Persons. Every row here is derived from events or mirrors a merge from Postgres. The aggregates are idempotent
-- (min, max): deriving a batch again changes nothing, and the order of arrival does not matter.
--
-- A person's id is computed: UUIDv5 of "<project>:<distinct id>" under a fixed namespace, of the main id where ids
-- were merged.

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
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

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
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- Changes of the same keys of the same person within a batch are reduced to the latest (and, of set once, the first)
-- before they are split into one row a key: where every event sets keys, this halves the cost. `moment` is the time
-- with the event's uuid below it, in one number, which compares many times faster than the two.
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
            bitShiftLeft(toInt256(toUnixTimestamp64Micro(timestamp)), 128) + reinterpretAsUInt128(reverse(UUIDToNum(uuid))) AS moment
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
    e.gk AS group_keys
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
-- that changed the person.
CREATE OR REPLACE VIEW persons AS
SELECT
    i.project_id AS project_id,
    i.person_id AS person_id,
    if(p.properties = '', '{}', p.properties) AS properties,
    i.created_at AS created_at,
    i.is_identified AS is_identified,
    i.distinct_ids AS distinct_ids,
    i.changed_at AS changed_at
FROM
(
    SELECT
        s.project_id AS project_id,
        if(m.main_id = '', s.distinct_id, m.main_id) AS main_id,
        if(m.main_id = '', s.own_person_id, m.merged_person_id) AS person_id,
        min(s.first) AS created_at,
        toBool(max(m.main_id != '')) AS is_identified,
        groupUniqArray(s.distinct_id) AS distinct_ids,
        greatest(min(s.arrived), max(s.changed)) AS changed_at
    FROM
    (
        SELECT project_id, distinct_id, first, arrived, changed, own_person_id
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
