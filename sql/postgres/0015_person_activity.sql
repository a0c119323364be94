-- Older servers: go on.
-- Changes of persons that were made through the API. Deletions stand in person_deletion_orders.

CREATE TABLE person_activity
(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id integer NOT NULL,
    person_id uuid NOT NULL,
    activity text NOT NULL CHECK (activity IN ('updated', 'delete_property', 'split_person')),
    -- who made it; no reference, as in person_deletion_orders
    user_id integer NOT NULL,
    key_id text NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE INDEX person_activity_of_project ON person_activity (project_id, id);
CREATE INDEX person_activity_of_person ON person_activity (project_id, person_id);
