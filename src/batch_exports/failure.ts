// Why a delivery failed, and whether a retry may help. The shown text contains no secret and can be stored.

import { foreignText } from "../core/foreign_text.ts";
import { toReason } from "../core/log.ts";
import { wordsIn } from "../core/words.ts";
import { ClickHouseError } from "../storage/clickhouse/clickhouse.ts";
import { exportLimits } from "./limits.ts";

/** A failed delivery, with a message for the owner of the export. */
export class ExportError extends Error {
  /** Whether a retry cannot help: a person has to change something. */
  readonly final: boolean;
  /** The status of an answer over HTTP. */
  readonly status: number | undefined;

  constructor(message: string, final: boolean, status?: number) {
    super(message);
    this.name = "ExportError";
    this.final = final;
    this.status = status;
  }
}

/** Messages of object stores about wrong keys, rights or names; other errors may be temporary. */
const refusedForGood = [
  /access ?key ?id|signature.{0,20}(does not|n't) match|SignatureDoesNotMatch|AuthorizationHeaderMalformed/i,
  /access ?denied|forbidden|unauthorized|not authorized|invalid ?token|failed to authenticate/i,
  /bucket does not exist|NoSuchBucket|no such bucket|InvalidBucketName/i,
  /AuthenticationFailed|AuthorizationFailure|ContainerNotFound|container does not exist|AccountIsDisabled/i,
];

/** ClickHouse's names of errors that are permanent for the same statement. */
const wrongForGood: ReadonlySet<string> = new Set(
  wordsIn(`
    BAD_ARGUMENTS UNKNOWN_IDENTIFIER ILLEGAL_TYPE_OF_ARGUMENT TYPE_MISMATCH SYNTAX_ERROR CANNOT_PARSE_TEXT
    CANNOT_COMPILE_REGEXP UNKNOWN_FUNCTION NO_COMMON_TYPE NOT_IMPLEMENTED
  `),
);

/** The failure as shown in the run and its log. `secrets`: those sent to the destination. */
export function shownFailure(thrown: unknown, secrets: readonly string[]) {
  const { message, final } = exportError(thrown);
  return { message: foreignText(message, { secrets, charsMax: exportLimits.reasonCharsMax }), final };
}

/** Any thrown value as an ExportError. Its message may still contain a server's answer. */
export function exportError(thrown: unknown): ExportError {
  if (thrown instanceof ExportError) return thrown;
  const text = plainReason(thrown);
  const isWrong = thrown instanceof ClickHouseError && wrongForGood.has(thrown.type);
  return new ExportError(text, isWrong || refusedForGood.some((pattern) => pattern.test(text)));
}

/** ClickHouse's message without its number, its class and its version. */
function plainReason(thrown: unknown): string {
  return toReason(thrown)
    .slice(0, exportLimits.errorCharsRead)
    .replaceAll(/ \(version [^)]{0,100}\)/g, "")
    .replace(/^Code: \d+\. DB::Exception: /, "")
    .replace(/^(Message: |ClickHouse: )/, "")
    .replace(/Poco::Exception\. Code: \d+, e\.code\(\) = \d+, /, "")
    .replace(/ \([A-Z_0-9]+\)\s*$/, "")
    .replace(/: While executing \w+\.?$/, "")
    .trim();
}
