-- The tables of a new store: what files 0001 to 0038 made, one after the other. A store that some of these files made runs
-- the others instead. The order of columns is theirs, which backups have, and so are the names of indexes and sequences.

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
    cookieless_server_hash_mode smallint NOT NULL DEFAULT 1 CHECK (cookieless_server_hash_mode IN (0, 1)),
    -- property filters in the form in which clients send them: what queries with filterTestAccounts keep
    test_account_filters jsonb NOT NULL DEFAULT '[]',
    -- PostHog's settings that are kept without an effect, by name, those that were set
    settings jsonb NOT NULL DEFAULT '{}',
    -- events of one UTC day by their arrival; null = any number
    daily_event_quota integer CHECK (daily_event_quota >= 1)
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
    created_at timestamptz NOT NULL DEFAULT now(),
    -- argon2id, as the runtime writes it; null: who signs in brings a key
    password_hash text CHECK (password_hash LIKE '$argon2id$%'),
    last_login timestamptz,
    -- whether clients should not tell who the user is
    anonymize_data boolean NOT NULL DEFAULT false
);

CREATE UNIQUE INDEX users_email ON users (lower(email));
CREATE INDEX users_current_organization ON users (current_organization_id);
CREATE INDEX users_current_project ON users (current_project_id);

CREATE TABLE organization_memberships
(
    organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- 0 reader, 1 member, 8 admin, 15 owner
    level smallint NOT NULL DEFAULT 1 CHECK (level IN (0, 1, 8, 15)),
    joined_at timestamptz NOT NULL DEFAULT now(),
    -- null: never
    level_changed_at timestamptz,
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
    last_rolled_at timestamptz,
    -- the key without limits that made this one, or removed its limits; null: a person or the operator did
    issuer_id text,
    -- what the key is for
    description text CHECK (char_length(description) <= 1000)
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
    AFTER INSERT OR DELETE OR UPDATE OF
        api_token, session_recording_opt_in, cookieless_server_hash_mode, timezone, daily_event_quota
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

-- What a key without limits reaches: the organizations that its user had when it was made, and those that it creates. A
-- membership that another person gives later does not widen it. A membership that ends ends its row.
CREATE TABLE key_organizations
(
    personal_api_key_id text NOT NULL REFERENCES personal_api_keys (id) ON DELETE CASCADE,
    organization_id uuid NOT NULL,
    user_id integer NOT NULL,
    PRIMARY KEY (personal_api_key_id, organization_id),
    FOREIGN KEY (organization_id, user_id) REFERENCES organization_memberships (organization_id, user_id)
        ON DELETE CASCADE
);

CREATE INDEX key_organizations_of_membership ON key_organizations (organization_id, user_id);

-- `key_id`: null reaches every organization of its user.
CREATE FUNCTION reaches(key_id text, organization uuid) RETURNS boolean LANGUAGE sql STABLE AS
$$
SELECT key_id IS NULL OR EXISTS (
    SELECT FROM key_organizations r WHERE r.personal_api_key_id = key_id AND r.organization_id = organization)
$$;

CREATE FUNCTION set_key_organizations() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
    IF NEW.issuer_id = NEW.id THEN
        RETURN NULL;
    END IF;
    DELETE FROM key_organizations WHERE personal_api_key_id = NEW.id;
    INSERT INTO key_organizations
    SELECT NEW.id, m.organization_id, m.user_id FROM organization_memberships m
    WHERE m.user_id = NEW.user_id AND reaches(NEW.issuer_id, m.organization_id);
    RETURN NULL;
END
$$;

CREATE TRIGGER personal_api_keys_set_organizations
    AFTER INSERT ON personal_api_keys
    FOR EACH ROW EXECUTE FUNCTION set_key_organizations();

CREATE TRIGGER personal_api_keys_reset_organizations
    AFTER UPDATE OF scoped_teams, scoped_organizations ON personal_api_keys
    FOR EACH ROW
    WHEN (NEW.scoped_teams = '{}' AND NEW.scoped_organizations = '{}'
        AND (OLD.scoped_teams <> '{}' OR OLD.scoped_organizations <> '{}'))
    EXECUTE FUNCTION set_key_organizations();

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
-- reach_key_id: the key that bounds the credential by key_organizations; null for a password's session, and for keys
-- with limits and their sessions.
CREATE VIEW credentials AS
SELECT id, user_id, label, mask_value, secure_value, scopes, scoped_teams, scoped_organizations, created_at, last_used_at,
    last_rolled_at, false AS is_session,
    CASE WHEN scoped_teams = '{}' AND scoped_organizations = '{}' THEN id END AS reach_key_id
FROM personal_api_keys
UNION ALL
SELECT s.id, s.user_id, 'Session in a browser', '', s.secure_value, coalesce(k.scopes, '{*}'),
    coalesce(k.scoped_teams, '{}'), coalesce(k.scoped_organizations, '{}'), s.created_at, s.last_used_at, null, true,
    CASE WHEN k.scoped_teams = '{}' AND k.scoped_organizations = '{}' THEN k.id END
FROM user_sessions s LEFT JOIN personal_api_keys k ON k.id = s.personal_api_key_id
WHERE s.expires_at > now();

-- The link has a token that is never stored: secure_value is sha256$<hex> of it. An accepted invitation is gone.
CREATE TABLE organization_invites
(
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    target_email text NOT NULL CHECK (target_email ~ '^[^\s@]+@[^\s@]+$' AND char_length(target_email) <= 254),
    first_name text NOT NULL DEFAULT '' CHECK (char_length(first_name) <= 30),
    level smallint NOT NULL CHECK (level IN (0, 1, 8, 15)),
    -- an invitation is valid while this user may make it
    created_by_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    secure_value text NOT NULL UNIQUE CHECK (secure_value ~ '^sha256\$[0-9a-f]{64}$'),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL DEFAULT now() + interval '3 days'
);

CREATE UNIQUE INDEX organization_invites_of_address ON organization_invites (organization_id, lower(target_email));

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

-- What each process has accepted of the projects that have a quota; deleted when its day is over.
CREATE TABLE daily_event_counts
(
    day date NOT NULL,
    project_id integer NOT NULL,
    -- a process between its start and its end
    process_id uuid NOT NULL,
    events bigint NOT NULL,
    PRIMARY KEY (day, project_id, process_id)
);

-- What capture keeps in Postgres: the journals of all processes, merges of persons, types of groups, and the salts of
-- cookieless ids.

-- The database's own id. A journal on a disk belongs to one database: its number is unique in that one only, and its
-- events are of that one's projects. The id tells whether a journal and a database belong together.
CREATE TABLE database_identity
(
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    id uuid NOT NULL DEFAULT gen_random_uuid()
);

INSERT INTO database_identity DEFAULT VALUES;

-- One row for each process that captures: how far its events have reached ClickHouse, so that exports know which
-- intervals are complete.
CREATE TABLE journals
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name <> ''),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- every event that arrived before this is stored
    watermark timestamptz,
    -- when the process last published the watermark
    seen_at timestamptz,
    -- made by each start of the process and written beside the journal: it shows when a folder was copied
    holder text,
    -- the last migration of each store that the process knows
    postgres_migration integer,
    clickhouse_migration integer,
    -- host and folder of the process, for log lines
    location text,
    -- every event taken before it is stored; `watermark` says the same of their sessions, too
    stored_watermark timestamptz,
    -- every piece of a recording taken before it is stored
    recordings_watermark timestamptz
);

