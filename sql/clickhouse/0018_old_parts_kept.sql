-- The embedded engine removes the parts a merge replaces at once unless told otherwise; when the disk was full, the part
-- that replaces them is cut. These tables were not told.
ALTER TABLE schema_migrations MODIFY SETTING min_rows_to_fsync_after_merge = 1, old_parts_lifetime = 480;

ALTER TABLE exported_person_rows MODIFY SETTING old_parts_lifetime = 480;

ALTER TABLE deleting_ids MODIFY SETTING old_parts_lifetime = 480;
