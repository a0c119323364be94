-- An INSERT pays for every view that its rows reach, even where the view keeps none of them. Most events change nobody: what
-- persons' and groups' properties are derived from hangs behind a feed of its own, which only events that do change something
-- pass, so that the others pay for one condition.

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
    gk Array(String)
)
ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS change_feed_of_events TO change_feed AS
SELECT uuid, project_id, distinct_id, timestamp, created_at, person_mode, pk, pw, pv, gt, gk
FROM event_feed
WHERE notEmpty(pk) OR person_mode = 2;

-- One view for every kind. A batch's changes of the same keys of the same person are one, the latest, and the first for what
-- is set once: that is found before they are taken apart into rows of one key. `moment` is the time and, below it, the
-- event's uuid: one number, which is compared many times faster than the two of them.
ALTER TABLE person_props_of_events MODIFY QUERY
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
-- What was set once is there twice: as the latest, and behind all others as the first.
ARRAY JOIN
    arrayConcat(pk, arrayFilter((key, op) -> op = 1, pk, pw)) AS key,
    arrayConcat(pw, onces) AS op,
    arrayConcat(last_pv, arrayFilter((value, op) -> op = 1, last_pv, pw)) AS last_value,
    arrayConcat(first_pv, arrayFilter((value, op) -> op = 1, first_pv, pw)) AS first_value,
    arrayConcat(arrayMap(op -> toUInt8(if(op = 1, 2, 0)), pw), arrayMap(op -> toUInt8(1), onces)) AS kind
WHERE op < 3;

DROP VIEW IF EXISTS person_props_set_once;

DROP VIEW IF EXISTS person_props_set_once_last;

ALTER TABLE groups_seen_of_events MODIFY QUERY
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

ALTER TABLE group_props_of_events MODIFY QUERY
SELECT
    project_id,
    gt[1] AS group_type,
    gk[1] AS group_key,
    key,
    (toUnixTimestamp64Micro(timestamp), reinterpretAsUInt128(reverse(UUIDToNum(uuid))), op, value)::Tuple(at Int64, tie UInt128, op Int8, value String) AS w
FROM change_feed
ARRAY JOIN pk AS key, pw AS op, pv AS value
WHERE person_mode = 2 AND op = 3;