CREATE INDEX journals_seen ON journals (seen_at);

-- Which distinct ids are one person. Merges are decided here and mirrored to ClickHouse. Ids that were never merged
-- have no row: ingestion looks nothing up.
CREATE TABLE merged_ids
(
    project_id integer NOT NULL,
    distinct_id text COLLATE "C" NOT NULL,
    -- the id that names the person; a main id names itself
    main_id text COLLATE "C" NOT NULL,
    -- of the event that put the id under its main id: timestamp and arrival, in microseconds since 1970
    merged_at bigint NOT NULL,
    created_at bigint NOT NULL,
    -- of the transaction that wrote the row last; rises
    version bigint NOT NULL,
    PRIMARY KEY (project_id, distinct_id)
);

CREATE INDEX merged_ids_of_main ON merged_ids (project_id, main_id);
CREATE INDEX merged_ids_by_version ON merged_ids (version);

CREATE SEQUENCE merge_versions;

-- Types of groups, numbered in the order in which they were first seen.
CREATE TABLE group_types
(
    project_id integer NOT NULL,
    name text COLLATE "C" NOT NULL,
    place smallint NOT NULL CHECK (place BETWEEN 0 AND 4),
    version bigint NOT NULL,
    -- what people call one and several of them, and what a list of them shows
    name_singular text,
    name_plural text,
    default_columns text[],
    PRIMARY KEY (project_id, name),
    UNIQUE (project_id, place)
);

