-- Session recordings rest in ClickHouse; here is what people did with them. Their ids are sessions', any text up to 200
-- characters.

CREATE TABLE session_recording_views
(
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    session_id text NOT NULL CHECK (char_length(session_id) <= 200),
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    viewed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, session_id, user_id)
);

CREATE INDEX session_recording_views_of_user ON session_recording_views (user_id);

-- Who deleted what, and how far that has come. A row stays for good: what arrives later of a deleted session is
-- neither shown nor kept.
CREATE TABLE session_recording_deletions
(
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    session_id text NOT NULL CHECK (char_length(session_id) <= 200),
    deleted_by integer REFERENCES users (id) ON DELETE SET NULL,
    deleted_at timestamptz NOT NULL,
    -- when no query of ClickHouse found it any more
    hidden_at timestamptz,
    -- when pieces that came late were last looked for
    checked_at timestamptz,
    -- when its bytes were gone from ClickHouse's files, but for those of merged parts, which last some minutes more
    removed_at timestamptz,
    PRIMARY KEY (project_id, session_id)
);

CREATE INDEX session_recording_deletions_left ON session_recording_deletions (deleted_at) WHERE removed_at IS NULL;
CREATE INDEX session_recording_deletions_in_order ON session_recording_deletions (deleted_at);
CREATE INDEX session_recording_deletions_of_user ON session_recording_deletions (deleted_by);

CREATE TABLE session_recording_sharing
(
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    session_id text NOT NULL CHECK (char_length(session_id) <= 200),
    enabled boolean NOT NULL DEFAULT false,
    access_token text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, session_id)
);

-- The capture keys in memory also say whose sessions are recorded.
DROP TRIGGER projects_tell_keys ON projects;
CREATE TRIGGER projects_tell_keys
    AFTER INSERT OR DELETE OR UPDATE OF api_token, session_recording_opt_in ON projects
    FOR EACH STATEMENT EXECUTE FUNCTION tell_project_keys();
