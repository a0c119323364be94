-- Accounts. Organizations own projects, users are members of organizations, and personal API keys act for users.
-- Triggers notify every process when something it keeps in memory has changed.

CREATE TABLE organizations
(
    id uuid PRIMARY KEY,
    name text NOT NULL CHECK (name <> '' AND char_length(name) <= 64),
    slug text NOT NULL UNIQUE CHECK (slug <> '' AND char_length(slug) <= 48),
    logo_media_id uuid,
    -- 0 none, 3 configure, 6 install, 9 everything
    plugins_access_level smallint NOT NULL DEFAULT 9 CHECK (plugins_access_level IN (0, 3, 6, 9)),
    available_product_features jsonb NOT NULL DEFAULT '[]'
        CHECK (jsonb_typeof(available_product_features) = 'array'),
    is_member_join_email_enabled boolean NOT NULL DEFAULT true,
    customer_id text,
    -- null until somebody decides
    enforce_2fa boolean,
    is_ai_data_processing_approved boolean,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX organizations_in_order ON organizations (created_at, id);

-- A project's id is the team_id of other replies. Its api_token is public (every web page that captures shows it), so
-- it is stored in plain text.
CREATE TABLE projects
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid uuid NOT NULL UNIQUE,
    organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name text NOT NULL CHECK (name <> '' AND char_length(name) <= 200),
    api_token text NOT NULL UNIQUE CHECK (api_token ~ '^[!-~]{1,64}$' AND api_token NOT LIKE 'phx\_%'),
    timezone text NOT NULL DEFAULT 'UTC',
    session_recording_opt_in boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- the group types that the project accepts; null accepts any, the first five that arrive
    allowed_group_types text[]
        CHECK (array_position(allowed_group_types, NULL) IS NULL AND cardinality(allowed_group_types) <= 5),
    -- how many days events are kept; null = as long as EVENT_RETENTION_DAYS says
    event_retention_days integer CHECK (event_retention_days BETWEEN 1 AND 36500),
    -- 0: events without a cookie are ignored; 1: each visitor gets an id of the day
    cookieless_server_hash_mode smallint NOT NULL DEFAULT 1 CHECK (cookieless_server_hash_mode IN (0, 1))
);

CREATE INDEX projects_of_organization ON projects (organization_id, id);
CREATE INDEX projects_by_event_retention ON projects (event_retention_days, id) WHERE event_retention_days IS NOT NULL;

CREATE TABLE users
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid uuid NOT NULL UNIQUE,
    distinct_id text NOT NULL UNIQUE,
    email text NOT NULL CHECK (email ~ '^[^\s@]+@[^\s@]+$'),
    first_name text NOT NULL DEFAULT '',
    last_name text NOT NULL DEFAULT '',
    is_active boolean NOT NULL DEFAULT true,
    is_email_verified boolean,
    hedgehog_config jsonb,
    role_at_organization text,
    current_organization_id uuid REFERENCES organizations (id) ON DELETE SET NULL,
    current_project_id integer REFERENCES projects (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE UNIQUE INDEX users_email ON users (lower(email));
CREATE INDEX users_current_organization ON users (current_organization_id);
CREATE INDEX users_current_project ON users (current_project_id);

CREATE TABLE organization_memberships
(
    organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- 1 member, 8 admin, 15 owner
    level smallint NOT NULL DEFAULT 1 CHECK (level IN (1, 8, 15)),
    joined_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, user_id)
);

CREATE INDEX organization_memberships_of_user ON organization_memberships (user_id);

-- The key itself is shown once and never stored: secure_value is sha256$<hex> of it.
CREATE TABLE personal_api_keys
(
    id text PRIMARY KEY,
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    label text NOT NULL CHECK (label <> '' AND char_length(label) <= 40),
    secure_value text NOT NULL UNIQUE CHECK (secure_value ~ '^sha256\$[0-9a-f]{64}$'),
    mask_value text NOT NULL,
    -- empty = no access
    scopes text[] NOT NULL,
    -- empty = every project, every organization that its user may see
    scoped_teams integer[] NOT NULL DEFAULT '{}',
    scoped_organizations uuid[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    last_rolled_at timestamptz
);

CREATE INDEX personal_api_keys_of_user ON personal_api_keys (user_id, created_at);

-- Whether a user may have one more personal key. The user's row stays locked until the caller's statement ends, so
-- that concurrent requests cannot exceed the limit together.
CREATE FUNCTION has_key_place(owner_id integer, keys_max integer) RETURNS boolean LANGUAGE plpgsql VOLATILE AS
$$
BEGIN
    PERFORM FROM users WHERE id = owner_id FOR UPDATE;
    RETURN (SELECT count(*) FROM personal_api_keys WHERE user_id = owner_id) < keys_max;
END
$$;

-- One row at most, written together with the first organization: of several processes that start on an empty database
-- at once, one makes the accounts.
CREATE TABLE first_starts
(
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- when a start first served requests and had shown its keys; until then each start makes a new personal key,
    -- since an earlier one that ended before (a taken port, a kill) has shown its key to nobody
    served_at timestamptz,
    personal_api_key_id text
);

-- Every process keeps capture keys in memory, with what capture must know of their projects, and reads them again
-- when notified.
CREATE FUNCTION tell_project_keys() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
    NOTIFY sluice_project_keys;
    RETURN NULL;
END
$$;

CREATE TRIGGER projects_tell_keys
    AFTER INSERT OR DELETE OR UPDATE OF api_token, session_recording_opt_in, cookieless_server_hash_mode, timezone
    ON projects
    FOR EACH STATEMENT EXECUTE FUNCTION tell_project_keys();

-- Every process caches key look-ups for reads for a few seconds, and drops them when notified. Columns that note a
-- key's use are left out: they change nobody's access.
CREATE FUNCTION tell_access() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
    NOTIFY sluice_access;
    RETURN NULL;
END
$$;

CREATE TRIGGER personal_api_keys_tell_access
    AFTER DELETE OR UPDATE OF user_id, secure_value, scopes, scoped_teams, scoped_organizations
    ON personal_api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION tell_access();

CREATE TRIGGER users_tell_access
    AFTER DELETE OR UPDATE OF email, is_active, current_organization_id, current_project_id ON users
    FOR EACH STATEMENT EXECUTE FUNCTION tell_access();

CREATE TRIGGER organization_memberships_tell_access
    AFTER INSERT OR DELETE OR UPDATE ON organization_memberships
    FOR EACH STATEMENT EXECUTE FUNCTION tell_access();

CREATE TRIGGER organizations_tell_access
    AFTER DELETE ON organizations
    FOR EACH STATEMENT EXECUTE FUNCTION tell_access();

CREATE TRIGGER projects_tell_access
    AFTER DELETE OR UPDATE OF organization_id ON projects
    FOR EACH STATEMENT EXECUTE FUNCTION tell_access();
