-- Merged ids, and the names that people read. A merge is decided in Postgres and mirrored here; mirroring it again
-- changes nothing.

-- Distinct ids that belong to a person together with others, the main one included. What an id's person did under it
-- before merged_at comes after what was known of the main id.
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

-- A merged id is a person's, even if all its own events were personless; and its person has changed.
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

-- Types of groups a project has: five at most, decided in Postgres.
CREATE TABLE IF NOT EXISTS group_types
(
    project_id UInt32,
    group_type String,
    place UInt8
)
ENGINE = ReplacingMergeTree
ORDER BY (project_id, group_type)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

-- Distinct ids whose persons were deleted, by hash, since the id itself is what had to go: what arrived before no
-- longer counts, however late it is stored or derived again.
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

-- What tables derived from events are fed from: everything that is stored, and again whatever must be derived again,
-- because the engine may have stored a batch and died before its views. Views hang here, not on event_rows.
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
    gk Array(String)
)
ENGINE = Null;

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

-- A batch's changes of the same keys of the same person are one, the latest or the first: with that found before they
-- are taken apart into rows of one key, a batch in which every event sets keys costs half. What is left of a key is folded
-- by the table, which does so when it stores. One view for each kind, since most batches have only the first.
CREATE MATERIALIZED VIEW IF NOT EXISTS person_props_of_events TO person_props AS
SELECT project_id, distinct_id, key, toUInt8(0) AS kind, (at, tie, op, value)::Tuple(at Int64, tie UInt128, op Int8, value String) AS w
FROM
(
    SELECT
        project_id, distinct_id, pk, pw, pv,
        toUnixTimestamp64Micro(timestamp) AS at,
        reinterpretAsUInt128(reverse(UUIDToNum(uuid))) AS tie
    FROM event_feed
    WHERE arrayExists(op -> op IN (0, 2), pw)
    ORDER BY at DESC, tie DESC, pv DESC
    LIMIT 1 BY project_id, distinct_id, pk, pw
)
ARRAY JOIN pk AS key, pw AS op, pv AS value
WHERE op IN (0, 2);

CREATE MATERIALIZED VIEW IF NOT EXISTS person_props_set_once TO person_props AS
SELECT project_id, distinct_id, key, toUInt8(1) AS kind, (-at, bitNot(tie), op, value)::Tuple(at Int64, tie UInt128, op Int8, value String) AS w
FROM
(
    SELECT
        project_id, distinct_id, pk, pw, pv,
        toUnixTimestamp64Micro(timestamp) AS at,
        reinterpretAsUInt128(reverse(UUIDToNum(uuid))) AS tie
    FROM event_feed
    WHERE has(pw, 1)
    ORDER BY at ASC, tie ASC, pv DESC
    LIMIT 1 BY project_id, distinct_id, pk, pw
)
ARRAY JOIN pk AS key, pw AS op, pv AS value
WHERE op = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS person_props_set_once_last TO person_props AS
SELECT project_id, distinct_id, key, toUInt8(2) AS kind, (at, tie, op, value)::Tuple(at Int64, tie UInt128, op Int8, value String) AS w
FROM
(
    SELECT
        project_id, distinct_id, pk, pw, pv,
        toUnixTimestamp64Micro(timestamp) AS at,
        reinterpretAsUInt128(reverse(UUIDToNum(uuid))) AS tie
    FROM event_feed
    WHERE has(pw, 1)
    ORDER BY at DESC, tie DESC, pv DESC
    LIMIT 1 BY project_id, distinct_id, pk, pw
)
ARRAY JOIN pk AS key, pw AS op, pv AS value
WHERE op = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS groups_seen_of_events TO groups_seen AS
SELECT
    project_id,
    gt[1] AS group_type,
    gk[1] AS group_key,
    min(timestamp) AS first,
    min(created_at) AS arrived,
    max(created_at) AS changed
FROM event_feed
WHERE person_mode = 2
GROUP BY project_id, group_type, group_key;

CREATE MATERIALIZED VIEW IF NOT EXISTS group_props_of_events TO group_props AS
SELECT
    project_id,
    gt[1] AS group_type,
    gk[1] AS group_key,
    key,
    (toUnixTimestamp64Micro(timestamp), reinterpretAsUInt128(reverse(UUIDToNum(uuid))), op, value)::Tuple(at Int64, tie UInt128, op Int8, value String) AS w
FROM event_feed
ARRAY JOIN pk AS key, pw AS op, pv AS value
WHERE person_mode = 2 AND op = 3;

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
    e.gk AS gk
FROM event_rows AS e
LEFT ANY JOIN
(
    SELECT project_id, id_hash, max(deleted_at) AS id_deleted_at
    FROM deleted_ids
    GROUP BY project_id, id_hash
) AS d ON e.project_id = d.project_id AND sipHash64(e.distinct_id) = d.id_hash
WHERE e.created_at > d.id_deleted_at;

-- Events without their persons: a count or a breakdown that needs none should not pay for the join below.
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
    gk AS group_keys
FROM event_rows FINAL
-- Duplicates share their day, so each month can be made final by itself.
SETTINGS do_not_merge_across_partitions_select_final = 1;

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

-- changed_at: the arrival of what last changed this id's person by this id.
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

-- One row for every person and key, as the property is now.
-- Order: a main id's changes, and another's from the moment it was merged, by time; what was changed under another id
-- before comes before all that, the earlier merged the stronger. The property is the latest $set, unless an $unset came
-- later; without one, the first $set_once after the latest $unset, where what another id had set once joins at the merge.
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

-- properties: the latest changed first, as far as 640 KiB go. changed_at: the arrival of what last changed the person.
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
