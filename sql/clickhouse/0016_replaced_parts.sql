-- Older servers: go on.
-- Takes: a moment.
-- Parts that a merge has replaced stay for 45 s, not for 90, so that a long import needs half as much disk beside what
-- it ends with. A failed write of a merge is found within ten seconds (0013).
ALTER TABLE event_rows MODIFY SETTING old_parts_lifetime = 45;
ALTER TABLE session_facts MODIFY SETTING old_parts_lifetime = 45;
ALTER TABLE seen MODIFY SETTING old_parts_lifetime = 45;
ALTER TABLE person_props MODIFY SETTING old_parts_lifetime = 45;
ALTER TABLE snapshot_chunks MODIFY SETTING old_parts_lifetime = 45;
