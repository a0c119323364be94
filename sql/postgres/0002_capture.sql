-- What capture keeps in Postgres: the journals of all processes, merges of persons, types of groups, and the salts of
-- cookieless ids.

-- The database's own id. A journal on a disk belongs to one database: its number is unique in that one only, and its
-- events are of that one's projects. The id tells whether a journal and a database belong together.
CREATE TABLE database_identity
(
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    id uuid NOT NULL DEFAULT gen_random_uuid()
);

INSERT INTO database_identity DEFAULT VALUES;

-- One row for each process that captures: how far its events have reached ClickHouse, so that exports know which
-- intervals are complete.
CREATE TABLE journals
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name <> ''),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- every event that arrived before this is stored
    watermark timestamptz,
    -- when the process last published the watermark
    seen_at timestamptz,
    -- made by each start of the process and written beside the journal: it shows when a folder was copied
    holder text
);

CREATE INDEX journals_seen ON journals (seen_at);

-- Which distinct ids are one person. Merges are decided here and mirrored to ClickHouse. Ids that were never merged
-- have no row: ingestion looks nothing up.
CREATE TABLE merged_ids
(
    project_id integer NOT NULL,
    distinct_id text COLLATE "C" NOT NULL,
    -- the id that names the person; a main id names itself
    main_id text COLLATE "C" NOT NULL,
    -- of the event that put the id under its main id: timestamp and arrival, in microseconds since 1970
    merged_at bigint NOT NULL,
    created_at bigint NOT NULL,
    -- of the transaction that wrote the row last; rises
    version bigint NOT NULL,
    PRIMARY KEY (project_id, distinct_id)
);

CREATE INDEX merged_ids_of_main ON merged_ids (project_id, main_id);
CREATE INDEX merged_ids_by_version ON merged_ids (version);

CREATE SEQUENCE merge_versions;

-- Types of groups, numbered in the order in which they were first seen.
CREATE TABLE group_types
(
    project_id integer NOT NULL,
    name text COLLATE "C" NOT NULL,
    place smallint NOT NULL CHECK (place BETWEEN 0 AND 4),
    version bigint NOT NULL,
    PRIMARY KEY (project_id, name),
    UNIQUE (project_id, place)
);

CREATE INDEX group_types_by_version ON group_types (version);

-- Journal segments whose merges were applied, until their journal deletes them: a segment is applied once.
CREATE TABLE merge_segments
(
    name text PRIMARY KEY,
    version bigint NOT NULL
);

-- The secret salts of cookieless ids, one for each calendar day. A salt is deleted when events of its day are not
-- accepted any more: after that nobody can compute these ids again.
CREATE TABLE cookieless_salts
(
    day date PRIMARY KEY,
    salt bytea NOT NULL CHECK (octet_length(salt) = 32)
);
