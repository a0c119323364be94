// Settings of PostHog's projects that have no effect here, and one of our own. Most are stored and shown, so that
// programs read back what they set. Those that would promise what this server does not do, above all about what is
// collected about people, have the one value that is true here; any other is refused with the reason.

import Type, { type Static, type TSchema } from "typebox";
import { refuseInput } from "../../core/fault.ts";
import { isPublicHost, loadHostsMax } from "../../core/public_host.ts";
import { wordsIn } from "../../core/words.ts";
import { flag, integer, nullable, text } from "../../http/fields/field.ts";
import { fieldFault } from "../../http/fields/field_fault.ts";
import { projectLimits } from "../limits.ts";

const noEffect = "Stored and shown, without effect.";

const ownFlag = () => nullable(flag(), { default: null, description: noEffect });
const anyJson = () => Type.Unknown({ default: null, description: noEffect });
const ownText = (maxLength: number) =>
  nullable(text({ maxLength, blank: true }), { default: null, description: noEffect });
const texts = () =>
  Type.Array(text({ maxLength: projectLimits.settingTextCharsMax }), {
    maxItems: projectLimits.settingTextsMax,
  });
const ownTexts = () => nullable(texts(), { default: null, description: noEffect });
const ownInteger = () => nullable(integer({ minimum: 0 }), { default: null, description: noEffect });

export const keptSettings = {
  app_urls: { ...texts(), default: [], description: noEffect },
  base_currency: text({ maxLength: 3, default: "USD", description: noEffect }),
  business_model: ownText(40),
  completed_snippet_onboarding: flag({ default: false, description: noEffect }),
  data_attributes: { ...texts(), default: ["data-attr"], description: noEffect },
  feature_flag_confirmation_message: ownText(1000),
  product_description: ownText(1000),
  week_start_day: nullable(integer({ minimum: 0, maximum: 1 }), {
    default: 0,
    description: "The day on which weeks of queries begin: 0 for Sunday, 1 for Monday.",
  }),
  capture_console_log_opt_in: nullable(flag(), {
    default: true,
    description:
      "Whether SDKs record what pages write to the console, unless they are told otherwise; null is false.",
  }),
  session_recording_load_hosts: {
    ...texts(),
    default: [],
    maxItems: loadHostsMax,
    description:
      "Hosts whose images and style sheets are loaded, over https and without credentials, when a recording is " +
      "played in the console: whoever has the project API key can send a recording that names them. By default none.",
  },
  sharing_embed_hosts: {
    ...texts(),
    default: [],
    maxItems: loadHostsMax,
    description:
      "Hosts whose pages, over https, may have this project's shared pages in a frame; by default none.",
  },
  ...each(ownTexts)(`
    autocapture_exceptions_errors_to_ignore autocapture_web_vitals_allowed_metrics live_events_columns
    person_display_name_properties
  `),
  ...each(ownFlag)(`
    autocapture_exceptions_opt_in autocapture_web_vitals_opt_in capture_dead_clicks capture_performance_opt_in
    conversations_enabled default_evaluation_contexts_enabled feature_flag_confirmation_enabled
    flags_persistence_default heatmaps_opt_in inject_web_apps proactive_tasks_enabled
    receive_org_level_activity_logs require_evaluation_contexts surveys_opt_in
    test_account_filters_default_checked web_analytics_pre_aggregated_tables_enabled
  `),
  ...each(anyJson)(`
    conversations_settings correlation_config customer_analytics_config extra_settings
    has_completed_onboarding_for logs_settings marketing_analytics_config onboarding_tasks
    path_cleaning_filters revenue_analytics_config session_recording_network_payload_capture_config
    session_replay_config survey_config workflows_config
  `),
  ...each(ownInteger)("default_data_theme primary_dashboard session_recording_minimum_duration_milliseconds"),
};

function each<Field>(field: () => Field) {
  return <const Names extends string>(names: Names) =>
    Object.fromEntries(wordsIn(names).map((name) => [name, field()])) as Record<
      ReturnType<typeof wordsIn<Names>>[number],
      Field
    >;
}

/** The value that is true here, followed by those that mean the same; and why no other is accepted. */
interface Fact {
  values: readonly [unknown, ...unknown[]];
  why: string;
}

const noTriggers = "Recordings have no triggers here: a project records all sessions or none.";

