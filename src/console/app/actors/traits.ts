// Countries and devices of persons, by their newest events, and which of them have recordings.

import { countryName, findCountry } from "../overview/countries.ts";
import type { Api } from "../session/api.ts";

type Row = [id: string, device: string | null, country: string | null, zone: string | null];

/** @param ofThem a condition on distinct ids. */
const writeTraits = (
  ofThem: string,
) => `select person_id, argMax(properties.$device_type, timestamp) as device,
  argMax(properties.$geoip_country_code, timestamp) as country, argMax(properties.$timezone, timestamp) as zone
from events where timestamp >= {from} and timestamp <= {to} and ${ofThem}
group by person_id limit ${personsMax}`;
const writeRecorded = (ofThem: string) =>
  `select distinct pdi.person_id from session_recordings where ${ofThem} limit ${personsMax}`;
const [dayMs, personsMax] = [86_400_000, 100];

function nameCountry(country: string | null, zone: string | null): string {
  const code = country || findCountry(zone ?? "");
  return code ? countryName(code) : "";
}

export type Traits = Awaited<ReturnType<typeof readTraits>>;

/** @param persons of an answer, with their uuids. */
export async function readTraits(
  { ask }: Pick<Api, "ask">,
  signal: AbortSignal,
  persons: readonly { id: string; last_seen_at: string | null }[],
  seesRecordings: boolean,
) {
  const seen = persons.flatMap(({ last_seen_at: last }) => (last ? [Date.parse(last)] : []));
  if (seen.length === 0) return undefined;
  const ids = persons.map(({ id }) => `toUUID('${id}')`).join();
  const ofThem = `distinct_id in (select distinct_id from person_distinct_ids where person_id in (${ids}))`;
  const select = async <Found>(query: string, values: object) =>
    (await ask<{ results: Found[] }>({ kind: "HogQLQuery", query, values }, signal)).results;
  const days = [Math.min(...seen) - dayMs, Math.max(...seen) + 1];
  const [from, to] = days.map((ms) => new Date(ms).toISOString());
  const [rows, recorded] = await Promise.all([
    select<Row>(writeTraits(ofThem), { from, to }),
    seesRecordings ? select<[string]>(writeRecorded(ofThem), {}) : [],
  ]);
  return {
    devices: new Map(rows.map(([id, device]) => [id, device])),
    countries: new Map(rows.map(([id, , country, zone]) => [id, nameCountry(country, zone)])),
    recorded: new Set(recorded.flat()),
  };
}
