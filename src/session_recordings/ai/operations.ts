// The two helpers over HTTP: words into filters, words into a regular expression. What comes back is not run.

import { Fault } from "../../core/fault.ts";
import { foreignValue } from "../../core/foreign_text.ts";
import { aiLimits } from "./limits.ts";
import type { Log } from "../../core/log.ts";
import { checkFields } from "../../http/fields/field_check.ts";
import { emptyReply, orEmpty, reply } from "../../http/fields/schema.ts";
import { projectOperation } from "../../http/operation.ts";
import { type Message, type ModelServer, openCompleting, secretsOf, wrongAnswer } from "./completion.ts";
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
  /** Undefined when no model is configured. */
  server: ModelServer | undefined;
}

export function promptOperations({ log, server }: PromptParts) {
  const completing = server && openCompleting(server, log);
  const secrets = server ? secretsOf(server) : [];
  /** The model's answer, checked by `isOne`, and without secrets: its texts are the model's own words. */
  const ask = async <Answer>(
    project_id: number,
    messages: Message[],
    isOne: (answer: unknown) => answer is Answer,
  ): Promise<Answer> => {
    if (!completing) throw new Fault("invalid_input", "OpenAI API key is not configured");
    const answer = await completing(project_id, messages);
    if (!isOne(answer)) throw wrongAnswer("Invalid response from the language model");
    return foreignValue(answer, { secrets, charsMax: aiLimits.promptedTextCharsMax }) as Answer;
  };
  return [
    projectOperation("POST /session_recordings/ai/filters/", "session_recording:read", {
      summary: "Make filters of recordings from words",
      description: inDevelopment,
      body: filtersBody,
      replies: { 200: orEmpty(reply(`The filters, or a question back; ${empty} messages.`, filtersModel)) },
      answer: async ({ project, body }) => {
        if (!("messages" in body)) return emptyReply();
        const { messages } = checkFields(messagesPrompt, { messages: body.messages });
        refuseLong(messages);
        const prompt = [{ role: "system", content: filtersPrompt }, ...messages];
        return await ask(project.id, prompt, isFilters);
      },
    }),
    projectOperation("POST /session_recordings/ai/regex/", "session_recording:read", {
      summary: "Make a regular expression from words",
      description: inDevelopment,
      body: regexBody,
      replies: { 200: orEmpty(reply(`The expression, or why there is none; ${empty} regex.`, regexModel)) },
      answer: async ({ project, body }) => {
        if (!("regex" in body)) return emptyReply();
        if (body.regex === "") throw new Fault("invalid_input", "Missing required field: regex");
        const { regex } = checkFields(regexPrompt, { regex: body.regex });
        const prompt = [
          { role: "system", content: patternPrompt },
          { role: "user", content: regex },
        ];
        return await ask(project.id, prompt, isRegex);
      },
    }),
  ];
}

const inDevelopment = "In development; needs a language model (OPENAI_BASE_URL, OPENAI_API_KEY).";
const empty = "no body at all to a request without";

function refuseLong(messages: readonly Message[]): void {
  const size = messages.reduce((sum, { content }) => sum + content.length, 0);
  if (size <= aiLimits.promptCharsMax) return;
  const detail = `All messages together may have ${aiLimits.promptCharsMax} characters.`;
  throw new Fault("max_length", detail, { attr: "messages" });
}
