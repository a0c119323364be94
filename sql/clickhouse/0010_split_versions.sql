-- Older servers: go on.
-- person_distinct_id_version rises with a split, too: receivers keep the row of the highest version, and would show a
-- split-off id under the person that it was merged into. Its own row of merged_ids is deleted then, which FINAL leaves
-- out; deleted rows are few.
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
    false AS is_deleted
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
) AS u ON d.project_id = u.project_id AND d.distinct_id = u.distinct_id;
