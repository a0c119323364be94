// The members of one JSON object, one after the other, as places in the bytes. Their grammar was checked when they were
// captured or inflated. Builds no objects, and stops within a value of megabytes.

import { JsonSkipper, pastGap } from "../../core/json/json_skipper.ts";

/** Bytes [from, to); to = 0 for none. */
export interface ByteRange {
  from: number;
  to: number;
}

export class MemberWalker {
  /** Where the walk is; behind the object's closing bracket once it is `through`. */
  at = 0;
  through = false;
  /** The member that was passed last, quotes included. */
  readonly key: ByteRange = { from: 0, to: 0 };
  readonly value: ByteRange = { from: 0, to: 0 };
  readonly #passing = new JsonSkipper();
  #bytes: Uint8Array = new Uint8Array(0);
  #within: "key" | "value" | undefined;
  #hasKey = false;

  /** Begins with the object whose opening bracket is at `from`. */
  open(bytes: Uint8Array, from: number): void {
    this.#bytes = bytes;
    this.at = from + 1;
    this.through = false;
    this.#within = undefined;
    this.#hasKey = false;
  }

  /** True past a member, or past the object: then it is `through`. False at the goal: to be called again. */
  next(goal: number): boolean {
    while (this.at < goal) {
      if (this.#within === undefined) {
        this.at = pastGap(this.#bytes, this.at, goal);
        if (this.at >= goal) return false;
        if (!this.#hasKey && this.#bytes[this.at] === 0x7d) {
          this.at++;
          this.through = true;
          return true;
        }
        this.#within = this.#hasKey ? "value" : "key";
        this[this.#within].from = this.at;
        this.#passing.begin(this.#bytes, this.at);
      }
      const passed = this.#passing.go(goal);
      this.at = this.#passing.at;
      if (!passed) return false;
      this[this.#within].to = this.at;
      this.#hasKey = this.#within === "key";
      this.#within = undefined;
      if (!this.#hasKey) return true;
    }
    return false;
  }

  /** Whether the key is this name; one written with escapes is none. */
  isNamed(name: Uint8Array): boolean {
    const { from, to } = this.key;
    if (to - from !== name.length + 2) return false;
    for (let i = 0; i < name.length; i++) if (this.#bytes[from + 1 + i] !== name[i]) return false;
    return true;
  }
}
