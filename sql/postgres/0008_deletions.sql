-- Deletions of persons and of projects' data: who ordered them and when they were through. They are carried out at
-- once, and once more when everything that had arrived by then has left the journals. The ids of a person are
-- themselves what must go, so they are forgotten in the end; the record that it was done stays.

CREATE TABLE person_deletions
(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id integer NOT NULL,
    person_id uuid NOT NULL,
    distinct_ids text[],
    delete_events boolean NOT NULL,
    -- who asked; not a reference: the record outlives them
    user_id integer NOT NULL,
    key_id text NOT NULL,
    -- microseconds since 1970: what arrived until then goes
    ordered_at bigint NOT NULL,
    begun_at timestamptz,
    finished_at timestamptz
);

CREATE INDEX person_deletions_open ON person_deletions (id) WHERE finished_at IS NULL;

CREATE TABLE project_deletions
(
    project_id integer PRIMARY KEY,
    ordered_at timestamptz NOT NULL DEFAULT now(),
    begun_at timestamptz,
    finished_at timestamptz
);

CREATE FUNCTION note_project_deletion() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
    INSERT INTO project_deletions (project_id) VALUES (OLD.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE TRIGGER projects_note_deletion
    AFTER DELETE ON projects
    FOR EACH ROW EXECUTE FUNCTION note_project_deletion();
