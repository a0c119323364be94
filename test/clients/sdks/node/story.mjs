// The story of every SDK here, told with posthog-node of any version: `node story.mjs HOST KEY WHO`.

import { PostHog } from "posthog-node";

const [host, key, who] = process.argv.slice(2);
const [visitor, user, company] = [`${who}-visitor`, `${who}-user`, `${who}-acme`];
const client = new PostHog(key, { host, flushAt: 8 });
client.on("error", (error) => {
  console.error(error);
  process.exitCode = 1;
});

client.capture({ distinctId: visitor, event: "looked", properties: { page: "/prices?für=🚲" } });
client.identify({ distinctId: user, properties: { email: "zoë@example.com", plan: "free" } });
client.alias({ distinctId: user, alias: visitor });
client.groupIdentify({
  groupType: "company",
  groupKey: company,
  properties: { name: "株式会社", seats: 3 },
});
client.capture({ distinctId: user, event: "joined", groups: { company } });
client.capture({
  distinctId: user,
  event: "renewed",
  properties: { $set: { plan: "paid" }, $set_once: { first: "today" } },
});
client.capture({
  distinctId: user,
  event: "values",
  properties: {
    text: 'Zoë 🚲 日本語 \u2028 "quoted" \\ \t',
    empty: "",
    zero: 0,
    negative: -12.5,
    large: 9007199254740991,
    small: 1e-7,
    yes: true,
    nothing: null,
    list: [1, "two", [3]],
    nested: { deep: { deeper: "ü" } },
  },
});
client.capture({ distinctId: user, event: "long ago", timestamp: new Date("2024-02-29T12:34:56.789Z") });
for (let number = 0; number < 20; number++) {
  client.capture({ distinctId: user, event: "bought", properties: { number, price: number * 1.1 } });
}
await client.shutdown();
