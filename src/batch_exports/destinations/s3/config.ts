// The settings of an S3 bucket.

import * as fields from "../fields.ts";
import * as rules from "../value.ts";

export const s3Fields = {
  bucket_name: { ...fields.required, rule: rules.bucketName },
  // For a bucket in another region S3 names it, and ClickHouse uses that.
  region: { kind: "str", otherwise: "us-east-1", rule: rules.regionName },
  prefix: { ...fields.prefix, rule: rules.s3Prefix },
  /** Both or neither; without them requests are not signed. */
  aws_access_key_id: { ...fields.optional, secret: true, rule: rules.visible },
  aws_secret_access_key: { ...fields.optional, secret: true, rule: rules.visible },
  /** http(s)://host[:port][/path]; null: Amazon's own. */
  endpoint_url: fields.endpoint,
  encryption: { ...fields.optional, rule: rules.encryption },
  kms_key_id: { ...fields.optional, rule: rules.visible },
  use_virtual_style_addressing: { kind: "bool", otherwise: false },
  ...fields.files,
} as const;

export type S3Config = fields.ValuesOf<typeof s3Fields>;

/** Both keys are needed, or neither. @throws Fault */
export function checkKeys(settings: fields.Settings): void {
  const absent = ["aws_access_key_id", "aws_secret_access_key"].filter((name) => !(name in settings));
  if (absent.length === 1) throw fields.missing(absent[0]!);
}
