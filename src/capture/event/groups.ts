// The groups an event names: what it is attached to, and the one it tells of. Creates
// nothing.

import { limits } from "../../core/limits.ts";
import { type ByteRange, copyRange, emptyRange, sameBytes } from "../scan/byte_range.ts";

/** Which types of groups a project may have. */
export interface GroupTypes {
  /** True when the type is one of the project's, or may become one. */
  admit(project_id: number, type: ByteRange): boolean;
  /** True when the project names the types it takes, and this is none of them. */
  bars(project_id: number, type: ByteRange): boolean;
  /** Those that are decided: they are admitted, and nobody needs to be told of them. */
  decided(project_id: number): readonly Uint8Array[];
}

/** An event's groups, each type once; filled again for every event. */
export class EventGroups {
  count = 0;
  /** True when the first is the group whose properties the event sets. */
  identified = false;
  /** True when a type was left out, for want of a place. */
  cut = false;
  /** True when a type was left out that the project does not allow. */
  barred = false;
  readonly types: ByteRange[] = Array.from({ length: limits.groupTypesMax + 1 }, emptyRange);
  readonly keys: ByteRange[] = Array.from({ length: limits.groupTypesMax + 1 }, emptyRange);

  clear(): void {
    this.count = 0;
    this.identified = false;
    this.cut = false;
    this.barred = false;
  }

  /** Leaves the group of this type out. */
  refuse(project_id: number, type: ByteRange, types: GroupTypes): void {
    if (types.bars(project_id, type)) this.barred = true;
    else this.cut = true;
  }

  /** Takes the group in places[count]; the later of two of one type counts, unless the first is identified. */
  keep(): void {
    const type = this.types[this.count]!;
    for (let other = 0; other < this.count; other++) {
      if (!sameBytes(this.types[other]!, type)) continue;
      if (other > 0 || !this.identified) copyRange(this.keys[this.count]!, this.keys[other]!);
      return;
    }
    if (this.count < limits.groupTypesMax) this.count++;
    else this.cut = true;
  }
}
