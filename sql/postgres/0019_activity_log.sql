-- Older servers: go on.
-- Changes that were made through the API: who, what, when. Written before the change, so that none is without its row;
-- `status` follows when the change has answered.

CREATE TABLE activity_log
(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- of an organization that is being made, null until it is
    organization_id uuid REFERENCES organizations (id) ON DELETE CASCADE,
    -- no reference: what was done to a deleted project stays
    project_id integer,
    user_id integer NOT NULL,
    key_id text NOT NULL,
    request_id text NOT NULL,
    activity text NOT NULL,
    scope text NOT NULL,
    item_id text,
    -- names of the fields that were sent, never their values
    fields text[] NOT NULL,
    -- of the answer; null: the change is running, or its end is not known
    status smallint,
    created_at timestamptz NOT NULL
);

CREATE INDEX activity_log_of_organization ON activity_log (organization_id, id);
