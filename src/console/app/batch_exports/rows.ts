// Exports and runs as the API shows them.

export interface RunRow {
  id: string;
  status: string;
  records_completed: number | null;
  latest_error: string | null;
  data_interval_start: string | null;
  data_interval_end: string;
  created_at: string;
  finished_at: string | null;
}

export interface ExportRow {
  id: string;
  name: string;
  model: string | null;
  destination: { type: string; config: Record<string, unknown> };
  interval: string;
  paused: boolean;
  latest_runs: RunRow[];
}
