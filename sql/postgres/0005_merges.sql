-- Merges: which distinct ids are one person, decided here once and mirrored to ClickHouse. Ids that were never merged
-- are not here: ingestion asks nobody.

CREATE TABLE merged_ids
(
    project_id integer NOT NULL,
    distinct_id text COLLATE "C" NOT NULL,
    -- the id whose person it is; a main id names itself
    main_id text COLLATE "C" NOT NULL,
    -- microseconds since 1970: the timestamp of the event that brought it under its main id, and its arrival
    merged_at bigint NOT NULL,
    created_at bigint NOT NULL,
    -- the transaction that wrote it last; rises
    version bigint NOT NULL,
    PRIMARY KEY (project_id, distinct_id)
);

CREATE INDEX merged_ids_of_main ON merged_ids (project_id, main_id);
CREATE INDEX merged_ids_by_version ON merged_ids (version);

CREATE SEQUENCE merge_versions;

-- Types of groups, in order of first sight.
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

-- Journal segments whose merges were applied and are not forgotten by their journal yet.
CREATE TABLE merge_segments
(
    name text PRIMARY KEY,
    version bigint NOT NULL
);
