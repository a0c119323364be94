// Secrets in the database, encrypted with AES-256-GCM under a key that the database does not have. Errors show neither
// keys nor secrets.

import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { existsSync, linkSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../core/fault.ts";
import { toCode } from "../core/log.ts";

/** An encrypted text: version (1 byte), key id (8), nonce (12), tag (16), ciphertext. */
export type Secrets = ReturnType<typeof openSecrets>;

const version = 1;
export const keyIdBytes = 8;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + keyIdBytes;

/**
 * Encrypts with SECRET_KEY, or without it with a key that is generated once in DATA_DIR/secret.key, readable by its
 * owner only. Texts encrypted with the file's key stay readable after SECRET_KEY is set, as long as the file is there.
 * SECRET_KEY_BEFORE only opens what it has sealed.
 * @throws UserError when the file is damaged.
 */
export function openSecrets({
  secretKey,
  secretKeyBefore,
  dataDir,
}: Partial<Record<"secretKey" | "secretKeyBefore", string | undefined>> & { dataDir: string }) {
  const path = join(dataDir, "secret.key");
  const keys: Key[] = [];
  for (const text of [secretKey, secretKeyBefore]) {
    // SECRET_KEY may have the file's content, in a second process or on another machine: it is the same key.
    if (text !== undefined && fileShape.test(text)) keys.push(deriveKey(Buffer.from(text, "hex")));
    if (text !== undefined) keys.push(deriveKey(Buffer.from(text)));
  }
  if (secretKey === undefined || existsSync(path)) keys.push(deriveKey(keyInFile(path)));
  return {
    /** The ids of all keys, which sealed texts contain; the sealing one's first. */
    keyIds: keys.map(({ id }) => id),
    seal: (secret: Record<string, unknown>) => seal(secret, keys[0]),
    /** @throws UserError when it was encrypted with another key, or is damaged. */
    open: (sealed: Uint8Array) => unseal(Buffer.from(sealed), keys),
  };
}

type Key = ReturnType<typeof deriveKey>;

function deriveKey(material: Buffer) {
  const bytes = Buffer.from(hkdfSync("sha256", material, "", "sluice secrets at rest", 32));
  const id = createHash("sha256").update("sluice key id").update(bytes).digest().subarray(0, keyIdBytes);
  return { id, bytes };
}

const fileShape = /^[0-9a-f]{64}$/;

function keyInFile(path: string): Buffer {
  makeOnce(path);
  const text = readFileSync(path, "utf8").trim();
  if (!fileShape.test(text)) {
    const remedy = `restore it, or go on without its secrets: mv ${path} ${path}.damaged`;
    throw new UserError(`${path} is damaged: it must hold 64 hexadecimal digits; ${remedy}`);
  }
  return Buffer.from(text, "hex");
}

/**
 * If several processes start at once, one of them creates the file, complete from the start, and the others read it.
 */
function makeOnce(path: string): void {
  if (existsSync(path)) return;
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flush: true });
  try {
    linkSync(draft, path);
  } catch (thrown) {
    if (toCode(thrown) !== "EEXIST") throw thrown;
  } finally {
    unlinkSync(draft);
  }
}

function seal(secret: Record<string, unknown>, key: Key | undefined): Uint8Array {
  if (!key) throw new Error("there is no key to seal with");
  const nonce = randomBytes(nonceBytes);
  const head = Buffer.concat([Buffer.from([version]), key.id]);
  const cipher = createCipheriv("aes-256-gcm", key.bytes, nonce).setAAD(head);
  const text = Buffer.concat([cipher.update(JSON.stringify(secret), "utf8"), cipher.final()]);
  return Buffer.concat([head, nonce, cipher.getAuthTag(), text]);
}

export const lostKeyRemedy =
  "enter them again, or start with the DATA_DIR/secret.key or the SECRET_KEY that they were made with: " +
  "SECRET_KEY=KEY bun run sluice serve";

function unseal(sealed: Buffer, keys: readonly Key[]): Record<string, unknown> {
  if (sealed.length < headBytes + nonceBytes + tagBytes || sealed[0] !== version)
    throw new UserError("a stored secret is damaged, or was written by a newer version");
  const head = sealed.subarray(0, headBytes);
  const key = keys.find(({ id }) => id.equals(head.subarray(1)));
  if (!key) throw new UserError(`a stored secret was sealed with another key; ${lostKeyRemedy}`);
  const nonce = sealed.subarray(headBytes, headBytes + nonceBytes);
  const tag = sealed.subarray(headBytes + nonceBytes, headBytes + nonceBytes + tagBytes);
  const options = { authTagLength: tagBytes };
  const cipher = createDecipheriv("aes-256-gcm", key.bytes, nonce, options).setAAD(head).setAuthTag(tag);
  try {
    const text = cipher.update(sealed.subarray(headBytes + nonceBytes + tagBytes));
    return JSON.parse(Buffer.concat([text, cipher.final()]).toString("utf8")) as Record<string, unknown>;
  } catch {
    throw new UserError("a stored secret is damaged: enter it again");
  }
}
