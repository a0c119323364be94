-- What users did with session recordings: views, deletions, sharing. The recordings themselves are in ClickHouse. A
-- recording's id is its session's, any text of up to 200 characters.

CREATE TABLE session_recording_views
(
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    session_id text NOT NULL CHECK (char_length(session_id) <= 200),
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    viewed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, session_id, user_id)
);

CREATE INDEX session_recording_views_of_user ON session_recording_views (user_id);

-- Deleted recordings, and how far each deletion has come. Rows are kept for ever: data of a deleted session that
-- arrives later is neither shown nor kept.
CREATE TABLE session_recording_deletions
(
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    session_id text NOT NULL CHECK (char_length(session_id) <= 200),
    deleted_by integer REFERENCES users (id) ON DELETE SET NULL,
    deleted_at timestamptz NOT NULL,
    -- since when no query of ClickHouse finds it
    hidden_at timestamptz,
    -- when data that arrived late was last looked for
    checked_at timestamptz,
    -- when its bytes were gone from ClickHouse's active parts; parts that were merged stay on disk some minutes
    -- longer
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
