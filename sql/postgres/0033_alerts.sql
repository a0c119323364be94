-- Older servers: go on.
-- Takes: a moment.
-- Alerts on a figure of an insight, and their checks. What they tell is a delivery of its own, which servers that do not
-- know alerts leave alone: it has no subscription.

CREATE TABLE alerts
(
    id uuid PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    insight_id integer NOT NULL REFERENCES insights (id) ON DELETE CASCADE,
    name text NOT NULL,
    -- members who are told by e-mail
    subscribed_users integer[] NOT NULL,
    -- where else it is told
    target_type text CHECK (target_type IN ('slack', 'webhook')),
    target_value text,
    condition jsonb NOT NULL,
    threshold jsonb NOT NULL,
    config jsonb,
    calculation_interval text NOT NULL CHECK (calculation_interval IN ('hourly', 'daily', 'weekly', 'monthly')),
    skip_weekend boolean NOT NULL,
    enabled boolean NOT NULL,
    -- set = snoozed; cleared by the first check after it
    snoozed_until timestamptz,
    -- whether the last judged figure was beyond the threshold: what is told are changes of this
    firing boolean NOT NULL DEFAULT false,
    -- consecutive checks without a figure
    failures smallint NOT NULL DEFAULT 0,
    -- the figure of the last check that had one
    last_value double precision,
    -- its rights are those of this user, and end with them
    created_by integer REFERENCES users (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL,
    last_checked_at timestamptz,
    last_notified_at timestamptz,
    -- null = now
    next_check_at timestamptz,
    -- the claim that checks it, and until when no other process may
    claim uuid,
    claimed_until timestamptz,
    CHECK ((target_type IS NULL) = (target_value IS NULL))
);
CREATE INDEX alerts_in_order ON alerts (project_id, created_at);
CREATE INDEX alerts_due ON alerts (next_check_at) WHERE enabled;
CREATE INDEX alerts_of_insight ON alerts (insight_id);
CREATE INDEX alerts_created_by ON alerts (created_by);

CREATE TABLE alert_checks
(
    id uuid PRIMARY KEY,
    alert_id uuid NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    -- what was judged: the figure, or its change
    calculated_value double precision,
    value double precision,
    previous_value double precision,
    state text NOT NULL CHECK (state IN ('Firing', 'Not firing', 'Errored', 'Snoozed')),
    error text
);
CREATE INDEX alert_checks_in_order ON alert_checks (alert_id, id);

ALTER TABLE subscription_deliveries ALTER COLUMN subscription_id DROP NOT NULL;
ALTER TABLE subscription_deliveries ADD COLUMN alert_check_id uuid REFERENCES alert_checks (id) ON DELETE CASCADE;
ALTER TABLE subscription_deliveries ADD COLUMN target_type text;
ALTER TABLE subscription_deliveries ADD COLUMN target_value text;
ALTER TABLE subscription_deliveries ADD CHECK ((subscription_id IS NULL) = (alert_check_id IS NOT NULL));
CREATE INDEX subscription_deliveries_of_check ON subscription_deliveries (alert_check_id);
