-- Accounts: who may do what. Organizations own projects, users belong to organizations, personal keys act for
-- users.

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

-- A project's id is the team_id of other replies. Its api_token is public by nature (it is in every web page
-- that captures) and therefore rests in plain text.
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
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX projects_of_organization ON projects (organization_id, id);

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
    -- none = no access
    scopes text[] NOT NULL,
    -- none = every project, every organization its user may see
    scoped_teams integer[] NOT NULL DEFAULT '{}',
    scoped_organizations uuid[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    last_rolled_at timestamptz
);

CREATE INDEX personal_api_keys_of_user ON personal_api_keys (user_id, created_at);

-- One row at most, written together with the first organization: of several processes that start on an empty
-- database at once, one wins.
CREATE TABLE first_starts
(
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Every process keeps the capture keys in memory and reads them again when told.
CREATE FUNCTION tell_project_keys() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
    NOTIFY sluice_project_keys;
    RETURN NULL;
END
$$;

CREATE TRIGGER projects_tell_keys
    AFTER INSERT OR DELETE OR UPDATE OF api_token ON projects
    FOR EACH STATEMENT EXECUTE FUNCTION tell_project_keys();
