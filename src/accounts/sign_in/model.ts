// Requests to sign in and to change one's own account; the user of a key, and a session, in replies.

import Type, { type Static } from "typebox";
import { levelNames } from "../../access/people/levels.ts";
import { refusal } from "../../http/docs/refusals.ts";
import {
  exactText,
  flag,
  line,
  model,
  moment,
  nullable,
  reference,
  strictModel,
  unsupported,
  uuid,
} from "../../http/fields/field.ts";
import { shortProject, userModel } from "../../http/fields/user.ts";
import { signInLimits } from "./limits.ts";

const { passwordCharsMin, passwordCharsMax, emailCharsMax } = signInLimits;

/** The bound of all accounts' passwords. */
export const password = (description: string) =>
  exactText({ maxLength: passwordCharsMax, description, examples: ["correct horse battery"] });

export const email = () =>
  Type.String({ format: "email", maxLength: emailCharsMax, examples: ["ada@example.com"] });

export const loginBody = strictModel("LoginRequest", {
  email: Type.Optional(email()),
  password: Type.Optional(password("With `email`.")),
  personal_api_key: Type.Optional(
    exactText({
      maxLength: 200,
      description: "In place of both: the session has the key's scopes and ends with it.",
    }),
  ),
});

/** Refusals of the console's own operations. */
export const consoleRefusals = { 400: refusal(400), 403: refusal(403), 429: refusal(429), 503: refusal(503) };

export const loggedInModel = model("LoggedIn", { success: Type.Boolean() });

const ownProjectModel = model("OwnProject", shortProject);

const ownOrganizationModel = model("OwnOrganization", {
  id: uuid(),
  name: Type.String(),
  slug: Type.String(),
  logo_media_id: nullable(uuid()),
  membership_level: Type.Integer({ description: `The user's: ${levelNames}.` }),
  members_can_use_personal_api_keys: Type.Boolean({ description: "Always true." }),
  is_active: Type.Boolean({ description: "Always true." }),
  is_not_active_reason: nullable(Type.String(), { description: "Always null." }),
  is_pending_deletion: Type.Boolean({ description: "Always false." }),
});

const currentOrganizationModel = model("OwnCurrentOrganization", {
  ...ownOrganizationModel.properties,
  teams: Type.Array(ownProjectModel, { description: "Its projects that the key reaches." }),
});

const ofConsole = "It is a setting of PostHog's console, which this server does not have.";
const absent = { description: "Always false." };

/** Settings of PostHog's console as accounts have them that never set one. */
export const unsetOfConsole = {
  notification_settings: {},
  toolbar_mode: "disabled",
  events_column_config: { active: "DEFAULT" },
  has_seen_product_intro_for: null,
  scene_personalisation: [] as never[],
  theme_mode: null,
  allow_sidebar_suggestions: null,
  shortcut_position: null,
};
const unset = { description: `Never set: ${ofConsole}` };

export const ownUserModel = model("OwnUser", {
  ...userModel.properties,
  date_joined: moment(),
  is_staff: Type.Boolean({ description: "Always false: no user here is above organizations." }),
  has_password: Type.Boolean({ description: "Without one, a personal key signs in." }),
  team: nullable(ownProjectModel, { description: "The current project, among those the key can access." }),
  organization: nullable(currentOrganizationModel, { description: "The organization of `team`." }),
  organizations: Type.Array(ownOrganizationModel, { description: "Those that the key reaches." }),
  anonymize_data: flag({ description: "Stored for clients." }),
  pending_email: nullable(Type.String(), { description: "Always null: another address counts at once." }),
  pending_invites: Type.Array(Type.Unknown(), {
    description: "Always empty: an invitation is known by its link.",
  }),
  has_social_auth: Type.Boolean(absent),
  is_2fa_enabled: Type.Boolean(absent),
  is_impersonated: Type.Boolean(absent),
  passkeys_enabled_for_2fa: Type.Boolean(absent),
  notification_settings: Type.Record(Type.String(), Type.Boolean(), unset),
  toolbar_mode: Type.String(unset),
  events_column_config: Type.Record(Type.String(), Type.String(), unset),
  has_seen_product_intro_for: nullable(Type.Object({}), unset),
  scene_personalisation: Type.Array(Type.Unknown(), unset),
  theme_mode: nullable(Type.String(), unset),
  allow_sidebar_suggestions: nullable(Type.Boolean(), unset),
  shortcut_position: nullable(Type.String(), unset),
});

export type OwnUser = Static<typeof ownUserModel>;

export const ownUserBody = strictModel(
  "OwnUserRequest",
  {
    first_name: Type.Optional(line({ maxLength: 30, blank: true })),
    last_name: Type.Optional(line({ maxLength: 30, blank: true })),
    email: Type.Optional(email()),
    set_current_team: Type.Optional(reference({ description: "The project that becomes the current one." })),
    set_current_organization: Type.Optional(
      uuid({ description: "With its first project, unless one is named." }),
    ),
    password: Type.Optional(password(`A new one, of at least ${passwordCharsMin} characters.`)),
    role_at_organization: Type.Optional(nullable(line({ maxLength: 64, blank: true }))),
    anonymize_data: Type.Optional(flag()),
    notification_settings: unsupported(ofConsole),
    events_column_config: unsupported(ofConsole),
    has_seen_product_intro_for: unsupported(ofConsole),
    theme_mode: unsupported(ofConsole),
    current_password: Type.Optional(password("Needed for another address or password, once there is one.")),
  },
  ownUserModel,
);

export const sessionModel = model("BrowserSession", {
  id: Type.String(),
  user_agent: Type.String({ description: "The browser's User-Agent header." }),
  key_label: nullable(Type.String(), {
    description: "Of the personal key that signed in; null for a password.",
  }),
  is_current: Type.Boolean({ description: "Whether it is the session of this request." }),
  created_at: moment(),
  last_used_at: nullable(moment(), { description: "To the hour." }),
  expires_at: moment(),
});

export type BrowserSession = Static<typeof sessionModel>;
