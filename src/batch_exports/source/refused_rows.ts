// Rows of a run that the destination refused: counted, and named in the run's log without their values.

import { reasonOf } from "../../core/log.ts";
import { ExportError } from "../failure.ts";
import { exportLimits } from "../limits.ts";

export class RefusedRows {
  count = 0;
  /** By the reason, with the column where it is known. */
  readonly #uuids = new Map<string, string[]>();
  #first: unknown;

  /** @throws ExportError when there are too many. */
  add(uuid: string, reason: string, thrown: unknown): void {
    if (this.count++ === 0) this.#first = thrown;
    if (this.count > exportLimits.refusedRowsMax) {
      const detail = `The destination refused more than ${exportLimits.refusedRowsMax} rows, the last one`;
      throw new ExportError(`${detail} because of ${reason}`, true);
    }
    const uuids = this.#uuids.get(reason) ?? [];
    this.#uuids.set(reason, [...uuids, uuid.slice(0, uuidChars)]);
  }

  /** @throws ExportError the first refusal, when no row was accepted: then the destination is wrong, not a row. */
  check(accepted: number): void {
    if (accepted === 0 && this.count > 0) throw new ExportError(reasonOf(this.#first), true);
  }

  /** Lines for the run's log. */
  lines(): string[] {
    return [...this.#uuids].flatMap(([reason, uuids]) =>
      Array.from({ length: Math.ceil(uuids.length / uuidsPerLine) }, (_, i) => {
        const named = uuids.slice(i * uuidsPerLine, (i + 1) * uuidsPerLine);
        return `Refused because of ${reason}: ${named.join(", ")}`;
      }),
    );
  }
}

const uuidChars = 36;
/** As many as fit in a line of the log. */
const uuidsPerLine = 40;

/**
 * Sends rows together. Those that are refused are halved until a row is refused by itself: each refused row takes up to
 * two tries for every halving.
 * @returns how many were accepted.
 */
export async function sendHalving<Row>(
  rows: readonly Row[],
  send: (rows: readonly Row[]) => Promise<void>,
  refuse: (thrown: unknown, row: Row | undefined) => void,
): Promise<number> {
  try {
    await send(rows);
    return rows.length;
  } catch (thrown) {
    const [row] = rows;
    refuse(thrown, rows.length === 1 ? row : undefined);
    if (rows.length === 1) return 0;
    const half = Math.ceil(rows.length / 2);
    const accepted = await sendHalving(rows.slice(0, half), send, refuse);
    return accepted + (await sendHalving(rows.slice(half), send, refuse));
  }
}
