// S3 and compatible stores, written by ClickHouse's s3(). Keys and secrets are parameters, not part of a statement's
// text.

import { toReason } from "../../../core/log.ts";
import { withoutLast } from "../../../core/trim.ts";
import { ExportError } from "../../failure.ts";
import { exportLimits } from "../../limits.ts";
import { eventColumns } from "../../source/columns.ts";
import { checkHost, type Writing } from "../../source/statements.ts";
import { destinationKind } from "../destination.ts";
import { checkFileChoice, readUrlHost } from "../fields.ts";
import { encodeKey, type EngineStore, writtenByEngine } from "../objects/engine_store.ts";
import { deliverObjects, probeObjects, removeObjects } from "../objects/objects.ts";
import { postRepeatedly } from "../post.ts";
import { checkKeys, type S3Config, s3Fields } from "./config.ts";
import { explainS3, explainStatus, presign } from "./s3_refusal.ts";

export const s3 = destinationKind({
  fields: s3Fields,
  check: (settings) => {
    checkFileChoice(settings);
    checkKeys(settings);
  },
  findHost: readUrlHost("endpoint_url"),
  columns: eventColumns,
  write: async (work, config) => await deliverObjects(work, await checkedStore(work, config), config),
  remove: async (work, config, keys) => await removeObjects(work, await checkedStore(work, config), keys),
  probe: async (work, config) => await probeObjects(work, await checkedStore(work, config), config),
});

/**
 * The store at a host that is checked just before ClickHouse connects to it, since ClickHouse resolves the name itself.
 * @throws ExportError: final for a private address, else retryable.
 */
async function checkedStore({ addresses }: Writing, config: S3Config) {
  const host = s3Host(config);
  await checkHost(addresses, host);
  const checked = await addresses.lookedAt(host).catch((thrown: unknown) => {
    throw new ExportError(toReason(thrown), false);
  });
  return writtenByEngine(s3Store(config, checked));
}

/**
 * @param checked the address to which the host resolved. A plain http:// request goes to this address; over https://
 *   only the host itself can answer.
 * @throws ExportError when ClickHouse cannot use the address.
 */
export function s3Store(config: S3Config, checked?: string): EngineStore {
  const { aws_access_key_id, aws_secret_access_key } = config;
  const isSigned = aws_access_key_id !== null && aws_secret_access_key !== null;
  const address = withCheckedHost(config, checked);
  const encryption = encryptionHeaders(config);
  return {
    settings: {
      s3_truncate_on_insert: 1,
      s3_retry_attempts: exportLimits.requestAttemptsMax,
      s3_connect_timeout_ms: exportLimits.storeConnectMsMax,
      s3_request_timeout_ms: exportLimits.storeRequestMsMax,
      s3_max_inflight_parts_for_one_file: exportLimits.storePartsAtOnceMax,
      // Redirects to addresses that were not checked are not followed.
      s3_max_redirects: 0,
    },
    explain: (thrown, work) => explainS3(thrown, config, work),
    // Sent by this process, since the engine removes no objects.
    remove: async (work, key) => {
      const address =
        presign(config, config.region, key, "DELETE") ?? `${buildAddress(config).root}/${encodeKey(key)}`;
      const posting = { ...work, method: "DELETE" } as const;
      await postRepeatedly(
        new URL(address),
        new Uint8Array(),
        () => ({}),
        posting,
        (_, reply) => explainStatus(reply),
      );
    },
    file: (key, format, structure, compression) => {
      if (address.needsFolder && !key.includes("/"))
        throw new ExportError("Virtual-hosted addressing needs a prefix with at least one folder", true);
      const keys = isSigned ? "{access_key:String}, {secret_key:String}" : "NOSIGN";
      return {
        text: `s3({url:String}, ${keys}, {format:String}, {structure:String}, {compression:String}${encryption.text})`,
        params: {
          url: `${address.root}/${encodeKey(key)}`,
          ...(isSigned && { access_key: aws_access_key_id, secret_key: aws_secret_access_key }),
          format,
          structure,
          compression,
          ...encryption.params,
        },
      };
    },
  };
}

export function s3Host(config: S3Config): string {
  return new URL(buildAddress(config).root).hostname;
}

/**
 * The URL before the keys. ClickHouse reads any address but Amazon's own as path-style. With the bucket in the host,
 * the key's first folder then looks like the bucket, which results in the same request.
 */
function buildAddress(config: S3Config) {
  const { bucket_name, region, endpoint_url, use_virtual_style_addressing: virtual } = config;
  const suffix = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  const endpoint = new URL(endpoint_url ?? `https://s3.${region}.${suffix}`);
  const path = withoutLast(endpoint.pathname, "/");
  if (!virtual)
    return { root: `${endpoint.origin}${path}/${encodeURIComponent(bucket_name)}`, needsFolder: false };
  const root = `${endpoint.protocol}//${bucket_name}.${endpoint.host}${path}`;
  // The hosts that ClickHouse itself treats as virtual-hosted.
  const isVirtualHost = /^(s3express[-a-z0-9]*|s3|cos|obs|oss|eos)[.-]/.test(endpoint.host);
  return { root, needsFolder: !isVirtualHost };
}

/**
 * The URL with the checked address in place of the name: the engine signs the host that it connects to, so a Host
 * header would break the signature.
 */
function withCheckedHost(config: S3Config, checked: string | undefined): ReturnType<typeof buildAddress> {
  const address = buildAddress(config);
  const url = new URL(address.root);
  if (checked === undefined || url.protocol !== "http:") return address;
  if (config.use_virtual_style_addressing)
    throw new ExportError("An endpoint_url that contains the bucket must begin with https://", true);
  url.hostname = checked.includes(":") ? `[${checked}]` : checked;
  return { ...address, root: url.href };
}

function encryptionHeaders({ encryption, kms_key_id }: S3Config) {
  if (encryption === null) return { text: "", params: {} };
  const key = encryption === "aws:kms" ? kms_key_id : null;
  const kms = key === null ? "" : ", 'x-amz-server-side-encryption-aws-kms-key-id' = {kms_key:String}";
  return {
    text: `, headers('x-amz-server-side-encryption' = {encryption:String}${kms})`,
    params: { encryption, ...(key !== null && { kms_key: key }) },
  };
}
