-- Properties of persons as one JSON text each, without looking at who has no event: what exported events are given of
-- their persons. Ask for some of a project's main ids, and only those are put together.
-- properties: the latest changed first, as far as 640 KiB go, as in persons.
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
