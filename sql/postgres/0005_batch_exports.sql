-- Batch exports: what is exported, where to, and how often; backfills of a range; one run for each interval; log
-- lines of runs.

CREATE TABLE batch_exports
(
    id uuid PRIMARY KEY,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name text NOT NULL CHECK (name <> ''),
    model text NOT NULL DEFAULT 'events' CHECK (model IN ('events', 'persons')),
    "interval" text NOT NULL CHECK ("interval" ~ '^(hour|day|week|every [1-9][0-9]{0,3} minutes)$'),
    paused boolean NOT NULL DEFAULT false,
    last_paused_at timestamptz,
    -- no run begins before the one or ends after the other
    start_at timestamptz,
    end_at timestamptz,
    native_query text,
    filters jsonb,
    destination_type text NOT NULL
        CHECK (destination_type IN ('S3', 'AzureBlob', 'Postgres', 'HTTP', 'File', 'NoOp')),
    -- the part of the destination's configuration that replies show
    destination_config jsonb NOT NULL CHECK (jsonb_typeof(destination_config) = 'object'),
    -- its secrets, encrypted
    destination_secrets bytea NOT NULL,
    created_by integer REFERENCES users (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL,
    last_updated_at timestamptz NOT NULL,
    deleted boolean NOT NULL DEFAULT false,
    -- the end of the last interval that has a scheduled run; before the first one, where scheduling begins
    scheduled_until timestamptz
);

CREATE INDEX batch_exports_of_project ON batch_exports (project_id, created_at DESC, id DESC) WHERE NOT deleted;
CREATE INDEX batch_exports_to_schedule ON batch_exports (scheduled_until) WHERE NOT deleted AND NOT paused;

CREATE TABLE batch_export_backfills
(
    id uuid PRIMARY KEY,
    batch_export_id uuid NOT NULL REFERENCES batch_exports (id) ON DELETE CASCADE,
    -- as requested
    start_at timestamptz,
    end_at timestamptz,
    -- the range that is run; its start is null until the earliest data is known
    range_start timestamptz,
    range_end timestamptz NOT NULL,
    -- the export's interval when the backfill was requested
    "interval" text NOT NULL,
    -- intervals in the range; null until its start is known
    total_runs integer CHECK (total_runs >= 0),
    -- the end of the last interval that has a run
    scheduled_until timestamptz,
    status text NOT NULL DEFAULT 'Starting' CHECK (status IN (
        'Starting', 'Running', 'Completed', 'Failed', 'FailedRetryable', 'Cancelled', 'TimedOut', 'Terminated',
        'ContinuedAsNew')),
    created_at timestamptz NOT NULL,
    finished_at timestamptz,
    last_updated_at timestamptz NOT NULL
);

CREATE INDEX batch_export_backfills_of_export
    ON batch_export_backfills (batch_export_id, created_at DESC, id DESC);
CREATE INDEX batch_export_backfills_open
    ON batch_export_backfills (created_at) WHERE status IN ('Starting', 'Running');

CREATE TABLE batch_export_runs
(
    id uuid PRIMARY KEY,
    batch_export_id uuid NOT NULL REFERENCES batch_exports (id) ON DELETE CASCADE,
    -- null = a scheduled run
    backfill_id uuid REFERENCES batch_export_backfills (id) ON DELETE CASCADE,
    -- null = from the earliest data
    data_interval_start timestamptz,
    data_interval_end timestamptz NOT NULL,
    status text NOT NULL DEFAULT 'Starting' CHECK (status IN (
        'Starting', 'Running', 'Completed', 'Failed', 'FailedRetryable', 'FailedBilling', 'Cancelled',
        'TimedOut', 'Terminated', 'ContinuedAsNew')),
    records_completed bigint,
    records_total_count bigint,
    latest_error text,
    "cursor" text,
    attempts integer NOT NULL DEFAULT 0,
    -- when a worker may claim it
    next_attempt_at timestamptz NOT NULL,
    lease_owner text,
    lease_until timestamptz,
    created_at timestamptz NOT NULL,
    finished_at timestamptz,
    last_updated_at timestamptz NOT NULL
);

-- One run for each interval of an export's schedule, and for each interval of a backfill.
CREATE UNIQUE INDEX batch_export_runs_scheduled
    ON batch_export_runs (batch_export_id, data_interval_end, coalesce(data_interval_start, '-infinity'))
    WHERE backfill_id IS NULL;
CREATE UNIQUE INDEX batch_export_runs_of_backfill
    ON batch_export_runs (backfill_id, data_interval_end, coalesce(data_interval_start, '-infinity'))
    WHERE backfill_id IS NOT NULL;
CREATE INDEX batch_export_runs_open
    ON batch_export_runs (next_attempt_at) WHERE status IN ('Starting', 'Running', 'FailedRetryable');
CREATE INDEX batch_export_runs_newest ON batch_export_runs (batch_export_id, created_at DESC, id DESC);
CREATE INDEX batch_export_runs_by_interval
    ON batch_export_runs (batch_export_id, data_interval_start DESC NULLS LAST, id DESC);

CREATE TABLE batch_export_logs
(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    batch_export_id uuid NOT NULL REFERENCES batch_exports (id) ON DELETE CASCADE,
    run_id uuid REFERENCES batch_export_runs (id) ON DELETE CASCADE,
    "timestamp" timestamptz NOT NULL,
    level text NOT NULL CHECK (level IN ('DEBUG', 'INFO', 'WARNING', 'ERROR')),
    message text NOT NULL
);

CREATE INDEX batch_export_logs_newest ON batch_export_logs (batch_export_id, "timestamp" DESC, id DESC);
CREATE INDEX batch_export_logs_of_run ON batch_export_logs (run_id, "timestamp" DESC, id DESC);
CREATE INDEX batch_export_logs_by_age ON batch_export_logs ("timestamp");
