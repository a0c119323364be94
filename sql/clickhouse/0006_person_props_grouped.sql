-- The same rows as before, folded before they are sorted: half the price of a batch in which every event sets keys.
-- What is set once has a view of its own for its latest time, since most batches have none.

DROP VIEW IF EXISTS person_props_of_events;

CREATE MATERIALIZED VIEW IF NOT EXISTS person_props_of_events TO person_props AS
SELECT project_id, distinct_id, key, kind, max(change) AS w
FROM
(
    SELECT
        project_id,
        distinct_id,
        key,
        toUInt8(op = 1) AS kind,
        (if(op = 1, -at, at), if(op = 1, bitNot(tie), tie), op, value)::Tuple(at Int64, tie UInt128, op Int8, value String) AS change
    FROM
    (
        SELECT
            project_id, distinct_id, pk, pw, pv,
            toUnixTimestamp64Micro(timestamp) AS at,
            reinterpretAsUInt128(reverse(UUIDToNum(uuid))) AS tie
        FROM event_feed
        WHERE notEmpty(pw)
    )
    ARRAY JOIN pk AS key, pw AS op, pv AS value
    WHERE op < 3
)
GROUP BY project_id, distinct_id, key, kind;

CREATE MATERIALIZED VIEW IF NOT EXISTS person_props_set_once TO person_props AS
SELECT project_id, distinct_id, key, toUInt8(2) AS kind, max(change) AS w
FROM
(
    SELECT
        project_id,
        distinct_id,
        key,
        (at, tie, op, value)::Tuple(at Int64, tie UInt128, op Int8, value String) AS change
    FROM
    (
        SELECT
            project_id, distinct_id, pk, pw, pv,
            toUnixTimestamp64Micro(timestamp) AS at,
            reinterpretAsUInt128(reverse(UUIDToNum(uuid))) AS tie
        FROM event_feed
        WHERE has(pw, 1)
    )
    ARRAY JOIN pk AS key, pw AS op, pv AS value
    WHERE op = 1
)
GROUP BY project_id, distinct_id, key;