CREATE INDEX group_types_by_version ON group_types (version);

-- Journal segments whose merges were applied, until their journal deletes them: a segment is applied once.
CREATE TABLE merge_segments
(
    name text PRIMARY KEY,
    version bigint NOT NULL
);

-- The secret salts of cookieless ids, one for each calendar day. A salt is deleted when events of its day are not
-- accepted any more: after that nobody can compute these ids again.
CREATE TABLE cookieless_salts
(
    day date PRIMARY KEY,
    salt bytea NOT NULL CHECK (octet_length(salt) = 32)
);

-- Stored batches of events whose sessions could not be derived; any server derives them later from the stored rows.
CREATE TABLE session_backlog
(
    -- the number of a batch, as text: it has 64 bits and no sign
    batch text PRIMARY KEY,
    added_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX session_backlog_added_at ON session_backlog (added_at);

-- Servers of several versions on the same stores: one row for each migration of either store, written before its first
-- statement.
CREATE TABLE migrations_begun
(
    store text NOT NULL CHECK (store IN ('postgres', 'clickhouse')),
    version integer NOT NULL,
    -- the file's name
    name text NOT NULL,
    -- whether servers that do not know it can go on beside it
    older_go_on boolean NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (store, version)
);

-- Insights, dashboards, and the tiles that put insights on dashboards. Deleting marks a row: references stay valid,
-- and it can be restored.

CREATE TABLE insights
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    short_id text NOT NULL CHECK (short_id ~ '^[0-9A-Za-z]{8,12}$'),
    name text CHECK (char_length(name) <= 400),
    -- made from the query each time it is saved
    derived_name text CHECK (char_length(derived_name) <= 400),
    description text DEFAULT '',
    query jsonb NOT NULL CHECK (jsonb_typeof(query) = 'object'),
    tags text[] NOT NULL DEFAULT '{}',
    favorited boolean NOT NULL DEFAULT false,
    deleted boolean NOT NULL DEFAULT false,
    created_by integer REFERENCES users (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    last_modified_at timestamptz NOT NULL DEFAULT now(),
    last_modified_by integer REFERENCES users (id) ON DELETE SET NULL,
    -- as PostHog's insights say of themselves: every insight here is, unless its maker says otherwise
    saved boolean NOT NULL DEFAULT true,
    -- the place in an order of its maker's own
    "order" integer,
    UNIQUE (project_id, short_id)
);

CREATE INDEX insights_in_order ON insights (project_id, id) WHERE NOT deleted;
CREATE INDEX insights_created_by ON insights (created_by);
CREATE INDEX insights_last_modified_by ON insights (last_modified_by);

CREATE TABLE dashboards
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name text CHECK (char_length(name) <= 400),
    description text DEFAULT '',
    pinned boolean NOT NULL DEFAULT false,
    tags text[] NOT NULL DEFAULT '{}',
    deleted boolean NOT NULL DEFAULT false,
    created_by integer REFERENCES users (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    creation_mode text NOT NULL DEFAULT 'default' CHECK (creation_mode IN ('default', 'duplicate')),
    last_accessed_at timestamptz
);

CREATE INDEX dashboards_in_order ON dashboards (project_id, id) WHERE NOT deleted;
CREATE INDEX dashboards_created_by ON dashboards (created_by);

-- Who viewed which insight when.
CREATE TABLE insight_views
(
    insight_id integer NOT NULL REFERENCES insights (id) ON DELETE CASCADE,
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    viewed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, insight_id)
);
CREATE INDEX insight_views_of_insight ON insight_views (insight_id);

