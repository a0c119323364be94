import { expect, test } from "bun:test";
import fc from "fast-check";
import { WorkExceeded } from "../../src/storage/clickhouse/error.ts";
import { clickhouseLimits } from "../../src/storage/clickhouse/limits.ts";
import { type CountedWork, openWorkWatch, type Work } from "../../src/storage/work_watch.ts";

const { workPollMs } = clickhouseLimits;

/** An engine whose counters are set by hand. */
function openCounted() {
  let elapsed = 0;
  const counters = new Map<string, { seconds: number; share: number }>();
  const asked: string[][] = [];
  const count = async (tags: readonly string[]): Promise<CountedWork[]> => {
    asked.push([...tags]);
    return tags.flatMap((tag) => {
      const counter = counters.get(tag);
      if (!counter) return [];
      return [
        {
          tag,
          micros: String(counter.seconds * 1e6),
          rows: "1000",
          rows_read: String(1000 * counter.share),
          threads: [],
        },
      ];
    });
  };
  const watch = openWorkWatch(count, { elapsed: () => elapsed });
  return {
    watch,
    asked,
    /** Lets time pass, and polls. */
    pass: async (seconds: number) => {
      elapsed += seconds * 1000;
      await watch.poll();
    },
    use: (tag: string, seconds: number, share = 1) => void counters.set(tag, { seconds, share }),
  };
}

test("a statement ends when it has used its CPU-seconds, however long that takes", async () => {
  const { watch, pass, use } = openCounted();
  const reasons: WorkExceeded[] = [];
  watch.begin("a", { secondsMax: 10 }, (reason) => reasons.push(reason));
  use("a", 9.9, 0.5);
  await pass(10_000);
  expect(reasons).toEqual([]);
  use("a", 15, 0.1);
  await pass(1);
  expect(reasons.map(({ message }) => message)).toEqual(["needs about 150 CPU-seconds; the limit is 10"]);
  watch.end("a");
});

test("a short statement costs no count, and a store that does not count ends none", async () => {
  const { watch, pass, asked } = openCounted();
  let elapsed = 0;
  watch.begin("a", { secondsMax: 1 }, () => expect.unreachable());
  await pass((workPollMs - 1) / 1000);
  expect(asked).toEqual([]);
  await pass(100);
  expect(asked).toEqual([["a"]]);
  watch.end("a");
  const blind = openWorkWatch(async () => [], { elapsed: () => elapsed });
  blind.begin("a", { secondsMax: 1 }, () => expect.unreachable());
  elapsed = 1e9;
  await blind.poll();
  blind.end("a");
});

test("an engine that does not answer for long is given up, however little its statements have cost", async () => {
  let elapsed = 0;
  let isFrozen = false;
  const count = () => (isFrozen ? Promise.reject(new Error("no answer")) : Promise.resolve([]));
  const watch = openWorkWatch(count, { elapsed: () => elapsed });
  const ended: string[] = [];
  for (const tag of ["a", "b"])
    watch.begin(tag, { secondsMax: 1 }, ({ type }) => ended.push(`${tag} ${type}`));
  elapsed = 60_000;
  await watch.poll();
  isFrozen = true;
  elapsed += clickhouseLimits.engineSilentMsMax - 1;
  await watch.poll();
  watch.begin("c", { secondsMax: 1 }, () => expect.unreachable());
  expect(ended).toEqual([]);
  elapsed += 1;
  await watch.poll();
  expect(ended).toEqual(["a TIMEOUT", "b TIMEOUT"]);
  for (const tag of ["a", "b", "c"]) watch.end(tag);
});

test("where the engine counts nothing within a block, its threads' own time counts", async () => {
  let [elapsed, micros] = [0, "2000000"];
  const threads = new Map([
    ["7", 100],
    ["8", 200],
  ]);
  const watch = openWorkWatch(
    async () => [{ tag: "a", micros, rows: "1", rows_read: "1", threads: [...threads.keys()] }],
    { elapsed: () => elapsed },
    (thread) => threads.get(thread)!,
  );
  const ended: string[] = [];
  const work = { secondsMax: 10, seconds: 0 };
  watch.begin("a", work, ({ message }) => ended.push(message));
  const pass = async (seconds: number) => {
    elapsed += seconds * 1000;
    for (const [thread, before] of threads) threads.set(thread, before + seconds);
    await watch.poll();
  };
  // Of threads that worked for others before, and while the engine counts.
  await pass(50);
  micros = "3000000";
  await pass(50);
  expect(ended).toEqual([]);
  await pass(3);
  expect(ended).toEqual([]);
  await pass(1);
  expect(ended).toEqual(["needs about 11 CPU-seconds; the limit is 10"]);
  watch.end("a");
  expect(work.seconds).toBe(11);
});

