-- Older servers: go on.
-- Takes: a moment.
-- Notes on a moment of charts. One of the organization's is shown in all of its projects.

CREATE TABLE annotations
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    content text CHECK (char_length(content) <= 400),
    date_marker timestamptz,
    creation_type text NOT NULL CHECK (creation_type IN ('USR', 'GIT')),
    scope text NOT NULL CHECK (scope IN ('dashboard_item', 'dashboard', 'project', 'organization')),
    insight_id integer REFERENCES insights (id) ON DELETE SET NULL,
    dashboard_id integer REFERENCES dashboards (id) ON DELETE SET NULL,
    is_emoji boolean NOT NULL,
    deleted boolean NOT NULL,
    created_by integer REFERENCES users (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX annotations_in_order ON annotations (project_id, date_marker DESC);
CREATE INDEX annotations_of_insight ON annotations (insight_id);
CREATE INDEX annotations_of_dashboard ON annotations (dashboard_id);
CREATE INDEX annotations_created_by ON annotations (created_by);
