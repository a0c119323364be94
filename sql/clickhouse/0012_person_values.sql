-- Older servers: go on.
-- A person's current properties one by one, for questions about some of them: with a condition on `key` nothing of the
-- others is folded or written. properties: JSON text of an object with this one member.
CREATE OR REPLACE VIEW person_values AS
SELECT
    project_id,
    main_id,
    key,
    reinterpretAsUUID(concat(
        reinterpretAsFixedString(bitOr(bitAnd(reinterpretAsUInt64(reverse(substring(
            SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(project_id), ':', main_id)),
            1, 8))), 0xFFFFFFFFFFFF0FFF), 0x0000000000005000)),
        reinterpretAsFixedString(bitOr(bitAnd(reinterpretAsUInt64(reverse(substring(
            SHA1(concat(unhex('5b1f0c1e7d0e4a539a3c6f2f5d0e8b77'), toString(project_id), ':', main_id)),
            9, 8))), 0x3FFFFFFFFFFFFFFF), 0x8000000000000000))
    )) AS person_id,
    concat('{', toJSONString(toString(key)), ':', value, '}') AS properties
FROM person_properties;
