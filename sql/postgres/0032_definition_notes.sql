-- Older servers: go on.
-- Takes: a moment.
-- What people say about the names of events and properties. A definition's id is computed from its project and name.

CREATE TABLE definition_notes
(
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id uuid NOT NULL,
    description text,
    tags text[] NOT NULL DEFAULT '{}',
    verified boolean NOT NULL DEFAULT false,
    hidden boolean NOT NULL DEFAULT false,
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by integer REFERENCES users (id) ON DELETE SET NULL,
    verified_at timestamptz,
    verified_by integer REFERENCES users (id) ON DELETE SET NULL,
    PRIMARY KEY (project_id, id)
);
CREATE INDEX definition_notes_updated_by ON definition_notes (updated_by);
CREATE INDEX definition_notes_verified_by ON definition_notes (verified_by);
