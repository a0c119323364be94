-- What exports of persons read. Exports of events read the views of events and persons.

-- One row for each distinct id. _inserted_at is the arrival of the last event that changed the person, under
-- whichever of its ids, and equal for all of them. Half-open intervals of it (>= from, < to) within one project meet
-- without gap or overlap once every journal's watermark has passed their end. A person that changes before it is read
-- moves to the later interval, with its newer state.
CREATE OR REPLACE VIEW exported_persons AS
SELECT
    d.project_id AS project_id,
    d.project_id AS team_id,
    d.distinct_id AS distinct_id,
    d.person_id AS person_id,
    p.properties AS properties,
    d.version AS person_distinct_id_version,
    toUInt64(toUnixTimestamp64Micro(p.changed_at)) AS person_version,
    p.created_at AS created_at,
    p.changed_at AS _inserted_at,
    false AS is_deleted
FROM person_distinct_ids AS d
INNER JOIN
(
    SELECT project_id, person_id, properties, created_at, changed_at
    FROM persons
) AS p ON d.project_id = p.project_id AND d.person_id = p.person_id;

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
