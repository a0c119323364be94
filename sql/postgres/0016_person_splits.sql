-- Older servers: go on.
-- Splits of persons that are under way: kept until no merge that arrived before them can be applied any more.

CREATE TABLE person_splits
(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id integer NOT NULL,
    -- the id that stayed
    main_id text COLLATE "C" NOT NULL,
    -- of the transaction that undid merges last: of merge_versions
    version bigint NOT NULL,
    -- microseconds since 1970: merges that arrived until then are undone
    split_at bigint NOT NULL,
    -- when ClickHouse had it
    begun_at timestamptz
);

-- The distinct ids that were split off. They are deleted with their split.
CREATE TABLE person_split_ids
(
    split_id bigint NOT NULL REFERENCES person_splits (id) ON DELETE CASCADE,
    distinct_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (split_id, distinct_id)
);
