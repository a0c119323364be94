-- Deletions: of persons, of projects' data, and of events past their retention. A deletion of a person or a project
-- is carried out at once, and again when everything that had arrived by then has left the journals.

CREATE TABLE person_deletions
(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id integer NOT NULL,
    person_id uuid NOT NULL,
    delete_events boolean NOT NULL,
    -- who requested it; no reference, as the record is kept longer than the user
    user_id integer NOT NULL,
    key_id text NOT NULL,
    -- microseconds since 1970: events that arrived until then are deleted
    ordered_at bigint NOT NULL,
    begun_at timestamptz,
    finished_at timestamptz
);

CREATE INDEX person_deletions_open ON person_deletions (id) WHERE finished_at IS NULL;

-- The distinct ids of persons that are being deleted, one in a row, as a person may have hundreds of thousands. They
-- are personal data themselves: they are deleted when the deletion is finished, and person_deletions keeps the
-- record.
CREATE TABLE person_deletion_ids
(
    deletion_id bigint NOT NULL REFERENCES person_deletions (id) ON DELETE CASCADE,
    distinct_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (deletion_id, distinct_id)
);

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

-- Expiry of events: one process at a time deletes what is past its retention, in passes. One row. All moments are by
-- the processes' clocks.
CREATE TABLE event_expiry
(
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    -- the process that makes a pass now, and until when others may not
    owner uuid,
    leased_until timestamptz,
    -- when the last complete pass ended
    passed_at timestamptz,
    -- since when ClickHouse's files may hold rows that are marked as deleted and not removed yet; null: they hold
    -- none
    masked_since timestamptz
);

INSERT INTO event_expiry DEFAULT VALUES;