-- Tiles that were removed from dashboards, which may come back.
CREATE TABLE removed_dashboard_tiles
(
    id integer PRIMARY KEY,
    dashboard_id integer NOT NULL REFERENCES dashboards (id) ON DELETE CASCADE,
    -- the row of dashboard_tiles
    tile jsonb NOT NULL,
    removed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX removed_dashboard_tiles_of_dashboard ON removed_dashboard_tiles (dashboard_id, removed_at);

-- Notes on a moment of charts. One of the organization's is shown in all of its projects.
CREATE TABLE annotations
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    content text CHECK (char_length(content) <= 400),
    date_marker timestamptz,
    creation_type text NOT NULL CHECK (creation_type IN ('USR', 'GIT')),
    scope text NOT NULL CHECK (scope IN ('dashboard_item', 'dashboard', 'project', 'organization')),
    insight_id integer REFERENCES insights (id) ON DELETE SET NULL,
    dashboard_id integer REFERENCES dashboards (id) ON DELETE SET NULL,
    is_emoji boolean NOT NULL,
    deleted boolean NOT NULL,
    created_by integer REFERENCES users (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX annotations_in_order ON annotations (project_id, date_marker DESC);
CREATE INDEX annotations_of_insight ON annotations (insight_id);
CREATE INDEX annotations_of_dashboard ON annotations (dashboard_id);
CREATE INDEX annotations_created_by ON annotations (created_by);

-- What people say about the names of events and properties. A definition's id is computed from its project and name.
CREATE TABLE definition_notes
(
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id uuid NOT NULL,
    description text,
    tags text[] NOT NULL DEFAULT '{}',
    verified boolean NOT NULL DEFAULT false,
    hidden boolean NOT NULL DEFAULT false,
    updated_at timestamptz NOT NULL DEFAULT now(),
    updated_by integer REFERENCES users (id) ON DELETE SET NULL,
    verified_at timestamptz,
    verified_by integer REFERENCES users (id) ON DELETE SET NULL,
    -- who is asked about it
    owner integer REFERENCES users (id) ON DELETE SET NULL,
    -- tells events of one name apart
    primary_property text,
    PRIMARY KEY (project_id, id)
);
CREATE INDEX definition_notes_updated_by ON definition_notes (updated_by);
CREATE INDEX definition_notes_verified_by ON definition_notes (verified_by);
CREATE INDEX definition_notes_owner ON definition_notes (owner);

CREATE TABLE dashboard_tiles
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dashboard_id integer NOT NULL REFERENCES dashboards (id) ON DELETE CASCADE,
    -- a tile shows an insight or a text
    insight_id integer REFERENCES insights (id) ON DELETE CASCADE,
    -- where it stands, by the width of the window: {"sm": {"x": 0, "y": 0, "w": 6, "h": 5}}; kept, as are color and
    -- show_description, for whoever draws the dashboard
    layouts jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(layouts) = 'object'),
    text_body text CHECK (char_length(text_body) <= 4000),
    text_created_by integer REFERENCES users (id) ON DELETE SET NULL,
    text_modified_by integer REFERENCES users (id) ON DELETE SET NULL,
    text_modified_at timestamptz,
    color text CHECK (char_length(color) <= 400),
    show_description boolean,
    UNIQUE (dashboard_id, insight_id),
    CONSTRAINT dashboard_tiles_shows_one CHECK ((insight_id IS NULL) <> (text_body IS NULL))
);

CREATE INDEX dashboard_tiles_of_insight ON dashboard_tiles (insight_id);
CREATE INDEX dashboard_tiles_text_created_by ON dashboard_tiles (text_created_by) WHERE text_created_by IS NOT NULL;
CREATE INDEX dashboard_tiles_text_modified_by ON dashboard_tiles (text_modified_by) WHERE text_modified_by IS NOT NULL;

-- Subscriptions and their deliveries. A delivery is inserted in the transaction that advances next_delivery_date, so
-- that one date has one delivery, whichever process finds it due.

CREATE TABLE subscriptions
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    dashboard_id integer REFERENCES dashboards (id) ON DELETE SET NULL,
    insight_id integer REFERENCES insights (id) ON DELETE SET NULL,
    target_type text NOT NULL CHECK (target_type IN ('email', 'slack', 'webhook')),
    target_value text NOT NULL CHECK (target_value <> ''),
    frequency text NOT NULL CHECK (frequency IN ('daily', 'weekly', 'monthly', 'yearly')),
    "interval" integer NOT NULL DEFAULT 1 CHECK ("interval" >= 1),
    byweekday text[],
    bysetpos integer CHECK (bysetpos <> 0),
    count integer,
    start_date timestamptz NOT NULL,
    until_date timestamptz,
    -- the zone in which start_date's time of day is kept; null = UTC
    timezone text,
    title text CHECK (char_length(title) <= 100),
    invite_message text,
    deleted boolean NOT NULL DEFAULT false,
    created_by integer REFERENCES users (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL,
    -- null = no further delivery
    next_delivery_date timestamptz,
    -- consecutive scheduled deliveries that failed because of the target
    failures smallint NOT NULL DEFAULT 0,
    -- set when these were too many
    disabled_at timestamptz,
    -- the insights of the dashboard that are sent; all of them where none is named
    dashboard_export_insights integer[] NOT NULL DEFAULT '{}'
);

