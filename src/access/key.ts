// Where a request may carry its personal key: header, then body, then query. Only the first one found counts.

import { bytesOf } from "../core/bytes.ts";
import { formFault, shapeFault } from "../core/json/json_shape.ts";

export type KeyPlace = "Authorization header" | "body" | "query string";

export interface PresentedKey {
  key: string;
  place: KeyPlace;
}

// The scheme is case-sensitive and white space around the key is allowed, as clients of this API expect.
const bearer = /^Bearer\s+(\S.+)$/;

/** The key of an Authorization header; undefined for other schemes. */
export function keyInHeader(authorization: string | null): PresentedKey | undefined {
  const key = authorization === null ? undefined : bearer.exec(authorization)?.[1]?.trim();
  return key ? { key, place: "Authorization header" } : undefined;
}

/**
 * The key in the field `personal_api_key` of a JSON body. A body that is not JSON, or too complex to be parsed before
 * the client is known, holds no key.
 */
export function keyInJson(text: string): PresentedKey | undefined {
  if (!text.includes("personal_api_key") || shapeFault(bytesOf(text))) return undefined;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof body !== "object" || body === null || !("personal_api_key" in body)) return undefined;
  return present(body.personal_api_key, "body");
}

/** The key in the field `personal_api_key` of a form; undefined when the form has too many fields. */
export function keyInForm(text: string): PresentedKey | undefined {
  if (formFault(bytesOf(text))) return undefined;
  return present(new URLSearchParams(text).get("personal_api_key"), "body");
}

/** The key in `?personal_api_key=`. */
export function keyInQuery(query: URLSearchParams): PresentedKey | undefined {
  return present(query.get("personal_api_key"), "query string");
}

/** The detail of the 401 for a key that does not exist. */
export function keyRefusal(place: KeyPlace): string {
  return `Personal API key found in request ${place} is invalid.`;
}

function present(value: unknown, place: KeyPlace): PresentedKey | undefined {
  const key = typeof value === "string" ? value.trim() : "";
  return key ? { key, place } : undefined;
}
