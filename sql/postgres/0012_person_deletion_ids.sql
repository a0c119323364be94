-- The distinct ids of persons that are being deleted, one a row: a person may have hundreds of thousands. They are
-- themselves what must go, and are forgotten when the deletion is through.

CREATE TABLE person_deletion_ids
(
    deletion_id bigint NOT NULL REFERENCES person_deletions (id) ON DELETE CASCADE,
    distinct_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (deletion_id, distinct_id)
);

INSERT INTO person_deletion_ids (deletion_id, distinct_id)
SELECT id, unnest(distinct_ids) FROM person_deletions WHERE finished_at IS NULL
ON CONFLICT DO NOTHING;

ALTER TABLE person_deletions DROP COLUMN distinct_ids;
