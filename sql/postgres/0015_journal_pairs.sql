-- A journal belongs to one database: its number is unlike all others in that one, and its events are of that one's
-- projects. By this id a folder's journal knows its database again.

CREATE TABLE database_identity
(
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    id uuid NOT NULL DEFAULT gen_random_uuid()
);

INSERT INTO database_identity DEFAULT VALUES;

-- Made anew by each start of the journal's process, and written beside the journal: a folder that was copied shows by it.
ALTER TABLE journals ADD COLUMN holder text;
