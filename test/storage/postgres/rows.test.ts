import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Postgres } from "../../../src/storage/postgres/postgres.ts";
import { countedPage } from "../../../src/storage/postgres/rows.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../../support/accounts.ts";

let accounts: FirstAccounts;

beforeAll(async () => {
  accounts = await openFirstAccounts();
}, startMsMax);

afterAll(() => accounts.close());

function numbers(sql: Postgres, end: number, page: { limit: number; offset: number }) {
  const from = sql`FROM generate_series(1, 9) AS one(number) WHERE number <= ${end}`;
  const listing = { columns: sql`number`, from, order: sql`number DESC`, page };
  return countedPage(sql, { ...listing, show: (row: { number: number }) => row });
}

test("a page knows how many rows there are in all, wherever it lies", async () => {
  for (const end of [0, 1, 7]) {
    const all = Array.from({ length: end }, (_, i) => end - i);
    for (const limit of [1, 3, 7, 100]) {
      for (const offset of [0, 1, 6, 7, 1000]) {
        const { count, rows } = await numbers(accounts.sql, end, { limit, offset });
        const shown = rows.map(({ number }) => number);
        const page = all.slice(offset, offset + limit);
        expect({ end, limit, offset, count, shown }).toEqual({ end, limit, offset, count: end, shown: page });
      }
    }
  }
});

test("a page with rows, and the first page, are one question", async () => {
  const { sql } = accounts;
  let asked = 0;
  const counting = new Proxy(sql, {
    apply: (target, self, args: [TemplateStringsArray, ...never[]]) => {
      const question = Reflect.apply(target, self, args) as ReturnType<typeof target>;
      // The client's own way to begin one.
      const begin = Reflect.get(question, "handle") as () => unknown;
      Reflect.set(question, "handle", () => {
        asked += 1;
        return begin.call(question);
      });
      return question;
    },
  });
  const pages: [number, number][] = [
    [7, 0],
    [7, 6],
    [0, 0],
  ];
  for (const [end, offset] of pages) {
    asked = 0;
    await numbers(counting, end, { limit: 3, offset });
    expect({ end, offset, asked }).toEqual({ end, offset, asked: 1 });
  }
});
