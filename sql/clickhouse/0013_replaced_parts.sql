-- Older servers: go on.
-- Parts that a merge has replaced stay for 90 s, not for 480: an import writes parts many times over, and with those of
-- eight minutes took four times the disk that it ends with. They stay at all because on a full disk the embedded engine
-- takes a failed write of a merge for one that succeeded, which is looked for every ten seconds; what was merged is
-- synced before.
ALTER TABLE event_rows MODIFY SETTING old_parts_lifetime = 90;
ALTER TABLE session_facts MODIFY SETTING old_parts_lifetime = 90;
ALTER TABLE seen MODIFY SETTING old_parts_lifetime = 90;
ALTER TABLE person_props MODIFY SETTING old_parts_lifetime = 90;
ALTER TABLE snapshot_chunks MODIFY SETTING old_parts_lifetime = 90;
