// A small project to read back: 210 events of seven persons, in a session each, in the last hours, 140 of them named `bought`.

import { expect } from "bun:test";
import { type Listening, post, projectKey, rested } from "./server.ts";

export const shop = { events: 210, bought: 140, persons: 7 } as const;

export async function fillShop(server: Listening): Promise<void> {
  const batch = Array.from({ length: shop.events }, (_, i) => ({
    event: i % 3 === 0 ? "$pageview" : "bought",
    distinct_id: `u${i % shop.persons}`,
    timestamp: new Date(Date.now() - i * 60_000).toISOString(),
    properties: {
      price: i,
      $session_id: `0190aaaa-0000-7000-8000-00000000000${i % shop.persons}`,
      $set: { email: `u${i % shop.persons}@example.com` },
    },
  }));
  const reply = await post(server, "/batch/", { api_key: projectKey, batch });
  expect(reply.status).toBe(200);
  await rested(server);
}
