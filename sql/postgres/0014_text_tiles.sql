-- Older servers: go on.
-- A tile shows an insight or a text. Servers that do not know texts show the tiles of insights only.

ALTER TABLE dashboard_tiles ALTER COLUMN insight_id DROP NOT NULL;
ALTER TABLE dashboard_tiles
    ADD COLUMN text_body text CHECK (char_length(text_body) <= 4000),
    ADD COLUMN text_created_by integer REFERENCES users (id) ON DELETE SET NULL,
    ADD COLUMN text_modified_by integer REFERENCES users (id) ON DELETE SET NULL,
    ADD COLUMN text_modified_at timestamptz,
    -- kept for whoever draws the dashboard
    ADD COLUMN color text CHECK (char_length(color) <= 400),
    ADD COLUMN show_description boolean,
    ADD CONSTRAINT dashboard_tiles_shows_one CHECK ((insight_id IS NULL) <> (text_body IS NULL));

CREATE INDEX dashboard_tiles_text_created_by ON dashboard_tiles (text_created_by) WHERE text_created_by IS NOT NULL;
CREATE INDEX dashboard_tiles_text_modified_by ON dashboard_tiles (text_modified_by) WHERE text_modified_by IS NOT NULL;
