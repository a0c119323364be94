-- Older servers: go on.
-- Signing in: passwords, sessions of browsers, invitations. An older server takes personal keys only.

ALTER TABLE users
    -- argon2id, as the runtime writes it; null: who signs in brings a key
    ADD COLUMN password_hash text CHECK (password_hash LIKE '$argon2id$%'),
    ADD COLUMN last_login timestamptz;

-- The session itself is a cookie and never stored: secure_value is session$<hex>, the SHA-256 of it.
CREATE TABLE user_sessions
(
    id text PRIMARY KEY,
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- the key that signed in: the session has its scopes and restrictions, and ends with it; null: a password did
    personal_api_key_id text REFERENCES personal_api_keys (id) ON DELETE CASCADE,
    secure_value text NOT NULL UNIQUE CHECK (secure_value ~ '^session\$[0-9a-f]{64}$'),
    user_agent text NOT NULL CHECK (char_length(user_agent) <= 200),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL DEFAULT now() + interval '30 days'
        CHECK (expires_at <= created_at + interval '30 days'),
    last_used_at timestamptz
);

CREATE INDEX user_sessions_of_user ON user_sessions (user_id, created_at);
CREATE INDEX user_sessions_of_key ON user_sessions (personal_api_key_id) WHERE personal_api_key_id IS NOT NULL;
CREATE INDEX user_sessions_by_end ON user_sessions (expires_at);

CREATE TRIGGER user_sessions_tell_access
    AFTER DELETE OR UPDATE OF user_id, secure_value, expires_at ON user_sessions
    FOR EACH STATEMENT EXECUTE FUNCTION tell_access();

-- A key with a new value has signed nobody in.
CREATE FUNCTION end_sessions_of_key() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
    DELETE FROM user_sessions WHERE personal_api_key_id = NEW.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER personal_api_keys_end_sessions
    AFTER UPDATE OF secure_value ON personal_api_keys
    FOR EACH ROW EXECUTE FUNCTION end_sessions_of_key();

-- What a request may present, by its stored form: a personal key or a session.
CREATE VIEW credentials AS
SELECT id, user_id, label, mask_value, secure_value, scopes, scoped_teams, scoped_organizations, created_at, last_used_at,
    last_rolled_at, false AS is_session
FROM personal_api_keys
UNION ALL
SELECT s.id, s.user_id, 'Session in a browser', '', s.secure_value, coalesce(k.scopes, '{*}'),
    coalesce(k.scoped_teams, '{}'), coalesce(k.scoped_organizations, '{}'), s.created_at, s.last_used_at, null, true
FROM user_sessions s LEFT JOIN personal_api_keys k ON k.id = s.personal_api_key_id
WHERE s.expires_at > now();

-- The link has a token that is never stored: secure_value is sha256$<hex> of it. An accepted invitation is gone.
CREATE TABLE organization_invites
(
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    target_email text NOT NULL CHECK (target_email ~ '^[^\s@]+@[^\s@]+$' AND char_length(target_email) <= 254),
    first_name text NOT NULL DEFAULT '' CHECK (char_length(first_name) <= 30),
    level smallint NOT NULL CHECK (level IN (1, 8, 15)),
    -- an invitation is valid while this user may make it
    created_by_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    secure_value text NOT NULL UNIQUE CHECK (secure_value ~ '^sha256\$[0-9a-f]{64}$'),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL DEFAULT now() + interval '3 days'
);

CREATE UNIQUE INDEX organization_invites_of_address ON organization_invites (organization_id, lower(target_email));
