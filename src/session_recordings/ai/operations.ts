// The two helpers over HTTP: words into filters, words into a regular expression. What comes back is not run.

import { Fault } from "../../core/fault.ts";
import { foreignValue } from "../../core/foreign_text.ts";
import { aiLimits } from "./limits.ts";
import type { Log } from "../../core/log.ts";
import { checkFields } from "../../http/fields/field_check.ts";
import { reply } from "../../http/fields/schema.ts";
import { projectOperation } from "../../http/operation.ts";
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

export interface PromptParts {
  log: Log;
  /** Absent where nobody configured one. */
  server: ModelServer | undefined;
}

export function promptOperations({ log, server }: PromptParts) {
  const completing = server && openCompleting(server, log);
  const ask = async (project_id: number, messages: Message[]) =>
    await configured(completing)(project_id, messages);
  const clean = <T>(answer: T) => withoutSecrets(answer, server);
  return [
    projectOperation({
      method: "POST",
      path: "session_recordings/ai/filters/",
      scope: "session_recording:read",
      summary: "Make filters of recordings from words",
      description: inDevelopment,
      body: filtersBody,
      replies: { 200: reply(`The filters, or a question back; ${empty} messages.`, filtersModel) },
      answer: async ({ project, body }) => {
        if (!("messages" in body)) return nothing();
        const { messages } = checkFields(messagesPrompt, { messages: body.messages });
        refuseLong(messages);
        const answer = await ask(project.id, [{ role: "system", content: filtersPrompt }, ...messages]);
        if (!isFilters(answer)) throw wrongAnswer("Invalid response from the language model");
        return clean(answer);
      },
    }),
    projectOperation({
      method: "POST",
      path: "session_recordings/ai/regex/",
      scope: "session_recording:read",
      summary: "Make a regular expression from words",
      description: inDevelopment,
      body: regexBody,
      replies: { 200: reply(`The expression, or why there is none; ${empty} regex.`, regexModel) },
      answer: async ({ project, body }) => {
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
    }),
  ];
}

const inDevelopment = "In development; needs a language model (OPENAI_BASE_URL, OPENAI_API_KEY).";
const empty = "no body at all to a request without";

/** Nobody asked for anything. */
function nothing(): Response {
  return new Response(null);
}

function configured(completing: Completing | undefined): Completing {
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
