// One export: its settings, what it did last, and what can be done with it.

import { fieldTime } from "../clock.ts";
import type { ListReply } from "../session/api.ts";
import { useAllowed } from "../session/session.ts";
import { type Action, useAction, useGet, usePolling } from "../session/use_loaded.ts";
import { numberText, timeText } from "../ui/format.ts";
import { FormCard, RemoveButton } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { LoadedTable } from "../ui/list_page.tsx";
import { Button, Card, Outcome, PageHead, PageWhenLoaded, Status } from "../ui/parts.tsx";
import { Facts, Table } from "../ui/table.tsx";
import { Tree } from "../ui/tree.tsx";

/** Fields as the API shows them. */
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
  timezone: string;
  offset_day: number | null;
  offset_hour: number | null;
  paused: boolean;
  latest_runs: RunRow[];
}

function beginText({ timezone, offset_day: day, offset_hour: hour }: ExportRow): string | undefined {
  if (hour === null) return undefined;
  const weekday =
    day === null ? "" : `${["Sun", "Mon", "Tues", "Wednes", "Thurs", "Fri", "Satur"][day]}day, `;
  return `${weekday}${hour}:00 ${timezone}`;
}

interface PartProps {
  path: string;
  action: Action;
  /** Reads everything again after a change. */
  changed: () => void;
}

export function OneExport({ id }: { id: string }) {
  const path = `batch_exports/${encodeURIComponent(id)}`;
  const loaded = useGet<ExportRow>(`${path}/`);
  const action = useAction();
  const mayWrite = useAllowed("batch_export:write");
  const part = { path, action, changed: loaded.reload };
  return (
    <PageWhenLoaded loaded={loaded} title="Export">
      {(row) => (
        <>
          <PageHead title={row.name}>
            <Status text={row.paused ? "paused" : "running"} />
            {mayWrite && <ExportActions {...part} row={row} />}
          </PageHead>
          <Outcome action={action} />
          <div class="cards">
            <Card title="Settings">
              <Facts
                of={[
                  ["What", row.model ?? "events"],
                  ["To", row.destination.type],
                  ["Every", row.interval],
                  ["Begins", beginText(row)],
                ]}
              />
              <Tree name="destination" value={row.destination.config} />
            </Card>
            {mayWrite && <BackfillForm {...part} />}
            <Card title="Runs" wide>
              <Runs {...part} runs={row.latest_runs} mayWrite={mayWrite} />
            </Card>
            <Backfills {...part} seen={row} />
            <Logs path={path} seen={row} />
          </div>
        </>
      )}
    </PageWhenLoaded>
  );
}

function ExportActions({ path, action, changed, row }: PartProps & { row: ExportRow }) {
  // The newest run may belong to a backfill, with an old interval.
  const ends = row.latest_runs.map((run) => run.data_interval_end).toSorted();
  const last = ends.at(-1) ?? null;
  const pause = () =>
    row.paused
      ? action.send("POST", `${path}/unpause/`, {}, "The export is running again.", changed)
      : action.send("POST", `${path}/pause/`, {}, "The export is paused.", changed);
  const begun =
    last === null
      ? "A backfill of everything has begun."
      : `A backfill has begun: everything since ${timeText(last)}.`;
  const since = { start_at: last, end_at: null };
  const runNow = () => action.send("POST", `${path}/backfills/`, since, begun, changed);
  return (
    <>
      <Button disabled={action.running} onClick={pause}>
        {row.paused ? "Resume" : "Pause"}
      </Button>
      <Button disabled={action.running} onClick={runNow}>
        Run now
      </Button>
      <Button onClick={changed}>Refresh</Button>
      <RemoveButton path={`${path}/`} sure="Delete this export?" action={action} back="exports" />
    </>
  );
}

const dayMs = 86_400_000;

