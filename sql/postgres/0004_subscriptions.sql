-- Subscriptions and their deliveries. A delivery is inserted in the transaction that advances next_delivery_date, so
-- that one date has one delivery, whichever process finds it due.

CREATE TABLE subscriptions
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    dashboard_id integer REFERENCES dashboards (id) ON DELETE SET NULL,
    insight_id integer REFERENCES insights (id) ON DELETE SET NULL,
    target_type text NOT NULL CHECK (target_type IN ('email', 'slack', 'webhook')),
    target_value text NOT NULL CHECK (target_value <> ''),
    frequency text NOT NULL CHECK (frequency IN ('daily', 'weekly', 'monthly', 'yearly')),
    "interval" integer NOT NULL DEFAULT 1 CHECK ("interval" >= 1),
    byweekday text[],
    bysetpos integer CHECK (bysetpos <> 0),
    count integer,
    start_date timestamptz NOT NULL,
    until_date timestamptz,
    -- the zone in which start_date's time of day is kept; null = UTC
    timezone text,
    title text CHECK (char_length(title) <= 100),
    invite_message text,
    deleted boolean NOT NULL DEFAULT false,
    created_by integer REFERENCES users (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL,
    -- null = no further delivery
    next_delivery_date timestamptz,
    -- consecutive scheduled deliveries that failed because of the target
    failures smallint NOT NULL DEFAULT 0,
    -- set when these were too many
    disabled_at timestamptz
);

CREATE INDEX subscriptions_in_order ON subscriptions (project_id, id);
CREATE INDEX subscriptions_due ON subscriptions (next_delivery_date)
    WHERE NOT deleted AND disabled_at IS NULL AND next_delivery_date IS NOT NULL;
CREATE INDEX subscriptions_of_insight ON subscriptions (insight_id);
CREATE INDEX subscriptions_of_dashboard ON subscriptions (dashboard_id);
CREATE INDEX subscriptions_created_by ON subscriptions (created_by);

CREATE TABLE subscription_deliveries
(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- by which a receiver recognizes a repeated delivery
    uuid uuid NOT NULL UNIQUE,
    subscription_id integer NOT NULL REFERENCES subscriptions (id) ON DELETE CASCADE,
    due_at timestamptz NOT NULL,
    -- requested by a user, outside the schedule
    test boolean NOT NULL DEFAULT false,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'retrying', 'delivered', 'failed')),
    attempts smallint NOT NULL DEFAULT 0,
    -- null = ended
    next_attempt_at timestamptz,
    -- the claim that works on it, and until when no other process may
    claim uuid,
    claimed_until timestamptz,
    -- what is sent; made once, so that every attempt sends the same
    report jsonb,
    -- recipient → {"state": "sending" | "sent" | "refused", "error": …}; "sending" is written before the send
    recipients jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(recipients) = 'object'),
    error text,
    created_at timestamptz NOT NULL,
    delivered_at timestamptz,
    CHECK ((next_attempt_at IS NULL) = (status IN ('delivered', 'failed')))
);

CREATE UNIQUE INDEX subscription_deliveries_of_date ON subscription_deliveries (subscription_id, due_at) WHERE NOT test;
CREATE INDEX subscription_deliveries_in_order ON subscription_deliveries (subscription_id, id);
CREATE INDEX subscription_deliveries_open ON subscription_deliveries (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
