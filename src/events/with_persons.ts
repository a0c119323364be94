// Adds to each event of a page its person. Events stay as the store wrote them: they are split, not parsed.

import { JsonCursor, pastValue } from "../core/json/json_cursor.ts";
import { personText } from "../persons/model.ts";
import type { Person } from "../persons/reading/fold.ts";
import { findPersonsOfPage } from "../persons/reading/page.ts";
import type { ProjectReads } from "../storage/clickhouse/query_options.ts";
import { primed, slices } from "../work/slices.ts";
import { eventLimits } from "./limits.ts";

/**
 * Adds a member `person` to each row: null where an event belongs to none. The first persons are read before this
 * resolves.
 * @param rows JSON objects in whole chunks, each object with a comma before it.
 */
export async function withPersons(
  reads: ProjectReads,
  rows: AsyncGenerator<Uint8Array, void>,
): Promise<AsyncGenerator<Uint8Array, void>> {
  return await primed(joined(reads, rows));
}

async function* joined(
  reads: ProjectReads,
  chunks: AsyncGenerator<Uint8Array, void>,
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of chunks) {
    for await (const some of slices(rowsIn(chunk), eventLimits.personsAtOnceMax)) {
      const ids = some.map(distinctIdOf);
      const persons = await findPersonsOfPage(reads, [...new Set(ids)]);
      yield Buffer.concat(
        some.flatMap((row, i) => [row.subarray(0, -1), Buffer.from(personMember(persons.get(ids[i]!)))]),
      );
    }
  }
}

function rowsIn(chunk: Uint8Array): Buffer[] {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
  const rows: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = pastValue(bytes, at + 1);
    rows.push(bytes.subarray(at, end));
    at = end;
  }
  return rows;
}

/** @param row with its comma. */
function distinctIdOf(row: Buffer): string {
  const members = new JsonCursor(row, 1);
  while (members.next()) {
    if (row.toString("utf8", members.key, members.keyEnd) !== "distinct_id") continue;
    return JSON.parse(row.toString("utf8", members.value, members.end)) as string;
  }
  throw new Error("an event has no distinct_id");
}

function personMember(person: Person | undefined): string {
  return `,"person":${person ? personText(person) : "null"}}`;
}
