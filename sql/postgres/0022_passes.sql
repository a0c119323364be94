-- Older servers: go on.
-- Takes: a moment.
-- Passes: work over all projects that one process does at a time, a row each.

ALTER TABLE event_expiry RENAME TO passes;

-- its key and its check go with it
ALTER TABLE passes DROP COLUMN single;

-- The row that is there is that of event retention, the only pass with masked_since.
ALTER TABLE passes ADD COLUMN id text PRIMARY KEY DEFAULT 'event retention';
ALTER TABLE passes ALTER COLUMN id DROP DEFAULT;

INSERT INTO passes (id) VALUES ('deletions of persons'), ('deletions of recordings');

-- Older servers share the lease of event retention, and make the other passes without one, as before.
CREATE VIEW event_expiry AS
SELECT true AS single, owner, leased_until, passed_at, masked_since FROM passes WHERE id = 'event retention';
