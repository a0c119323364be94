-- Older servers: go on.
-- Takes: a moment.
-- What a personal key is for; a user's wish to be anonymous to clients; and the tiles that were removed from dashboards,
-- which may come back.

ALTER TABLE personal_api_keys ADD COLUMN description text CHECK (char_length(description) <= 1000);
ALTER TABLE users ADD COLUMN anonymize_data boolean NOT NULL DEFAULT false;

CREATE TABLE removed_dashboard_tiles
(
    id integer PRIMARY KEY,
    dashboard_id integer NOT NULL REFERENCES dashboards (id) ON DELETE CASCADE,
    -- the row of dashboard_tiles
    tile jsonb NOT NULL,
    removed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX removed_dashboard_tiles_of_dashboard ON removed_dashboard_tiles (dashboard_id, removed_at);
