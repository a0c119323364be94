// Why a delivery did not work, and whether it may work later. What is shown of it holds no secret and can be stored.

import { foreignText } from "../../core/foreign_text.ts";
import { destinationLimits } from "./limits.ts";
import { reasonOf } from "../../core/log.ts";
import { ClickHouseError } from "../../storage/clickhouse/clickhouse.ts";

/** A delivery that failed, in words for the owner of the export. */
export class ExportError extends Error {
  /** Trying again cannot help: a person has to change something. */
  readonly final: boolean;

  constructor(message: string, final: boolean) {
    super(message);
    this.name = "ExportError";
    this.final = final;
  }
}

/** What object stores say when keys, rights or names are wrong; everything else may pass. */
const refusedForGood = [
  /access ?key ?id|signature.{0,20}(does not|n't) match|SignatureDoesNotMatch|AuthorizationHeaderMalformed/i,
  /access ?denied|forbidden|unauthorized|not authorized|invalid ?token|failed to authenticate/i,
  /bucket does not exist|NoSuchBucket|no such bucket|InvalidBucketName/i,
  /AuthenticationFailed|AuthorizationFailure|ContainerNotFound|container does not exist|AccountIsDisabled/i,
];

/** ClickHouse's names of errors that lie in what was asked, not in when. */
const wrongForGood: ReadonlySet<string> = new Set([
  "BAD_ARGUMENTS",
  "UNKNOWN_IDENTIFIER",
  "ILLEGAL_TYPE_OF_ARGUMENT",
  "TYPE_MISMATCH",
  "SYNTAX_ERROR",
  "CANNOT_PARSE_TEXT",
  "CANNOT_COMPILE_REGEXP",
  "UNKNOWN_FUNCTION",
  "NO_COMMON_TYPE",
  "NOT_IMPLEMENTED",
]);

/** Why a delivery failed, as its run, its log and its owner are told. `secrets`: what its destination was sent. */
export function shownFailure(
  thrown: unknown,
  secrets: readonly string[],
): { message: string; final: boolean } {
  const { message, final } = exportError(thrown);
  return {
    message: foreignText(message, { secrets, charsMax: destinationLimits.exportReasonCharsMax }),
    final,
  };
}

/** Whatever was thrown on the way, as a ExportError. Its text may still hold what a server answered. */
export function exportError(thrown: unknown): ExportError {
  if (thrown instanceof ExportError) return thrown;
  const text = plainReason(thrown);
  const final =
    (thrown instanceof ClickHouseError && wrongForGood.has(thrown.type)) ||
    refusedForGood.some((one) => one.test(text));
  return new ExportError(text, final);
}

/** In one pass: the text may be a remote server's, and open brackets that never close. */
function withoutVersion(text: string): string {
  const [head = "", ...rest] = text.split(versionMark);
  return rest.reduce((kept, part) => {
    const end = part.indexOf(")");
    return end < 0 ? `${kept}${versionMark}${part}` : `${kept}${part.slice(end + 1)}`;
  }, head);
}

const versionMark = " (version ";

/** ClickHouse's text without its number, its class and its version. */
function plainReason(thrown: unknown): string {
  return withoutVersion(reasonOf(thrown).slice(0, readCharsMax))
    .replace(/^Code: \d+\. DB::Exception: /, "")
    .replace(/^(Message: |ClickHouse: )/, "")
    .replace(/Poco::Exception\. Code: \d+, e\.code\(\) = \d+, /, "")
    .replace(/ \([A-Z_0-9]+\)\s*$/, "")
    .replace(/: While executing \w+\.?$/, "")
    .trim();
}

/** Characters of an error that are looked at: the expressions above are not meant for megabytes. */
const readCharsMax = 8192;
