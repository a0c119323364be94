// The story of every SDK here, told with posthog-js of any version, on a page that knows `host`, `key` and `who`.

window.posthog = Object.assign([], { __SV: 1, people: [], _i: [] });

function tell(posthog) {
  // The first versions know no flags.
  posthog.onFeatureFlags?.((names) => {
    window.flagsShown = names;
  });
  posthog.capture("looked", { page: "/prices?für=🚲" });
  posthog.identify(`${who}-user`, { email: "zoë@example.com", plan: "free" });
  // The first versions know no groups, and an identify that sets nothing.
  if (!posthog.group) posthog.people.set({ email: "zoë@example.com", plan: "free" });
  else posthog.group("company", `${who}-acme`, { name: "株式会社", seats: 3 });
  posthog.capture("joined");
  // Of two changes within one millisecond, in requests of their own, none is the later one.
  for (const at = Date.now(); Date.now() === at;);
  posthog.capture("renewed", { $set: { plan: "paid" }, $set_once: { first: "today" } });
  posthog.capture("values", {
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
  });
  for (let number = 0; number < 20; number++) posthog.capture("bought", { number, price: number * 1.1 });
}

// A headless browser is a bot to posthog-js, which it would not count.
window.posthog._i.push([
  key,
  {
    api_host: host,
    opt_out_useragent_filter: true,
    disable_session_recording: true,
    loaded: tell,
  },
  "posthog",
]);
