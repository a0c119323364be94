// Session recordings: listed, and one played with the events beside it.

import { useState } from "preact/hooks";
import { type Route, hrefOf } from "../session/route.ts";
import { useSession } from "../session/session.ts";
import { useList } from "../session/use_loaded.ts";
import { durationText, timeText } from "../ui/format.ts";
import { ListPage } from "../ui/list_page.tsx";
import { Button, ChoiceField, Form, Status, TextField } from "../ui/parts.tsx";
import { OneRecording } from "./one_recording.tsx";
import type { RecordingRow } from "./rows.ts";

export function Recordings({ route }: { route: Route }) {
  const [id] = route.more;
  return id ? <OneRecording key={id} id={id} /> : <RecordingList />;
}

const ranges = [
  ["", "Any time"],
  ["-24h", "24 hours"],
  ["-7d", "7 days"],
  ["-30d", "30 days"],
] as const;

function RecordingList() {
  const { project } = useSession();
  const [range, setRange] = useState("");
  const [distinct_id, setDistinctId] = useState("");
  const list = useList<RecordingRow>("session_recordings/", 30);
  return (
    <ListPage
      title="Recordings"
      {...list}
      id={(row) => row.id}
      empty="No recordings."
      search={
        <>
          {!project.session_recording_opt_in && (
            <p class="notice">
              This project records no sessions. Turn it on under{" "}
              <a href={hrefOf(project.id, "projects")}>Projects</a>.
            </p>
          )}
          <Form send={() => list.show({ date_from: range, distinct_id: distinct_id.trim() })}>
            <ChoiceField label="Began within" value={range} set={setRange} options={ranges} />
            <TextField label="Distinct id" value={distinct_id} set={setDistinctId} />
            <Button type="submit">Show</Button>
          </Form>
        </>
      }
      columns={[
        {
          name: "Began",
          cell: (row) => (
            <>
              <a href={hrefOf(project.id, "recordings", [row.id])}>{timeText(row.start_time)}</a>{" "}
              {row.ongoing && <Status text="live" />}
              {row.viewed && <span class="tag">seen</span>}
            </>
          ),
        },
        { name: "Person", cell: (row) => row.person.name || row.distinct_id },
        { name: "Page", cell: (row) => row.start_url },
        { name: "Length", cell: (row) => durationText(row.recording_duration), number: true },
        { name: "Clicks", cell: (row) => row.click_count, number: true },
        { name: "Errors", cell: (row) => row.console_error_count, number: true },
      ]}
    />
  );
}
