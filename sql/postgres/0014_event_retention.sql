-- How many days a project's events are kept; null keeps them as long as the server does.
ALTER TABLE projects ADD COLUMN event_retention_days integer CHECK (event_retention_days BETWEEN 1 AND 36500);

CREATE INDEX projects_by_event_retention ON projects (event_retention_days, id) WHERE event_retention_days IS NOT NULL;

-- Expired events are deleted by one process at a time, in passes. One row. All moments are by the processes' clocks.
CREATE TABLE event_expiry
(
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    -- who makes a pass now, and until when others leave it alone
    owner uuid,
    leased_until timestamptz,
    -- when the last whole pass ended
    passed_at timestamptz,
    -- since when ClickHouse's files may hold rows that are deleted and not removed yet; null: they hold none
    masked_since timestamptz
);

INSERT INTO event_expiry DEFAULT VALUES;
