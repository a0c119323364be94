-- Older servers: go on.
-- Takes: a moment.
-- Who is asked about a definition, the property that tells events of one name apart, what people call a type of groups,
-- and when a dashboard was last read.

ALTER TABLE definition_notes ADD COLUMN owner integer REFERENCES users (id) ON DELETE SET NULL;
ALTER TABLE definition_notes ADD COLUMN primary_property text;
CREATE INDEX definition_notes_owner ON definition_notes (owner);
ALTER TABLE group_types ADD COLUMN name_singular text;
ALTER TABLE group_types ADD COLUMN name_plural text;
ALTER TABLE group_types ADD COLUMN default_columns text[];
ALTER TABLE dashboards ADD COLUMN last_accessed_at timestamptz;
