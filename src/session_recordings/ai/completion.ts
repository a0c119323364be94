// Client of a server that speaks OpenAI's chat completions. Time and size are bounded. Redirects are refused, since
// they would carry the key to another host; neither the key nor the server's error text is shown or logged.

import { Fault, unavailable } from "../../core/fault.ts";
import { foreignText, secretsInUrl } from "../../core/foreign_text.ts";
import { jsonIn } from "../../core/json/dictionary.ts";
import { limits } from "../../core/limits.ts";
import { type Log, toReason } from "../../core/log.ts";
import { Semaphore } from "../../work/semaphore.ts";
import { aiLimits } from "./limits.ts";

export interface ModelServer {
  /** Address without a trailing slash, for example https://api.openai.com/v1. */
  url: string;
  key: string | undefined;
  model: string;
}

export interface Message {
  /** system, user or assistant. */
  role: string;
  content: string;
}

/**
 * Returns a function that sends messages and parses the answer as JSON. A few requests run at once.
 * @throws Fault unavailable when too many requests wait, or the server cannot be reached or refuses; invalid_input
 * when the answer is not JSON or is too long.
 */
export function openCompleting(server: ModelServer, log: Log) {
  const semaphore = new Semaphore(
    aiLimits.completionsAtOnceMax,
    aiLimits.completionsWaitingMax,
    limits.waitingFreeMultiple,
  );
  const busy = () => unavailable("Too many requests to the language model wait already. Please retry.", 10);
  return (project_id: number, messages: readonly Message[]): Promise<unknown> =>
    semaphore.run({ owner: project_id, msMax: aiLimits.completionWaitMsMax, busy }, () =>
      complete(server, messages, log),
    );
}

async function complete(server: ModelServer, messages: readonly Message[], log: Log): Promise<unknown> {
  const wrong = "Invalid response from the language model";
  const body = parsed(await requestCompletion(server, messages, log), wrong) as {
    choices?: { message?: { content?: unknown } }[];
  } | null;
  const content = body?.choices?.[0]?.message?.content;
  if (typeof content !== "string") throw wrongAnswer(wrong);
  return parsed(content, "Invalid JSON response from the language model");
}

function parsed(text: string, wrong: string): unknown {
  const value = jsonIn(text);
  if (value === undefined) throw wrongAnswer(wrong);
  return value;
}

/** Texts to remove from whatever is answered or logged: the key, and secrets in the URL. */
export function listSecrets({ url, key }: ModelServer): string[] {
  return [key ?? "", ...secretsInUrl(url)];
}

export function wrongAnswer(detail: string): Fault {
  return new Fault("invalid_input", detail);
}

async function requestCompletion(server: ModelServer, messages: readonly Message[], log: Log) {
  const { url, key, model } = server;
  let isRefused = false;
  try {
    const reply = await fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) },
      body: JSON.stringify({ model, messages, temperature: 0, response_format: { type: "json_object" } }),
      signal: AbortSignal.timeout(aiLimits.completionMsMax),
      redirect: "error",
    });
    if (!reply.ok) {
      await reply.body?.cancel();
      isRefused = operatorsFaults.has(reply.status);
      throw new Error(`it answered ${reply.status}`);
    }
    return await readText(reply);
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown;
    const secrets = listSecrets(server);
    const redacted = (text: string) =>
      foreignText(text, { secrets, charsMax: aiLimits.completionReasonCharsMax });
    log.warn("the language model did not answer", { url: redacted(url), reason: redacted(toReason(thrown)) });
    // A retry does not help, so there is no Retry-After.
    if (isRefused) throw new Fault("unavailable", wrongSettings);
    throw unavailable("The language model gave no answer. Please retry.", 10);
  }
}

/** The server refuses every request. 401 and 403: the key is wrong. 404: the address or the model is wrong. */
const operatorsFaults: ReadonlySet<number> = new Set([401, 403, 404]);
const wrongSettings =
  "The language model refuses this server. Its operator has to correct OPENAI_API_KEY, _BASE_URL or _MODEL.";

/** The body as text. @throws Fault invalid_input past `completionBytesMax`; the rest is not read. */
async function readText(reply: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of reply.body ?? []) {
    size += chunk.length;
    if (size > aiLimits.completionBytesMax) throw wrongAnswer("The language model's answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size).toString();
}