function BackfillForm({ path, changed }: PartProps) {
  const midnight = (ms: number) => `${fieldTime(ms).slice(0, 11)}00:00`;
  const { fields, text } = useFields({ from: midnight(-dayMs), to: midnight(0) });
  const iso = (field: string) => (field === "" ? null : new Date(field).toISOString());
  const range = () => ({ start_at: iso(fields.from), end_at: iso(fields.to) });
  const start = (send: Action["send"]) =>
    send("POST", `${path}/backfills/`, range, "The backfill has begun.", changed);
  return (
    <FormCard title="Backfill" send={start} button="Start backfill">
      {text("from", "From", { type: "datetime-local", hint: "By the events' own time. Empty: the first." })}
      {text("to", "To", { type: "datetime-local", hint: "Empty: now." })}
    </FormCard>
  );
}

/** Whether a run or a backfill has not ended. */
function isOpen({ status }: { status: string }): boolean {
  return ["Starting", "Running", "FailedRetryable"].includes(status);
}

function Runs({ path, action, changed, runs, mayWrite }: PartProps & { runs: RunRow[]; mayWrite: boolean }) {
  const done = { retry: "The run has begun again.", cancel: "The run is cancelled." };
  const act = (run: RunRow, verb: "retry" | "cancel") =>
    action.send("POST", `${path}/runs/${run.id}/${verb}/`, {}, done[verb], changed);
  return (
    <Table
      caption="The newest runs"
      rows={runs}
      empty="No runs yet."
      columns={({ column, numberColumn, fixedColumn }) => [
        column("State", (run) => <Status text={run.status} />),
        fixedColumn("From", (run) => timeText(run.data_interval_start) || "the beginning"),
        fixedColumn("To", (run) => timeText(run.data_interval_end)),
        numberColumn("Records", (run) => numberText(run.records_completed ?? 0)),
        column("Error", (run) => run.latest_error ?? ""),
        column(
          "What to do",
          (run) =>
            mayWrite && (
              <Button disabled={action.running} onClick={() => act(run, isOpen(run) ? "cancel" : "retry")}>
                {isOpen(run) ? "Cancel" : "Run again"}
              </Button>
            ),
        ),
      ]}
    />
  );
}

interface BackfillRow {
  status: string;
  start_at: string | null;
  end_at: string | null;
  progress: { total_runs: number | null; finished_runs: number };
}

function Backfills({ path, changed, seen }: PartProps & { seen: ExportRow }) {
  const loaded = useGet<ListReply<BackfillRow>>(`${path}/backfills/`, { limit: 20 }, seen);
  // When a backfill begins it has no run yet.
  usePolling([...seen.latest_runs, ...(loaded.value?.results ?? [])].some(isOpen), loaded.value, changed);
  return (
    <Card title="Backfills" wide>
      <LoadedTable
        loaded={loaded}
        caption="Backfills"
        empty="No backfills yet."
        columns={({ column, numberColumn, fixedColumn }) => [
          column("State", (row) => <Status text={row.status} />),
          fixedColumn("From", (row) => timeText(row.start_at) || "the beginning"),
          fixedColumn("To", (row) => timeText(row.end_at) || "now"),
          numberColumn(
            "Runs",
            ({ progress }) => `${progress.finished_runs} of ${progress.total_runs ?? "?"}`,
          ),
        ]}
      />
    </Card>
  );
}

function Logs({ path, seen }: { path: string; seen: ExportRow }) {
  const loaded = useGet<ListReply<{ timestamp: string; level: string; message: string }>>(
    `${path}/logs/`,
    { limit: 50 },
    seen,
  );
  return (
    <Card title="Log" wide>
      <LoadedTable
        loaded={loaded}
        caption="Lines of the log, newest first"
        empty="No lines yet."
        columns={({ column, fixedColumn }) => [
          fixedColumn("When", (row) => timeText(row.timestamp)),
          column("Level", (row) => row.level),
          column("Line", (row) => row.message),
        ]}
      />
    </Card>
  );
}
