// Why a delivery did not work, and whether it may work later. Never holds a secret: its text is shown to users.

import { reasonOf } from "../core/log.ts";
import { ClickHouseError } from "../storage/clickhouse.ts";

/** A delivery that failed, in words for the owner of the export. */
export class DeliveryError extends Error {
  /** Trying again cannot help: a person has to change something. */
  readonly final: boolean;

  constructor(message: string, final: boolean) {
    super(message);
    this.name = "DeliveryError";
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

/** Whatever was thrown on the way, as a DeliveryError. `secrets` are taken out of its text. */
export function deliveryError(thrown: unknown, secrets: readonly string[] = []): DeliveryError {
  if (thrown instanceof DeliveryError) return thrown;
  const text = plainReason(thrown);
  const final =
    (thrown instanceof ClickHouseError && wrongForGood.has(thrown.type)) ||
    refusedForGood.some((one) => one.test(text));
  return new DeliveryError(withoutSecrets(text, secrets), final);
}

/** ClickHouse's text without its number, its class and its version. */
function plainReason(thrown: unknown): string {
  return reasonOf(thrown)
    .replace(/^Code: \d+\. DB::Exception: /, "")
    .replace(/^(Message: |ClickHouse: )/, "")
    .replace(/Poco::Exception\. Code: \d+, e\.code\(\) = \d+, /, "")
    .replace(/ \(version [^)]*\)/g, "")
    .replace(/ \([A-Z_0-9]+\)\s*$/, "")
    .replace(/: While executing \w+\.?$/, "")
    .trim()
    .slice(0, reasonCharsMax);
}

/** Enough to say what is wrong, too little for a stack. */
const reasonCharsMax = 1000;

function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) if (secret.length >= 4) clean = clean.replaceAll(secret, "[hidden]");
  return clean;
}