test("a page's statements have their CPU-seconds each, a question's share them", async () => {
  const { watch, pass, use } = openCounted();
  const ended: string[] = [];
  const page: Work = { secondsMax: 10 };
  const question: Work = { secondsMax: 10, seconds: 0 };
  for (const [tag, work] of Object.entries({ p1: page, p2: page, q1: question, q2: question }))
    watch.begin(tag, work, () => ended.push(tag));
  for (const tag of ["p1", "p2", "q1", "q2"]) use(tag, 6);
  await pass(60);
  expect(ended).toEqual(["q2"]);
  for (const tag of ["p1", "p2", "q1", "q2"]) watch.end(tag);
  expect([page.seconds, question.seconds]).toEqual([undefined, 12]);
});

test("a question never uses more than its share, and what one poll may miss of each statement", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          cores: fc.double({ min: 0, max: 2, noNaN: true }),
          seconds: fc.integer({ min: 1, max: 50 }),
        }),
        {
          minLength: 1,
          maxLength: 20,
        },
      ),
      async (statements) => {
        const { watch, pass, use } = openCounted();
        const work = { secondsMax: 30, seconds: 0 };
        let used = 0;
        for (const [i, { cores, seconds }] of statements.entries()) {
          if (work.seconds >= work.secondsMax) break;
          let isStopped = false;
          watch.begin(`${i}`, work, () => (isStopped = true));
          for (let second = 1; second <= seconds && !isStopped; second++) {
            used += cores;
            use(`${i}`, second * cores);
            await pass(1);
          }
          watch.end(`${i}`);
          // What was counted is charged: no less than was used.
          expect(work.seconds).toBeGreaterThanOrEqual(used - 1e-6);
        }
        expect(used).toBeLessThanOrEqual(work.secondsMax + 2);
      },
    ),
    { numRuns: 100 },
  );
});

test("the time of statements that were never counted is kept apart from what they used", () => {
  let elapsed = 0;
  const watch = openWorkWatch(async () => [], { elapsed: () => elapsed });
  const work: Work = { secondsMax: 60, seconds: 0 };
  for (let i = 0; i < 61; i++) {
    watch.begin(`${i}`, work, () => expect.unreachable());
    elapsed += workPollMs - 1;
    watch.end(`${i}`);
  }
  expect(work.seconds).toBe(0);
  expect(work.uncountedSeconds).toBeCloseTo(61, 0);
});

/** Polls once a second; the first statement is "a", whose ends are returned. */
async function pollThreads(
  counts: () => CountedWork[],
  readThread: (thread: string) => number,
  polls: number,
) {
  let elapsed = 0;
  const watch = openWorkWatch(async () => counts(), { elapsed: () => elapsed }, readThread);
  const ended: string[] = [];
  watch.begin("a", { secondsMax: 60, seconds: 0 }, ({ message }) => ended.push(message));
  watch.begin("b", { secondsMax: 1000, seconds: 0 }, () => {});
  for (let i = 0; i < polls; i++) {
    elapsed += 1000;
    await watch.poll();
  }
  for (const tag of ["a", "b"]) watch.end(tag);
  return ended;
}

test("a thread whose time cannot be read for a moment costs nothing", async () => {
  const readings = [100, 0, 100.2];
  const counts = () => [{ tag: "a", micros: "2000000", rows: "1", rows_read: "1", threads: ["7"] }];
  expect(await pollThreads(counts, () => readings.shift()!, 3)).toEqual([]);
});

test("a thread that works for another statement now is not charged to the first", async () => {
  let seconds = 0;
  const counts = () => [
    { tag: "a", micros: "2000000", rows: "1", rows_read: "1", threads: ["7", "8"] },
    { tag: "b", micros: String(++seconds * 1e6), rows: "1", rows_read: "1", threads: ["8"] },
  ];
  expect(await pollThreads(counts, (thread) => (thread === "8" ? seconds : 5), 70)).toEqual([]);
});
