// Settings of PostHog's: kept and shown without an effect, or refused because they promise what is not done here.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { factSettings, keptSettings } from "../../../src/projects/settings/model.ts";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { type Answer, ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
const home = "/api/environments/1/";

beforeAll(async () => {
  app = await startApp();
}, startMsMax);

function set(fields: object, path = home): Promise<Answer> {
  return ask(app, "PATCH", path, fields);
}

/** What Terraform's provider sends for the settings of a project. */
const ofTerraform = {
  heatmaps_opt_in: true,
  autocapture_exceptions_opt_in: true,
  session_recording_opt_in: true,
  surveys_opt_in: false,
  cookieless_server_hash_mode: 1,
  autocapture_web_vitals_opt_in: true,
  capture_performance_opt_in: true,
  anonymize_ips: false,
  session_recording_network_payload_capture_config: { recordHeaders: false, recordBody: true },
  app_urls: ["https://shop.example", "https://www.shop.example"],
  recording_domains: [],
  test_account_filters: [{ key: "email", type: "person", operator: "not_icontains", value: "@own.example" }],
  test_account_filters_default_checked: true,
};

test("every setting that is set is shown as it was set, and read back", async () => {
  const answer = await set(ofTerraform);
  expect([answer.status, answer.body["detail"]]).toEqual([200, undefined]);
  expect(answer.body).toMatchObject(ofTerraform);
  expect((await ask(app, "GET", "/api/projects/1/")).body).toMatchObject(ofTerraform);
  expect((await set({ heatmaps_opt_in: null })).body).toMatchObject({
    ...ofTerraform,
    heatmaps_opt_in: null,
  });
});

test("a setting that was never set has PostHog's default", async () => {
  const { body, status } = await ask(app, "POST", "/api/projects/", { name: "New" });
  expect(status).toBe(201);
  expect(body).toMatchObject({
    app_urls: [],
    data_attributes: ["data-attr"],
    base_currency: "USD",
    surveys_opt_in: null,
    completed_snippet_onboarding: false,
    primary_dashboard: null,
    anonymize_ips: false,
    recording_domains: [],
    week_start_day: 0,
  });
  const names = [...Object.keys(keptSettings), ...Object.keys(factSettings)];
  expect(names.filter((name) => !(name in body))).toEqual([]);
  const made = await ask(app, "POST", "/api/projects/", {
    name: "With",
    surveys_opt_in: true,
    app_urls: ["a"],
  });
  expect(made.body).toMatchObject({ surveys_opt_in: true, app_urls: ["a"], heatmaps_opt_in: null });
});

test("settings have their types and bounds", async () => {
  const wrong: [object, code: string, attr: string | null][] = [
    [{ heatmaps_opt_in: "maybe" }, "invalid_input", "heatmaps_opt_in"],
    [{ app_urls: "https://a.example" }, "not_a_list", "app_urls"],
    [{ app_urls: null }, "null", "app_urls"],
    [{ app_urls: Array.from({ length: 101 }, () => "a") }, "max_length", "app_urls"],
    [{ app_urls: ["x".repeat(1001)] }, "max_length", "app_urls__0"],
    [{ base_currency: "EURO" }, "max_length", "base_currency"],
    [
      { session_recording_load_hosts: ["a.example", "10.0.0.1"] },
      "invalid_input",
      "session_recording_load_hosts__1",
    ],
    [{ primary_dashboard: -1 }, "min_value", "primary_dashboard"],
    [{ extra_settings: { text: "x".repeat(40_000) } }, "max_length", null],
  ];
  for (const [fields, code, attr] of wrong) {
    const { status, body } = await set(fields);
    expect([fields, status, body["code"], body["attr"]]).toEqual([fields, 400, code, attr]);
  }
  // What is there already counts.
  expect((await set({ extra_settings: "x".repeat(20_000) })).status).toBe(200);
  expect((await set({ survey_config: "x".repeat(20_000) })).body["code"]).toBe("max_length");
  const long = { name: "Long", extra_settings: "x".repeat(40_000) };
  expect((await ask(app, "POST", "/api/projects/", long)).body["code"]).toBe("max_length");
  expect((await set({ extra_settings: null })).body["extra_settings"]).toBeNull();
});

