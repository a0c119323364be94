-- Older servers: go on.
-- Persons with the time of their last event, under any of their ids: PostHog's name for it is last_seen_at.
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
