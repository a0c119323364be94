// Walks the members of one JSON object as byte ranges, without building objects. The JSON was checked when it was
// captured or inflated. The walk can pause inside a value of megabytes.

import { isTextAt } from "../../core/bytes.ts";
import { JsonSkipper, pastGap } from "../../core/json/json_skipper.ts";

/** Bytes [from, to); to = 0 for none. */
export interface ValueOffsets {
  from: number;
  to: number;
}

export class MemberWalker {
  /** Position of the walk; past the closing bracket once `through` is true. */
  at = 0;
  through = false;
  /** The last member passed, with its quotes. */
  readonly key: ValueOffsets = { from: 0, to: 0 };
  readonly value: ValueOffsets = { from: 0, to: 0 };
  readonly #skipper = new JsonSkipper();
  #bytes: Uint8Array = new Uint8Array(0);
  #within: "key" | "value" | undefined;
  #hasKey = false;

  /** Starts at the object whose opening bracket is at `from`. */
  open(bytes: Uint8Array, from: number): void {
    this.#bytes = bytes;
    this.at = from + 1;
    this.through = false;
    this.#within = undefined;
    this.#hasKey = false;
  }

  /** True after a member, or after the object, when `through` is set. False at `goal`: call again. */
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
        this.#skipper.begin(this.#bytes, this.at);
      }
      const passed = this.#skipper.go(goal);
      this.at = this.#skipper.at;
      if (!passed) return false;
      this[this.#within].to = this.at;
      this.#hasKey = this.#within === "key";
      this.#within = undefined;
      if (!this.#hasKey) return true;
    }
    return false;
  }

  /** Whether the key equals `name`. A key written with escapes never does. */
  isNamed(name: Uint8Array): boolean {
    return isTextAt(this.#bytes, this.key.from + 1, this.key.to - 1, name);
  }
}
