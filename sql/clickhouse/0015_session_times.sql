-- Older servers: go on.
-- Takes: a moment.
-- When the sessions of a granule began and ended, so that those of a month are found without reading a year of them:
-- ids of today's posthog-js rise with time. Parts written before have no such index and are read whole.
ALTER TABLE session_facts ADD INDEX IF NOT EXISTS times (start_time, end_time) TYPE minmax GRANULARITY 4;
