// The two helpers over HTTP: words into filters, words into a regular expression. Never runs what comes back.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../../access/gate.ts";
import { Fault } from "../../core/fault.ts";
import { foreignValue } from "../../core/foreign_text.ts";
import { aiLimits } from "./limits.ts";
import type { Log } from "../../core/log.ts";
import { readChanges } from "../../http/body.ts";
import { checkFields } from "../../http/fields/field_check.ts";
import { reply, requestBody } from "../../http/fields/schema.ts";
import {
  type Completing,
  type Message,
  type ModelServer,
  openCompleting,
  secretsOf,
  wrongAnswer,
} from "./completion.ts";
import {
  filtersBody,
  filtersModel,
  isFilters,
  isRegex,
  messagesPrompt,
  regexBody,
  regexModel,
  regexPrompt,
} from "./model.ts";
import { filtersPrompt, patternPrompt } from "./prompt.ts";

export interface PromptRoutes {
  gate: Gate;
  log: Log;
  /** Absent where nobody configured one. */
  server: ModelServer | undefined;
}

export function promptRoutes({ gate, log, server }: PromptRoutes) {
  const app = new Elysia({ name: "session_recordings: ai", tags: ["Session recordings"] }).use(gate);
  const completing = server && openCompleting(server, log);
  const ask = async (project_id: number, messages: Message[]) =>
    await present(completing)(project_id, messages);
  const clean = <T>(answer: T) => withoutSecrets(answer, server);
  for (const home of projectHomes) {
    app.post(
      `${home}/session_recordings/ai/filters/`,
      async ({ project, request }) => {
        const body = await readChanges(request, filtersBody);
        if (!("messages" in body)) return nothing();
        const { messages } = checkFields(messagesPrompt, { messages: body.messages });
        refuseLong(messages);
        const answer = await ask(project.id, [{ role: "system", content: filtersPrompt }, ...messages]);
        if (!isFilters(answer)) throw wrongAnswer("Invalid response from the language model");
        return clean(answer);
      },
      {
        project_scope: "session_recording:read",
        detail: {
          summary: "Make filters of recordings from words",
          description: inDevelopment,
          requestBody: requestBody(filtersBody, { partial: true }),
          responses: { 200: reply(`The filters, or a question back; ${empty} messages.`, filtersModel) },
        },
      },
    );
    app.post(
      `${home}/session_recordings/ai/regex/`,
      async ({ project, request }) => {
        const body = await readChanges(request, regexBody);
        if (!("regex" in body)) return nothing();
        if (body.regex === "") throw new Fault("invalid_input", "Missing required field: regex");
        const { regex } = checkFields(regexPrompt, { regex: body.regex });
        const answer = await ask(project.id, [
          { role: "system", content: patternPrompt },
          { role: "user", content: regex },
        ]);
        if (!isRegex(answer)) throw wrongAnswer("Invalid response from the language model");
        return clean(answer);
      },
      {
        project_scope: "session_recording:read",
        detail: {
          summary: "Make a regular expression from words",
          description: inDevelopment,
          requestBody: requestBody(regexBody, { partial: true }),
          responses: { 200: reply(`The expression, or why there is none; ${empty} regex.`, regexModel) },
        },
      },
    );
  }
  return app;
}

const inDevelopment = "In development; needs a language model (OPENAI_BASE_URL, OPENAI_API_KEY).";
const empty = "no body at all to a request without";

/** Nobody asked for anything. */
function nothing(): Response {
  return new Response(null);
}

function present(completing: Completing | undefined): Completing {
  if (completing) return completing;
  throw new Fault("invalid_input", "OpenAI API key is not configured");
}

/** A checked answer, whose texts are the model's own words. */
function withoutSecrets<T>(answer: T, server: ModelServer | undefined): T {
  const secrets = server ? secretsOf(server) : [];
  return foreignValue(answer, { secrets, charsMax: aiLimits.promptedTextCharsMax }) as T;
}

function refuseLong(messages: readonly Message[]): void {
  const size = messages.reduce((sum, { content }) => sum + content.length, 0);
  if (size <= aiLimits.promptCharsMax) return;
  const detail = `All messages together may have ${aiLimits.promptCharsMax} characters.`;
  throw new Fault("max_length", detail, { attr: "messages" });
}
