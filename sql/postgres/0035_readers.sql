-- Older servers: go on.
-- Takes: a moment.
-- Readers: a level below members. Servers that do not know it take a reader for a member, never for more.

ALTER TABLE organization_memberships
    DROP CONSTRAINT organization_memberships_level_check,
    ADD CONSTRAINT organization_memberships_level_check CHECK (level IN (0, 1, 8, 15));
ALTER TABLE organization_invites
    DROP CONSTRAINT organization_invites_level_check,
    ADD CONSTRAINT organization_invites_level_check CHECK (level IN (0, 1, 8, 15));
