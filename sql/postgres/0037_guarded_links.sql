-- Older servers: go on.
-- Takes: a moment.
-- Links that ask for a password or end have "guarded " before their token's hash, whoever writes it: older servers know
-- neither, and would open a link whose token they replaced. Results are computed anew, since those stored have reasons
-- that are for members only.

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

-- Those that an older server opened.
UPDATE sharing_configurations SET token_hash = token_hash WHERE password_required OR expires_at IS NOT NULL;

-- Insights that the results leave out, with the reasons, as the model NotShown has them.
ALTER TABLE shared_results ADD COLUMN not_shown jsonb NOT NULL DEFAULT '[]';
DELETE FROM shared_results;
