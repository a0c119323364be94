-- Older servers: must stop.
-- Links that show a recording, an insight or a dashboard to whoever has their token: one table for all kinds. An older
-- server would go on opening links of recordings that were revoked here.

CREATE TABLE sharing_configurations
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('recording', 'insight', 'dashboard')),
    -- a session's id, or the number of an insight or a dashboard
    target text NOT NULL CHECK (char_length(target) <= 200),
    enabled boolean NOT NULL DEFAULT false,
    -- by which a token is found: sha256$<hex>
    token_hash text NOT NULL UNIQUE,
    -- the token, encrypted with SECRET_KEY, because replies show it
    token_sealed bytea,
    -- of links from before tokens were sealed, until they are shown again
    token_plain text,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (project_id, kind, target)
);

INSERT INTO sharing_configurations (project_id, kind, target, enabled, token_hash, token_plain, created_at)
SELECT project_id, 'recording', session_id, enabled,
    'sha256$' || encode(sha256(convert_to(access_token, 'UTF8')), 'hex'), access_token, created_at
FROM session_recording_sharing;

DELETE FROM session_recording_sharing;

-- The last results of insights and dashboards that have a link.
CREATE TABLE shared_results
(
    sharing_id integer PRIMARY KEY REFERENCES sharing_configurations (id) ON DELETE CASCADE,
    -- JSON text
    result text,
    computed_at timestamptz,
    -- until when one process computes them
    claimed_until timestamptz
);
