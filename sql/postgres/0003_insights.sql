-- Insights, dashboards, and the tiles that put insights on dashboards. Deleting marks a row: references stay valid,
-- and it can be restored.

CREATE TABLE insights
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    short_id text NOT NULL CHECK (short_id ~ '^[0-9A-Za-z]{8,12}$'),
    name text CHECK (char_length(name) <= 400),
    -- made from the query each time it is saved
    derived_name text CHECK (char_length(derived_name) <= 400),
    description text DEFAULT '',
    query jsonb NOT NULL CHECK (jsonb_typeof(query) = 'object'),
    tags text[] NOT NULL DEFAULT '{}',
    favorited boolean NOT NULL DEFAULT false,
    deleted boolean NOT NULL DEFAULT false,
    created_by integer REFERENCES users (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    last_modified_at timestamptz NOT NULL DEFAULT now(),
    last_modified_by integer REFERENCES users (id) ON DELETE SET NULL,
    UNIQUE (project_id, short_id)
);

CREATE INDEX insights_in_order ON insights (project_id, id) WHERE NOT deleted;
CREATE INDEX insights_created_by ON insights (created_by);
CREATE INDEX insights_last_modified_by ON insights (last_modified_by);

CREATE TABLE dashboards
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name text CHECK (char_length(name) <= 400),
    description text DEFAULT '',
    pinned boolean NOT NULL DEFAULT false,
    tags text[] NOT NULL DEFAULT '{}',
    deleted boolean NOT NULL DEFAULT false,
    created_by integer REFERENCES users (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX dashboards_in_order ON dashboards (project_id, id) WHERE NOT deleted;
CREATE INDEX dashboards_created_by ON dashboards (created_by);

CREATE TABLE dashboard_tiles
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dashboard_id integer NOT NULL REFERENCES dashboards (id) ON DELETE CASCADE,
    insight_id integer NOT NULL REFERENCES insights (id) ON DELETE CASCADE,
    UNIQUE (dashboard_id, insight_id)
);

CREATE INDEX dashboard_tiles_of_insight ON dashboard_tiles (insight_id);