const facts = {
  access_control: {
    values: [false, null],
    why: "Every member of an organization reaches its projects; a key can be restricted to some.",
  },
  anonymize_ips: {
    values: [false],
    why: "No client's address is added to events here, but a $ip that a client sends is stored as it was sent.",
  },
  autocapture_opt_out: {
    values: [false, null],
    why: "Autocapture is switched off where the SDK is initialized.",
  },
  default_modifiers: { values: [{}], why: "Queries have no modifiers here." },
  human_friendly_comparison_periods: {
    values: [false, null],
    why: "A comparison is with the period of the same length directly before.",
  },
  is_demo: { values: [false], why: "There are no demo projects." },
  live_events_token: { values: [null], why: "Live events are read with a personal key." },
  modifiers: { values: [null, {}], why: "Queries have no modifiers here." },
  product_intents: { values: [[]], why: "Nobody is asked what they are here for." },
  recording_domains: {
    values: [[], null],
    why: "Recordings are accepted from any domain; where they begin is set where the SDK is initialized.",
  },
  session_recording_event_trigger_config: { values: [null, []], why: noTriggers },
  session_recording_linked_flag: {
    values: [null, {}],
    why: "There are no feature flags: a project records all sessions or none.",
  },
  session_recording_masking_config: {
    values: [null, {}],
    why: "What is masked is set where the SDK is initialized.",
  },
  session_recording_retention_period: {
    values: [null],
    why: "Recordings are kept for the server's RECORDING_RETENTION_DAYS.",
  },
  session_recording_sample_rate: {
    values: [null, 1, "1", "1.0", "1.00"],
    why: "A project records all sessions or none.",
  },
  session_recording_trigger_groups: { values: [null, [], {}], why: noTriggers },
  session_recording_trigger_match_type_config: { values: [null], why: noTriggers },
  session_recording_url_blocklist_config: {
    values: [null, []],
    why: "Recordings do not stop at addresses; where they do is set where the SDK is initialized.",
  },
  session_recording_url_trigger_config: { values: [null, []], why: noTriggers },
  slack_incoming_webhook: { values: [null, ""], why: "Nothing is sent to it; subscriptions send to Slack." },
} as const satisfies Record<string, Fact>;

type FactName = keyof typeof facts;

function factField({ values: [value], why }: Fact): TSchema {
  const description = `Always \`${JSON.stringify(value)}\`: ${why}`;
  return Type.Unknown({ default: value, description, "x-shown": describeShape(value) });
}

function describeShape(value: unknown): object {
  if (typeof value === "boolean") return { type: "boolean" };
  if (typeof value === "number") return { type: "integer" };
  return Array.isArray(value) ? { type: "array", items: { type: "string" } } : {};
}

export const factSettings = Object.fromEntries(
  Object.entries<Fact>(facts).map(([name, fact]) => [name, factField(fact)]),
) as Record<FactName, TSchema>;

export type KeptSettings = { [Name in keyof typeof keptSettings]: Static<(typeof keptSettings)[Name]> };

const defaults = Object.fromEntries(
  Object.entries(keptSettings).map(([name, field]) => [name, (field as { default?: unknown }).default]),
) as KeptSettings;

/** Every setting as a reply shows it, with defaults for those that were never set. */
export function shownSettings(stored: Partial<KeptSettings>): KeptSettings & Record<FactName, unknown> {
  const factValues = Object.entries<Fact>(facts).map(([name, { values }]) => [name, values[0]]);
  return { ...defaults, ...stored, ...(Object.fromEntries(factValues) as Record<FactName, unknown>) };
}

/** A new project stores the settings that were sent, and not its defaults. */
export function withoutDefaults(settings: Partial<KeptSettings>): Partial<KeptSettings> {
  const changing = Object.entries(settings).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(defaults[name as keyof KeptSettings]),
  );
  return Object.fromEntries(changing);
}

export function splitSettings<Fields extends object>(fields: Fields) {
  const settings: Partial<KeptSettings> = {};
  const otherFields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (Object.hasOwn(keptSettings, name)) Object.assign(settings, { [name]: value });
    else if (!Object.hasOwn(facts, name)) otherFields[name] = value;
  }
  return { kept: settings, others: otherFields as Omit<Fields, keyof KeptSettings | FactName> };
}

/** @throws Fault for a setting with another value than the true one, and for an invalid host. */
export function checkSettings(fields: object): void {
  const sent = fields as Record<string, unknown>;
  for (const name of ["session_recording_load_hosts", "sharing_embed_hosts"] as const) {
    const wrong = (fields as Partial<KeptSettings>)[name]?.findIndex((text) => !isPublicHost(text)) ?? -1;
    const detail = "Expected the name of a host on the internet in lower case, like cdn.example.com.";
    if (wrong >= 0) throw fieldFault("invalid_input", detail, [name, String(wrong)]);
  }
  for (const [name, { values, why }] of Object.entries<Fact>(facts)) {
    if (sent[name] === undefined) continue;
    const isTrue = values.some((value) => JSON.stringify(value) === JSON.stringify(sent[name]));
    if (!isTrue)
      refuseInput(`Only ${JSON.stringify(values[0])} is accepted: it would have no effect. ${why}`, name);
  }
}
