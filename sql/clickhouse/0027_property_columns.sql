-- Older servers: go on.
-- Takes: a moment.
-- What is asked most of an event is a column beside the text of its properties. Servers write it with the row; rows of older
-- servers, and values that only the engine reads as it does (lists, fractions), get it from the text: when they are stored,
-- merged, or read. The expression is propertyText() of src/storage/events/property_filter.ts.
ALTER TABLE event_rows
    ADD COLUMN IF NOT EXISTS `$current_url` Nullable(String) DEFAULT if(isNull(JSONExtract(properties, '$current_url', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$current_url', 'Nullable(String)')), JSONExtract(properties, '$current_url', 'Nullable(String)')) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `$session_id` Nullable(String) DEFAULT if(isNull(JSONExtract(properties, '$session_id', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$session_id', 'Nullable(String)')), JSONExtract(properties, '$session_id', 'Nullable(String)')) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `$pathname` LowCardinality(Nullable(String)) DEFAULT if(isNull(JSONExtract(properties, '$pathname', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$pathname', 'Nullable(String)')), JSONExtract(properties, '$pathname', 'Nullable(String)')) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `$referring_domain` LowCardinality(Nullable(String)) DEFAULT if(isNull(JSONExtract(properties, '$referring_domain', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$referring_domain', 'Nullable(String)')), JSONExtract(properties, '$referring_domain', 'Nullable(String)')) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `$browser` LowCardinality(Nullable(String)) DEFAULT if(isNull(JSONExtract(properties, '$browser', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$browser', 'Nullable(String)')), JSONExtract(properties, '$browser', 'Nullable(String)')) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `$os` LowCardinality(Nullable(String)) DEFAULT if(isNull(JSONExtract(properties, '$os', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$os', 'Nullable(String)')), JSONExtract(properties, '$os', 'Nullable(String)')) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `$device_type` LowCardinality(Nullable(String)) DEFAULT if(isNull(JSONExtract(properties, '$device_type', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$device_type', 'Nullable(String)')), JSONExtract(properties, '$device_type', 'Nullable(String)')) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `$geoip_country_code` LowCardinality(Nullable(String)) DEFAULT if(isNull(JSONExtract(properties, '$geoip_country_code', 'Nullable(String)')), if(JSONType(properties) = 'Object', NULL, JSONExtract(replaceRegexpAll(properties, '([:,\\[]\\s*)(-?\\d{18,}(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|-?\\d+(?:\\.\\d+)?[eE]\\+?\\d{3,})', '\\1"\\2"'), '$geoip_country_code', 'Nullable(String)')), JSONExtract(properties, '$geoip_country_code', 'Nullable(String)')) CODEC(ZSTD(1));

-- As before, with the columns.
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
    gk AS group_keys,
    CAST(e.`$current_url`, 'Nullable(String)') AS `$current_url`,
    CAST(e.`$session_id`, 'Nullable(String)') AS `$session_id`,
    CAST(e.`$pathname`, 'Nullable(String)') AS `$pathname`,
    CAST(e.`$referring_domain`, 'Nullable(String)') AS `$referring_domain`,
    CAST(e.`$browser`, 'Nullable(String)') AS `$browser`,
    CAST(e.`$os`, 'Nullable(String)') AS `$os`,
    CAST(e.`$device_type`, 'Nullable(String)') AS `$device_type`,
    CAST(e.`$geoip_country_code`, 'Nullable(String)') AS `$geoip_country_code`
FROM event_rows AS e FINAL
-- Duplicates have the same day, so each partition can be made final by itself.
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
    e.gk AS group_keys,
    CAST(e.`$current_url`, 'Nullable(String)') AS `$current_url`,
    CAST(e.`$session_id`, 'Nullable(String)') AS `$session_id`,
    CAST(e.`$pathname`, 'Nullable(String)') AS `$pathname`,
    CAST(e.`$referring_domain`, 'Nullable(String)') AS `$referring_domain`,
    CAST(e.`$browser`, 'Nullable(String)') AS `$browser`,
    CAST(e.`$os`, 'Nullable(String)') AS `$os`,
    CAST(e.`$device_type`, 'Nullable(String)') AS `$device_type`,
    CAST(e.`$geoip_country_code`, 'Nullable(String)') AS `$geoip_country_code`
FROM event_rows AS e FINAL
LEFT ANY JOIN
(
    SELECT project_id, distinct_id, main_id, person_id AS merged_person_id
    FROM merged_ids FINAL
) AS m ON e.project_id = m.project_id AND e.distinct_id = m.distinct_id
SETTINGS do_not_merge_across_partitions_select_final = 1;
