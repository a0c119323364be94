-- Older servers: go on.
-- When a member's level was last changed, for replies.

ALTER TABLE organization_memberships
    -- null: never
    ADD COLUMN level_changed_at timestamptz;
