-- Older servers: go on.
-- Takes: a moment.
-- How many events a project may send in a day. An older server beside accepts all.

ALTER TABLE projects
    -- events of one UTC day by their arrival; null = any number
    ADD COLUMN daily_event_quota integer CHECK (daily_event_quota >= 1);

DROP TRIGGER IF EXISTS projects_tell_keys ON projects;
CREATE TRIGGER projects_tell_keys
    AFTER INSERT OR DELETE OR UPDATE OF
        api_token, session_recording_opt_in, cookieless_server_hash_mode, timezone, daily_event_quota
    ON projects
    FOR EACH STATEMENT EXECUTE FUNCTION tell_project_keys();

-- What each process has accepted of the projects that have a quota; deleted when its day is over.
CREATE TABLE daily_event_counts
(
    day date NOT NULL,
    project_id integer NOT NULL,
    -- a process between its start and its end
    process_id uuid NOT NULL,
    events bigint NOT NULL,
    PRIMARY KEY (day, project_id, process_id)
);
