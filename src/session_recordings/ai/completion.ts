// Asks a language model on a server that speaks OpenAI's chat completions. Waits and reads within bounds; never follows
// a redirect with the key, and never shows the key or the server's own words to anybody.

import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { type Log, reasonOf } from "../../core/log.ts";

export interface ModelServer {
  /** Without a last slash, e.g. https://api.openai.com/v1. */
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
 * What the model answers, read as JSON.
 * @throws Fault unavailable when the server cannot be reached or refuses; invalid_input when its answer is no JSON.
 */
export async function complete(
  server: ModelServer,
  messages: readonly Message[],
  log: Log,
): Promise<unknown> {
  const body = await ask(server, messages, log);
  const content = contentOf(body);
  if (content === undefined) throw wrongAnswer("Invalid response from the language model");
  try {
    return JSON.parse(content);
  } catch {
    throw wrongAnswer("Invalid JSON response from the language model");
  }
}

export function wrongAnswer(detail: string): Fault {
  return new Fault("invalid_input", detail);
}

async function ask(server: ModelServer, messages: readonly Message[], log: Log): Promise<string> {
  const { url, key, model } = server;
  try {
    const reply = await fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) },
      body: JSON.stringify({ model, messages, temperature: 0, response_format: { type: "json_object" } }),
      signal: AbortSignal.timeout(limits.completionMsMax),
      redirect: "error",
    });
    if (!reply.ok) {
      await reply.body?.cancel();
      throw new Error(`it answered ${reply.status}`);
    }
    return await readText(reply);
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown;
    log.warn("the language model gave no answer", { url, reason: reasonOf(thrown) });
    throw new Fault("unavailable", "The language model gave no answer. Please retry.", {
      retryAfterSeconds: 10,
    });
  }
}

/** @throws Fault invalid_input past the bound; the rest is not waited for. */
async function readText(reply: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of reply.body ?? []) {
    size += chunk.length;
    if (size > limits.completionBytesMax) throw wrongAnswer("The language model's answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size).toString();
}

function contentOf(body: string): string | undefined {
  try {
    const { choices } = JSON.parse(body) as { choices?: { message?: { content?: unknown } }[] };
    const content = choices?.[0]?.message?.content;
    return typeof content === "string" ? content : undefined;
  } catch {
    return undefined;
  }
}
