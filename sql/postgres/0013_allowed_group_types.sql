-- The types of groups that a project takes; null takes any, the first five that come. Capture knows them within seconds.
ALTER TABLE projects ADD COLUMN allowed_group_types text[]
    CHECK (array_position(allowed_group_types, NULL) IS NULL AND cardinality(allowed_group_types) <= 5);
