-- What session_facts has taken over.
DROP TABLE IF EXISTS session_rows;
