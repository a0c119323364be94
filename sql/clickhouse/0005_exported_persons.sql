-- What exports of persons are made of: one row for every distinct id. _inserted_at is the arrival of what last changed
-- the person, by whichever of its ids (a first event, a property, a merge), the same for all of them: a half-open
-- interval of it, `_inserted_at >= from AND _inserted_at < to` within one project, meets the next one without gap or
-- overlap once every journal's watermark has passed its end, since the watermark waits for merges as well. A person that
-- changes again before it was read moves on to the later interval, with its newer state.
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