CREATE INDEX subscriptions_in_order ON subscriptions (project_id, id);
CREATE INDEX subscriptions_due ON subscriptions (next_delivery_date)
    WHERE NOT deleted AND disabled_at IS NULL AND next_delivery_date IS NOT NULL;
CREATE INDEX subscriptions_of_insight ON subscriptions (insight_id);
CREATE INDEX subscriptions_of_dashboard ON subscriptions (dashboard_id);
CREATE INDEX subscriptions_created_by ON subscriptions (created_by);

-- Alerts on a figure of an insight, and their checks.
CREATE TABLE alerts
(
    id uuid PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    insight_id integer NOT NULL REFERENCES insights (id) ON DELETE CASCADE,
    name text NOT NULL,
    -- members who are told by e-mail
    subscribed_users integer[] NOT NULL,
    -- where else it is told
    target_type text CHECK (target_type IN ('slack', 'webhook')),
    target_value text,
    condition jsonb NOT NULL,
    threshold jsonb NOT NULL,
    config jsonb,
    calculation_interval text NOT NULL CHECK (calculation_interval IN ('hourly', 'daily', 'weekly', 'monthly')),
    skip_weekend boolean NOT NULL,
    enabled boolean NOT NULL,
    -- set = snoozed; cleared by the first check after it
    snoozed_until timestamptz,
    -- whether the last judged figure was beyond the threshold: what is told are changes of this
    firing boolean NOT NULL DEFAULT false,
    -- consecutive checks without a figure
    failures smallint NOT NULL DEFAULT 0,
    -- the figure of the last check that had one
    last_value double precision,
    -- its rights are those of this user, and end with them
    created_by integer REFERENCES users (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL,
    last_checked_at timestamptz,
    last_notified_at timestamptz,
    -- null = now
    next_check_at timestamptz,
    -- the claim that checks it, and until when no other process may
    claim uuid,
    claimed_until timestamptz,
    CHECK ((target_type IS NULL) = (target_value IS NULL))
);
CREATE INDEX alerts_in_order ON alerts (project_id, created_at);
CREATE INDEX alerts_due ON alerts (next_check_at) WHERE enabled;
CREATE INDEX alerts_of_insight ON alerts (insight_id);
CREATE INDEX alerts_created_by ON alerts (created_by);

CREATE TABLE alert_checks
(
    id uuid PRIMARY KEY,
    alert_id uuid NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    -- what was judged: the figure, or its change
    calculated_value double precision,
    value double precision,
    previous_value double precision,
    state text NOT NULL CHECK (state IN ('Firing', 'Not firing', 'Errored', 'Snoozed')),
    error text
);
CREATE INDEX alert_checks_in_order ON alert_checks (alert_id, id);

-- What a subscription or the check of an alert sends.
CREATE TABLE subscription_deliveries
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- by which a receiver recognizes a repeated delivery
    uuid uuid NOT NULL UNIQUE,
    subscription_id integer REFERENCES subscriptions (id) ON DELETE CASCADE,
    due_at timestamptz NOT NULL,
    -- requested by a user, outside the schedule
    test boolean NOT NULL DEFAULT false,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'retrying', 'delivered', 'failed')),
    attempts smallint NOT NULL DEFAULT 0,
    -- null = ended
    next_attempt_at timestamptz,
    -- the claim that works on it, and until when no other process may
    claim uuid,
    claimed_until timestamptz,
    -- what is sent; made once, so that every attempt sends the same
    report jsonb,
    -- recipient → {"state": "sending" | "sent" | "refused", "error": …}; "sending" is written before the send
    recipients jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(recipients) = 'object'),
    error text,
    created_at timestamptz NOT NULL,
    delivered_at timestamptz,
    alert_check_id uuid REFERENCES alert_checks (id) ON DELETE CASCADE,
    -- the alert's, at its check
    target_type text,
    target_value text,
    CHECK ((next_attempt_at IS NULL) = (status IN ('delivered', 'failed'))),
    CHECK ((subscription_id IS NULL) = (alert_check_id IS NOT NULL))
);

