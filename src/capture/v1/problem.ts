// Fields of a refused v1 request beside those of every refusal: PostHog's `error` and `error_description`, which its
// SDKs show.

import type { Fault, FaultCode } from "../../core/fault.ts";

/** Codes that PostHog names differently. */
const tags: Partial<Record<FaultCode, string>> = {
  no_data: "empty_body",
  invalid_payload: "request_parsing_error",
  missing_api_key: "missing_authorization",
  invalid_api_key: "invalid_api_token",
  upload_timeout: "body_read_timeout",
  unavailable: "service_unavailable",
  journal_share_exceeded: "service_unavailable",
  changes_share_exceeded: "service_unavailable",
};

/** The additional fields of a fault's body. */
export function v1Fields({ code, detail }: Fault): { error: string; error_description: string } {
  return { error: tags[code] ?? code, error_description: detail };
}
