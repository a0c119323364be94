-- Older servers: go on.
-- Takes: a moment.
-- Results of links that this version stored have their computed_at here, too. An older server beside it replaces results
-- and leaves this: it writes reasons into them that are for members only.

ALTER TABLE shared_results ADD COLUMN marked_at timestamptz;