test("a setting that promises what is not done is refused with the reason, and nothing is changed", async () => {
  const refused: Record<string, unknown> = {
    access_control: true,
    anonymize_ips: true,
    autocapture_opt_out: true,
    default_modifiers: { personsOnEventsMode: "disabled" },
    human_friendly_comparison_periods: true,
    is_demo: true,
    live_events_token: "token",
    modifiers: { personsOnEventsMode: "disabled" },
    product_intents: ["heatmaps"],
    recording_domains: ["https://shop.example"],
    session_recording_event_trigger_config: ["bought"],
    session_recording_linked_flag: { id: 1, key: "flag" },
    session_recording_masking_config: { maskAllInputs: true },
    session_recording_retention_period: "30d",
    session_recording_sample_rate: "0.10",
    session_recording_trigger_groups: [{}],
    session_recording_trigger_match_type_config: "all",
    session_recording_url_blocklist_config: [{ url: "/private", matching: "regex" }],
    session_recording_url_trigger_config: [{ url: "/shop", matching: "regex" }],
    slack_incoming_webhook: "https://hooks.slack.example/x",
  };
  expect(Object.keys(refused)).toEqual(Object.keys(factSettings).toSorted());
  for (const [name, value] of Object.entries(refused)) {
    const { status, body } = await set({ name: "Changed", [name]: value });
    expect([name, status, body["code"], body["attr"]]).toEqual([name, 400, "invalid_input", name]);
    expect(String(body["detail"])).toMatch(/^Only .+ is accepted: it would have no effect\. [A-Z].+\.$/);
    const made = await ask(app, "POST", "/api/projects/", { name: "Changed", [name]: value });
    expect([name, made.status, made.body["attr"]]).toEqual([name, 400, name]);
  }
  expect((await ask(app, "GET", home)).body["name"]).toBe("Default project");
});

test("what says the same as what is true is accepted", async () => {
  const same = {
    anonymize_ips: false,
    autocapture_opt_out: null,
    recording_domains: null,
    session_recording_sample_rate: "1.00",
    session_recording_url_blocklist_config: [],
    session_recording_masking_config: {},
  };
  const { status, body } = await set(same);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    recording_domains: [],
    session_recording_sample_rate: null,
  });
});

test("the stateful mode of cookieless events is refused by name", async () => {
  const { status, body } = await set({ cookieless_server_hash_mode: 2 });
  expect([status, body["code"], body["attr"]]).toEqual([
    400,
    "invalid_choice",
    "cookieless_server_hash_mode",
  ]);
  expect(String(body["detail"])).toStartWith("Mode 2 (stateful) does not exist here.");
  const made = await ask(app, "POST", "/api/projects/", { name: "m", cookieless_server_hash_mode: 2 });
  expect([made.status, made.body["attr"]]).toEqual([400, "cookieless_server_hash_mode"]);
  expect((await set({ cookieless_server_hash_mode: 3 })).body["code"]).toBe("max_value");
});

test("an unknown name is refused, and what replies show may be sent back", async () => {
  for (const method of ["PATCH", "PUT"]) {
    const { status, body } = await ask(app, method, home, { name: "Changed", heatmap_opt_in: true });
    expect([status, body["attr"]]).toEqual([400, "heatmap_opt_in"]);
    expect(String(body["detail"])).toStartWith('"heatmap_opt_in" is not a field of this request.');
  }
  expect((await ask(app, "POST", "/api/projects/", { name: "x", time_zone: "UTC" })).body["attr"]).toBe(
    "time_zone",
  );
  const { body: shown } = await ask(app, "GET", home);
  expect(shown["name"]).toBe("Default project");
  const { updated_at: _, ...same } = shown;
  const back = await ask(app, "PUT", home, shown);
  expect(back.status).toBe(200);
  expect(back.body).toMatchObject(same);
});

test("the API's description says which settings have no effect, and which one value", async () => {
  const { components } = (await (await fetch(`${app.url}/docs/json`)).json()) as {
    components: { schemas: { Project: { properties: Record<string, { description?: string }> } } };
  };
  const { properties } = components.schemas.Project;
  const isMarked = (name: string, mark: RegExp) => mark.test(properties[name]?.description ?? "");
  const own = [
    "capture_console_log_opt_in",
    "session_recording_load_hosts",
    "sharing_embed_hosts",
    "week_start_day",
  ];
  const kept = Object.keys(keptSettings).filter((name) => !own.includes(name));
  expect(kept.filter((name) => !isMarked(name, /without effect/))).toEqual([]);
  expect(Object.keys(factSettings).filter((name) => !isMarked(name, /^Always `/))).toEqual([]);
});
