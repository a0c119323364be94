-- Older servers: go on.
-- Settings of projects: who counts as a test account, and settings of PostHog's that are kept without an effect.

ALTER TABLE projects
    -- property filters in the form in which clients send them: what queries with filterTestAccounts keep
    ADD COLUMN test_account_filters jsonb NOT NULL DEFAULT '[]',
    -- by name, those that were set
    ADD COLUMN settings jsonb NOT NULL DEFAULT '{}';
