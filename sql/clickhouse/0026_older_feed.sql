-- Older servers: go on.
-- Takes: a moment.
-- Only servers from before c3da0212 derived sessions from this feed.
DROP TABLE IF EXISTS session_facts_of_feed SYNC;

DROP TABLE IF EXISTS session_feed SYNC;
