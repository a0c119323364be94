-- Older servers: go on.
-- Takes: a moment.
-- rank: the order in which events that change a person or group arrived, or their lines in an import. Of two changes of
-- one moment the one with the higher rank counts; changes without one, which older servers stored, come before them, in
-- the order of their uuids.
ALTER TABLE event_rows ADD COLUMN IF NOT EXISTS rank UInt64 DEFAULT 0 CODEC(Delta, ZSTD(1));

ALTER TABLE event_feed ADD COLUMN IF NOT EXISTS rank UInt64 DEFAULT 0;

ALTER TABLE change_feed ADD COLUMN IF NOT EXISTS rank UInt64 DEFAULT 0;

ALTER TABLE change_feed_of_events MODIFY QUERY
SELECT uuid, project_id, distinct_id, timestamp, created_at, person_mode, pk, pw, pv, gt, gk, rank
FROM event_feed
WHERE notEmpty(pk) OR person_mode = 2;

ALTER TABLE event_feed_of_rows MODIFY QUERY
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

-- As in 0002. A rank is above every uuid: no uuid begins with 64 bits that are set.
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
ARRAY JOIN
    arrayConcat(pk, arrayFilter((key, op) -> op = 1, pk, pw)) AS key,
    arrayConcat(pw, onces) AS op,
    arrayConcat(last_pv, arrayFilter((value, op) -> op = 1, last_pv, pw)) AS last_value,
    arrayConcat(first_pv, arrayFilter((value, op) -> op = 1, first_pv, pw)) AS first_value,
    arrayConcat(arrayMap(op -> toUInt8(if(op = 1, 2, 0)), pw), arrayMap(op -> toUInt8(1), onces)) AS kind
WHERE op < 3;

ALTER TABLE group_props_of_events MODIFY QUERY
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
