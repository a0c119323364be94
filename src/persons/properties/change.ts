// Checks changes of a person's properties before they become an event: an event with more or longer ones would be cut,
// and what was cut is a warning, not a refusal.

import { fieldFault, shown } from "../../http/fields/field_fault.ts";
import { personLimits } from "../limits.ts";

/** @throws Fault for properties that one event cannot set, or that would not be kept as they were sent. */
export function checkChange(properties: Record<string, unknown>, attr: string): void {
  const entries = Object.entries(properties);
  const { keysChangedMax, changeBytesMax } = personLimits;
  if (entries.length > keysChangedMax) {
    throw fieldFault("max_length", `A request can set at most ${keysChangedMax} properties.`, [attr]);
  }
  let bytes = 0;
  for (const [key, value] of entries) {
    checkPropertyKey(key, attr);
    checkNumbers(value, key, attr);
    bytes += Buffer.byteLength(JSON.stringify(key)) + Buffer.byteLength(JSON.stringify(value));
  }
  if (bytes > changeBytesMax) {
    throw fieldFault("max_length", `A request can set at most ${changeBytesMax} bytes of properties.`, [
      attr,
    ]);
  }
}

/** @throws Fault for a key that no property can have. */
export function checkPropertyKey(key: string, attr: string): void {
  const { keyBytesMax } = personLimits;
  if (Buffer.byteLength(JSON.stringify(key)) - 2 <= keyBytesMax) return;
  throw fieldFault("max_length", `A property's name can have at most ${keyBytesMax} bytes as JSON.`, [attr]);
}

/** Whole numbers beyond 2^53 are rounded when JSON is read: they are refused, not kept as others. */
function checkNumbers(value: unknown, key: string, attr: string): void {
  const waiting = [value];
  while (waiting.length > 0) {
    const one = waiting.pop();
    if (typeof one === "number" && Number.isInteger(one) && !Number.isSafeInteger(one)) {
      const detail = `A number in "${shown(key)}" is too large to be kept exactly: send it as text.`;
      throw fieldFault("invalid_input", detail, [attr]);
    }
    if (typeof one === "object" && one !== null)
      for (const member of Object.values(one)) waiting.push(member);
  }
}
