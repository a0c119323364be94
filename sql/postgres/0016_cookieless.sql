-- The secrets that ids of visitors without a cookie are made with, one a calendar day; deleted when no event of that
-- day is taken any more, so that nobody can compute such an id later.
CREATE TABLE cookieless_salts
(
    day date PRIMARY KEY,
    salt bytea NOT NULL CHECK (octet_length(salt) = 32)
);

-- 0: events without a cookie are ignored; 1: each visitor gets an id of the day.
ALTER TABLE projects ADD COLUMN cookieless_server_hash_mode smallint NOT NULL DEFAULT 1
    CHECK (cookieless_server_hash_mode IN (0, 1));

-- The capture keys in memory also say how events without a cookie are taken, and when the project's days begin.
DROP TRIGGER projects_tell_keys ON projects;
CREATE TRIGGER projects_tell_keys
    AFTER INSERT OR DELETE OR UPDATE OF api_token, session_recording_opt_in, cookieless_server_hash_mode, timezone
    ON projects
    FOR EACH STATEMENT EXECUTE FUNCTION tell_project_keys();
