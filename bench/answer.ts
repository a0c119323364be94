// What a question answers: figures of each contestant, and ratios with their goals. Shown as a table for people.

export interface Ratio {
  name: string;
  value: number;
  goal?: number;
  stretch?: number;
  /** Whether values above the goal are good; by default those below are. */
  above?: boolean;
}

export interface Answer {
  question: string;
  /** One line each; numbers are medians of the rounds. */
  figures: ({ name: string } & Record<string, number | string>)[];
  ratios: Ratio[];
}

/** How much a run measures. */
export interface Scale {
  rounds: number;
  /** Bytes of events, for each contestant and round. */
  bytes: number;
  /** Whether a first round is run and not counted, which compiles code and faults pages in for the others. */
  warm: boolean;
  /** Whether only Sluice is asked, and none of those beside it: for a comparison of two commits. */
  alone?: boolean;
  /** Of the question `year`: how many events, and a folder in which they are kept for the next run. */
  events?: number | undefined;
  folder?: string | undefined;
  /** Of the question `hostile`: only attacks whose name this regular expression matches, and no slow senders. */
  only?: string | undefined;
}

export const scales = {
  tiny: { rounds: 1, bytes: 300_000, warm: false },
  quick: { rounds: 3, bytes: 150_000_000, warm: true },
  // Three rounds of all questions take over an hour.
  long: { rounds: 3, bytes: 600_000_000, warm: true },
} satisfies Record<string, Scale>;

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** The value that this share of them does not exceed; 0 without values. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Runs the contestants in turn, round after round, so that disturbances of the machine reach all of them. */
export async function interleaved<Run>(
  { rounds, warm, alone = false }: Scale,
  contestants: Record<string, () => Promise<Run>>,
): Promise<Record<string, Run[]>> {
  const runs: Record<string, Run[]> = {};
  const asked = Object.entries(contestants).filter(([name]) => !alone || name === "Sluice");
  if (warm) for (const [, run] of asked) await run();
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of asked) (runs[name] ??= []).push(await run());
  }
  return runs;
}

export function verdictOf({ value, goal, stretch, above = false }: Ratio): string {
  const reaches = (bound: number) => (above ? value >= bound : value <= bound);
  if (stretch !== undefined && reaches(stretch)) return "stretch";
  if (goal === undefined) return "";
  return reaches(goal) ? "pass" : "short";
}

/** Lines for people. */
export function linesOf({ question, figures, ratios }: Answer): string {
  const heads = [...new Set(figures.flatMap((row) => Object.keys(row)))];
  const shown = figures.map((row) => heads.map((head) => cell(row[head] ?? "")));
  const table = columns([heads.map((head) => (head === "name" ? "" : head)), ...shown]);
  const sign = (above: boolean | undefined) => (above === true ? "≥" : "≤");
  const judged = ratios.map((ratio) => [
    ratio.name,
    ratio.value.toFixed(2),
    ratio.goal === undefined ? "" : `${sign(ratio.above)} ${ratio.goal}`,
    ratio.stretch === undefined ? "" : `${sign(ratio.above)} ${ratio.stretch}`,
    verdictOf(ratio),
  ]);
  const goals = ratios.length > 0 ? columns([["ratio", "", "goal", "stretch", ""], ...judged]) : "";
  return `${question}\n${table}${goals}\n`;
}

function cell(value: number | string): string {
  if (typeof value === "string") return value;
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : 2;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function columns(rows: string[][]): string {
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  const line = (row: string[]) =>
    row.map((text, i) => (i === 0 ? text.padEnd(widths[i]!) : text.padStart(widths[i]!))).join("  ");
  return rows.map((row) => `  ${line(row).trimEnd()}\n`).join("");
}
