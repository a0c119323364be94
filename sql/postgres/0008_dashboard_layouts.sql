-- Where a dashboard's tiles stand, by the width of the window: {"sm": {"x": 0, "y": 0, "w": 6, "h": 5}}. The server keeps
-- it for whoever draws the dashboard.

ALTER TABLE dashboard_tiles ADD COLUMN layouts jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(layouts) = 'object');
