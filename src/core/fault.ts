// An expected refusal of a request. Its HTTP status is in http/problem.ts.

import { wordsIn } from "./words.ts";

/** Every code, by what is refused: what a reply calls its type. */
export const faultCodes = {
  /** The request as a whole. */
  invalid_request: wordsIn(`
    parse_error payload_too_large unsupported_media_type method_not_allowed not_found upload_timeout
    not_supported
  `),
  /** Who is asking. */
  authentication_error: wordsIn(`
    not_authenticated authentication_failed missing_api_key invalid_api_key permission_denied
  `),
  throttled_error: ["throttled"],
  /** Faults of the content of a body or a query. */
  validation_error: wordsIn(`
    no_data invalid_payload empty_batch missing_event_uuid invalid_event_uuid duplicate_event_uuid required null
    blank max_length max_value min_value invalid_input invalid_choice does_not_exist incorrect_type not_a_list
    not_a_dict empty
    invalid_credentials min_length max_string_length null_characters_not_allowed surrogate_characters_not_allowed
  `),
  /** Us. */
  server_error: ["conflict", "unavailable", "journal_share_exceeded", "changes_share_exceeded", "error"],
} as const;

export type FaultType = keyof typeof faultCodes;
export type FaultCode = (typeof faultCodes)[FaultType][number];

export class Fault extends Error {
  readonly code: FaultCode;
  /** One sentence for the person who reads the reply; never SQL, a stack or a path. */
  readonly detail: string;
  /** The field at fault; nested names join with `__`. */
  readonly attr: string | null;
  /** Sent as Retry-After, in whole seconds. */
  readonly retryAfterSeconds: number | undefined;
  /** The Allow header of method_not_allowed. */
  readonly allow: string | undefined;

  constructor(
    code: FaultCode,
    detail: string,
    options: { attr?: string | null; retryAfterSeconds?: number; allow?: string } = {},
  ) {
    super(detail);
    this.name = "Fault";
    this.code = code;
    this.detail = detail;
    this.attr = options.attr ?? null;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.allow = options.allow;
  }
}

/** @throws Fault always: what is wrong in a request, named by `attr`. */
export function refuseInput(detail: string, attr: string, code: FaultCode = "invalid_input"): never {
  throw new Fault(code, detail, { attr });
}

/** The fault of what may be answered later. */
export function unavailable(detail: string, retryAfterSeconds = 5): Fault {
  return new Fault("unavailable", detail, { retryAfterSeconds });
}

/** A mistake of a person in the configuration or the command line: printed as one line, without a stack. */
export class UserError extends Error {
  /** Exit code: 1 = it failed, 2 = wrong use. */
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.name = "UserError";
    this.exitCode = exitCode;
  }
}
