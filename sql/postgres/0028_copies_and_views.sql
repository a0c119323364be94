-- Older servers: go on.
-- Takes: a moment.
-- How a dashboard was made; and the insights of a dashboard that a subscription sends, all of them where none is named,
-- as servers do that do not know the column; and who viewed which insight when.

ALTER TABLE dashboards
    ADD COLUMN creation_mode text NOT NULL DEFAULT 'default' CHECK (creation_mode IN ('default', 'duplicate'));
ALTER TABLE subscriptions ADD COLUMN dashboard_export_insights integer[] NOT NULL DEFAULT '{}';

CREATE TABLE insight_views
(
    insight_id integer NOT NULL REFERENCES insights (id) ON DELETE CASCADE,
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    viewed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, insight_id)
);
CREATE INDEX insight_views_of_insight ON insight_views (insight_id);
