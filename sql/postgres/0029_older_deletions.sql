-- Older servers: go on.
-- Takes: a moment.
-- What only servers from before c3da0212 read: their names of tables, and links of recordings.
DROP VIEW IF EXISTS person_deletions, event_expiry;
DROP TABLE session_recording_sharing;
