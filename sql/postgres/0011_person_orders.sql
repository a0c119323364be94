-- Older servers: go on.
-- Deletions say what they delete: events, recordings, both or none, and the person or not.

ALTER TABLE person_deletions RENAME TO person_deletion_orders;

ALTER TABLE person_deletion_orders
    -- null: as delete_events says, in orders of older servers
    ADD COLUMN delete_recordings boolean,
    -- true: only its events or recordings are deleted
    ADD COLUMN keep_person boolean NOT NULL DEFAULT false;

-- For the list of what was done to a person.
CREATE INDEX person_deletion_orders_of_person ON person_deletion_orders (project_id, person_id);

-- Older servers see the orders that they carry out rightly, and make orders of this kind.
CREATE VIEW person_deletions AS
SELECT id, project_id, person_id, delete_events, user_id, key_id, ordered_at, begun_at, finished_at
FROM person_deletion_orders
WHERE NOT keep_person AND coalesce(delete_recordings, delete_events) = delete_events;
