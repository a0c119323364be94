// Events as sites send them, about 500 bytes each, the same in every run.

/** A /batch body of `count` events over `months` months, as bytes. */
export function batchBody(
  count: number,
  months: number,
  key = "phc_bench_project_key_0123456789",
): Uint8Array {
  const names = ["$pageview", "$autocapture", "signed up", "bought"];
  const events = Array.from({ length: count }, (_, i) => ({
    event: names[i % names.length],
    distinct_id: `user_${(i * 7919) % 5000}`,
    uuid: `01890a5d-ac96-774b-bcce-${i.toString(16).padStart(12, "0")}`,
    timestamp: new Date(Date.UTC(2020, i % months, 1 + (i % 28), i % 24, i % 60)).toISOString(),
    properties: {
      $current_url: `https://example.com/products/${i % 977}?ref=${i}`,
      $browser: "Firefox",
      $os: "Linux",
      $lib: "web",
      $session_id: `0189-${i % 3000}`,
      $user_agent: "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0",
      $screen: [1920, 1080],
      price: (i % 100) + 0.5,
      currency: "EUR",
      title: `A product with a longer title, number ${i % 977}`,
      experiment: { name: "checkout", variant: i % 2 === 0 ? "control" : "test" },
    },
  }));
  return new TextEncoder().encode(
    JSON.stringify({ api_key: key, historical_migration: true, batch: events }),
  );
}