CREATE UNIQUE INDEX subscription_deliveries_of_date ON subscription_deliveries (subscription_id, due_at) WHERE NOT test;
CREATE INDEX subscription_deliveries_in_order ON subscription_deliveries (subscription_id, id);
CREATE INDEX subscription_deliveries_open ON subscription_deliveries (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX subscription_deliveries_of_check ON subscription_deliveries (alert_check_id);

-- Batch exports: what is exported, where to, and how often; backfills of a range; one run for each interval; log
-- lines of runs.

CREATE TABLE batch_exports
(
    id uuid PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name text NOT NULL CHECK (name <> ''),
    model text NOT NULL DEFAULT 'events' CHECK (model IN ('events', 'persons')),
    "interval" text NOT NULL CHECK ("interval" ~ '^(hour|day|week|every [1-9][0-9]{0,3} minutes)$'),
    paused boolean NOT NULL DEFAULT false,
    last_paused_at timestamptz,
    -- no run begins before the one or ends after the other
    start_at timestamptz,
    end_at timestamptz,
    native_query text,
    filters jsonb,
    destination_type text NOT NULL
        CHECK (destination_type IN ('S3', 'AzureBlob', 'Postgres', 'HTTP', 'File', 'NoOp')),
    -- the part of the destination's configuration that replies show
    destination_config jsonb NOT NULL CHECK (jsonb_typeof(destination_config) = 'object'),
    -- its secrets, encrypted
    destination_secrets bytea NOT NULL,
    created_by integer REFERENCES users (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL,
    last_updated_at timestamptz NOT NULL,
    deleted boolean NOT NULL DEFAULT false,
    -- the end of the last interval that has a scheduled run; before the first one, where scheduling begins
    scheduled_until timestamptz,
    -- whether the names of its files end in a part of its id: another export's, with other rows, would be equal
    own_names boolean NOT NULL DEFAULT false,
    -- days and weeks begin at an hour of a zone's clock, weeks on a day: 0 is Sunday
    timezone text NOT NULL DEFAULT 'UTC',
    offset_day smallint NOT NULL DEFAULT 0 CHECK (offset_day BETWEEN 0 AND 6),
    offset_hour smallint NOT NULL DEFAULT 0 CHECK (offset_hour BETWEEN 0 AND 23),
    -- no interval ends before it that is not scheduled; null = not known since the export was made or changed
    due_at timestamptz
);

CREATE INDEX batch_exports_of_project ON batch_exports (project_id, created_at DESC, id DESC) WHERE NOT deleted;
CREATE INDEX batch_exports_due ON batch_exports (due_at) WHERE NOT deleted AND NOT paused;

CREATE TABLE batch_export_backfills
(
    id uuid PRIMARY KEY,
    batch_export_id uuid NOT NULL REFERENCES batch_exports (id) ON DELETE CASCADE,
    -- as requested
    start_at timestamptz,
    end_at timestamptz,
    -- the range that is run; its start is null until the earliest data is known
    range_start timestamptz,
    range_end timestamptz NOT NULL,
    -- the export's interval when the backfill was requested
    "interval" text NOT NULL,
    -- intervals in the range; null until its start is known
    total_runs integer CHECK (total_runs >= 0),
    -- the end of the last interval that has a run
    scheduled_until timestamptz,
    status text NOT NULL DEFAULT 'Starting' CHECK (status IN (
        'Starting', 'Running', 'Completed', 'Failed', 'FailedRetryable', 'Cancelled', 'TimedOut', 'Terminated',
        'ContinuedAsNew')),
    created_at timestamptz NOT NULL,
    finished_at timestamptz,
    last_updated_at timestamptz NOT NULL,
    -- whether its intervals are ones of events' timestamps; runs that are repeated go by arrival
    by_timestamp boolean NOT NULL DEFAULT false,
    -- the export's when the backfill was requested
    timezone text NOT NULL DEFAULT 'UTC',
    offset_day smallint NOT NULL DEFAULT 0,
    offset_hour smallint NOT NULL DEFAULT 0
);

CREATE INDEX batch_export_backfills_of_export
    ON batch_export_backfills (batch_export_id, created_at DESC, id DESC);
CREATE INDEX batch_export_backfills_open
    ON batch_export_backfills (created_at) WHERE status IN ('Starting', 'Running');

CREATE TABLE batch_export_runs
(
    id uuid PRIMARY KEY,
    batch_export_id uuid NOT NULL REFERENCES batch_exports (id) ON DELETE CASCADE,
    -- null = a scheduled run
    backfill_id uuid REFERENCES batch_export_backfills (id) ON DELETE CASCADE,
    -- null = from the earliest data
    data_interval_start timestamptz,
    data_interval_end timestamptz NOT NULL,
    status text NOT NULL DEFAULT 'Starting' CHECK (status IN (
        'Starting', 'Running', 'Completed', 'Failed', 'FailedRetryable', 'FailedBilling', 'Cancelled',
        'TimedOut', 'Terminated', 'ContinuedAsNew')),
    records_completed bigint,
    records_total_count bigint,
    latest_error text,
    "cursor" text,
    attempts integer NOT NULL DEFAULT 0,
    -- when a worker may claim it
    next_attempt_at timestamptz NOT NULL,
    lease_owner text,
    lease_until timestamptz,
    created_at timestamptz NOT NULL,
    finished_at timestamptz,
    last_updated_at timestamptz NOT NULL,
    -- rows that the destination refused; null of runs from before they were counted
    records_failed bigint,
    -- the files of attempts at the run, recorded before they write: [{place, keys}]; null: none, or removed since
    files jsonb
);

-- One run for each interval of an export's schedule, and for each interval of a backfill.
CREATE UNIQUE INDEX batch_export_runs_scheduled
    ON batch_export_runs (batch_export_id, data_interval_end, coalesce(data_interval_start, '-infinity'))
    WHERE backfill_id IS NULL;
CREATE UNIQUE INDEX batch_export_runs_of_backfill
    ON batch_export_runs (backfill_id, data_interval_end, coalesce(data_interval_start, '-infinity'))
    WHERE backfill_id IS NOT NULL;
CREATE INDEX batch_export_runs_open
    ON batch_export_runs (next_attempt_at) WHERE status IN ('Starting', 'Running', 'FailedRetryable');
CREATE INDEX batch_export_runs_newest ON batch_export_runs (batch_export_id, created_at DESC, id DESC);
CREATE INDEX batch_export_runs_by_interval
    ON batch_export_runs (batch_export_id, data_interval_start DESC NULLS LAST, id DESC);

CREATE TABLE batch_export_logs
(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    batch_export_id uuid NOT NULL REFERENCES batch_exports (id) ON DELETE CASCADE,
    run_id uuid REFERENCES batch_export_runs (id) ON DELETE CASCADE,
    "timestamp" timestamptz NOT NULL,
    level text NOT NULL CHECK (level IN ('DEBUG', 'INFO', 'WARNING', 'ERROR')),
    message text NOT NULL
);

CREATE INDEX batch_export_logs_newest ON batch_export_logs (batch_export_id, "timestamp" DESC, id DESC);
CREATE INDEX batch_export_logs_of_run ON batch_export_logs (run_id, "timestamp" DESC, id DESC);
CREATE INDEX batch_export_logs_by_age ON batch_export_logs ("timestamp");

-- Deletions: of persons, of projects' data, and of events past their retention. A deletion of a person or a project
-- is carried out at once, and again when everything that had arrived by then has left the journals.

CREATE TABLE person_deletion_orders
(
    id bigint GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME person_deletions_id_seq)
        CONSTRAINT person_deletions_pkey PRIMARY KEY,
    project_id integer NOT NULL,
    person_id uuid NOT NULL,
    delete_events boolean NOT NULL,
    -- who requested it; no reference, as the record is kept longer than the user
    user_id integer NOT NULL,
    key_id text NOT NULL,
    -- microseconds since 1970: events that arrived until then are deleted
    ordered_at bigint NOT NULL,
    begun_at timestamptz,
    finished_at timestamptz,
    -- whether recordings are deleted; null: as delete_events says, in orders of older servers
    delete_recordings boolean,
    -- true: only its events or recordings are deleted
    keep_person boolean NOT NULL DEFAULT false
);

CREATE INDEX person_deletions_open ON person_deletion_orders (id) WHERE finished_at IS NULL;
-- For the list of what was done to a person.
CREATE INDEX person_deletion_orders_of_person ON person_deletion_orders (project_id, person_id);

-- The distinct ids of persons that are being deleted, one in a row, as a person may have hundreds of thousands. They
-- are personal data themselves: they are deleted when the deletion is finished, and person_deletion_orders
-- keeps the record.
CREATE TABLE person_deletion_ids
(
    deletion_id bigint NOT NULL REFERENCES person_deletion_orders (id) ON DELETE CASCADE,
    distinct_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (deletion_id, distinct_id)
);

CREATE TABLE project_deletions
(
    project_id integer PRIMARY KEY,
    ordered_at timestamptz NOT NULL DEFAULT now(),
    begun_at timestamptz,
    finished_at timestamptz
);

CREATE FUNCTION note_project_deletion() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
    INSERT INTO project_deletions (project_id) VALUES (OLD.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE TRIGGER projects_note_deletion
    AFTER DELETE ON projects
    FOR EACH ROW EXECUTE FUNCTION note_project_deletion();

-- Passes: work over all projects that one process does at a time, a row each. All moments are by the processes' clocks.
CREATE TABLE passes
(
    -- the process that makes the pass now, and until when others may not
    owner uuid,
    leased_until timestamptz,
    -- when the last complete pass ended
    passed_at timestamptz,
    -- of event retention alone: since when ClickHouse's files may hold rows that are marked as deleted and not removed
    -- yet; null: they hold none
    masked_since timestamptz,
    id text PRIMARY KEY
);

INSERT INTO passes (id) VALUES ('event retention'), ('deletions of persons'), ('deletions of recordings');

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

-- What users did with session recordings: views and deletions. The recordings themselves are in ClickHouse. A
-- recording's id is its session's, any text of up to 200 characters.

CREATE TABLE session_recording_views
(
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    session_id text NOT NULL CHECK (char_length(session_id) <= 200),
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    viewed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, session_id, user_id)
);

CREATE INDEX session_recording_views_of_user ON session_recording_views (user_id);

-- Deleted recordings, and how far each deletion has come. Rows are kept for ever: data of a deleted session that
-- arrives later is neither shown nor kept.
CREATE TABLE session_recording_deletions
(
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    session_id text NOT NULL CHECK (char_length(session_id) <= 200),
    deleted_by integer REFERENCES users (id) ON DELETE SET NULL,
    deleted_at timestamptz NOT NULL,
    -- since when no query of ClickHouse finds it
    hidden_at timestamptz,
    -- when data that arrived late was last looked for
    checked_at timestamptz,
    -- when its bytes were gone from ClickHouse's active parts; parts that were merged stay on disk some minutes
    -- longer
    removed_at timestamptz,
    PRIMARY KEY (project_id, session_id)
);

CREATE INDEX session_recording_deletions_left ON session_recording_deletions (deleted_at) WHERE removed_at IS NULL;
CREATE INDEX session_recording_deletions_in_order ON session_recording_deletions (deleted_at);
CREATE INDEX session_recording_deletions_of_user ON session_recording_deletions (deleted_by);

-- Links that show a recording, an insight or a dashboard to whoever has their token: one table for all kinds.

CREATE TABLE sharing_configurations
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('recording', 'insight', 'dashboard')),
    -- a session's id, or the number of an insight or a dashboard
    target text NOT NULL CHECK (char_length(target) <= 200),
    enabled boolean NOT NULL DEFAULT false,
    -- by which a token is found: sha256$<hex>
    token_hash text NOT NULL UNIQUE,
    -- the token, encrypted with SECRET_KEY, because replies show it
    token_sealed bytea,
    -- of links from before tokens were sealed, until they are shown again
    token_plain text,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- properties that SQL's results show, which were confirmed by name
    shown_properties text[] NOT NULL DEFAULT '{}',
    password_required boolean NOT NULL DEFAULT false,
    expires_at timestamptz,
    UNIQUE (project_id, kind, target)
);

-- Links that ask for a password or end have "guarded " before their token's hash, whoever writes it: servers of c3da0212
-- know neither.
CREATE FUNCTION guard_link() RETURNS trigger LANGUAGE plpgsql AS
$$
BEGIN
    NEW.token_hash := CASE WHEN NEW.password_required OR NEW.expires_at IS NOT NULL THEN 'guarded ' ELSE '' END
        || replace(NEW.token_hash, 'guarded ', '');
    RETURN NEW;
END
$$;

CREATE TRIGGER sharing_configurations_guard
    BEFORE INSERT OR UPDATE ON sharing_configurations
    FOR EACH ROW EXECUTE FUNCTION guard_link();

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

-- The last results of insights and dashboards that have a link.
CREATE TABLE shared_results
(
    sharing_id integer PRIMARY KEY REFERENCES sharing_configurations (id) ON DELETE CASCADE,
    -- JSON text
    result text,
    computed_at timestamptz,
    -- until when one process computes them
    claimed_until timestamptz,
    -- insights that the results leave out, with the reasons, as the model NotShown has them
    not_shown jsonb NOT NULL DEFAULT '[]',
    -- computed_at where this version stored them: an older server leaves it, and writes reasons that are for members only
    marked_at timestamptz
);
