-- Every process lets reads in by what it found a moment ago, and asks again when told that who may do what has
-- changed. What is noted of a key's use changes nothing of that.

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
