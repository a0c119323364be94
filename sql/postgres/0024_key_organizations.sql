-- Older servers: go on.
-- Takes: a moment.
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

-- Keys that exist keep what their users have now.
INSERT INTO key_organizations
SELECT k.id, m.organization_id, m.user_id FROM personal_api_keys k JOIN organization_memberships m USING (user_id);

-- The key without limits that made this one, or removed its limits; null: a person or the operator did.
ALTER TABLE personal_api_keys ADD COLUMN issuer_id text;

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

-- reach_key_id: the key that bounds the credential by key_organizations; null for a password's session, and for keys
-- with limits and their sessions.
CREATE OR REPLACE VIEW credentials AS
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
