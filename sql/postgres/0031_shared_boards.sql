-- Older servers: go on.
-- Takes: a moment.
-- Links that show SQL's properties which were confirmed by name, that ask for a password, and that end. Older servers
-- do not find the last two: their token_hash begins with "guarded ".

ALTER TABLE sharing_configurations
    ADD COLUMN shown_properties text[] NOT NULL DEFAULT '{}',
    ADD COLUMN password_required boolean NOT NULL DEFAULT false,
    ADD COLUMN expires_at timestamptz;

CREATE TABLE share_passwords
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sharing_id integer NOT NULL REFERENCES sharing_configurations (id) ON DELETE CASCADE,
    -- argon2id
    password_hash text NOT NULL,
    note text NOT NULL DEFAULT '' CHECK (char_length(note) <= 100),
    created_by integer REFERENCES users (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX share_passwords_of_link ON share_passwords (sharing_id);
