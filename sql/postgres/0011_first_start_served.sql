-- Until a start has served and shown its keys, each start makes the personal key anew: one that ended in between (a
-- taken port, a kill) has shown it to nobody.

ALTER TABLE first_starts
    ADD COLUMN served_at timestamptz,
    ADD COLUMN personal_api_key_id text;

UPDATE first_starts SET served_at = created_at;
