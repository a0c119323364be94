// What makes an event plain: one that is stored as it was sent, with nothing to be altered, warned about or derived.
// The fast scan lays those by itself; anything not said to be plain here goes the slow way.

import { kindsByName } from "./kind.ts";
import { firstTrait, trait } from "./member.ts";

/** Bits of an entry's traits that must be absent. */
export const traitsUnusual = (3 << (trait.$process_person_profile * 2)) | (3 << (trait.$ignore_sent_at * 2));

/** Names that are judged by more than their entry: 0 = never plain, else 1 + the trait that must be sound. */
export const unusualNames: Readonly<Record<string, number>> = {
  $performance_event: 0,
  ...Object.fromEntries(
    Object.entries(kindsByName).map(([name, { needs, profile }]) => {
      const [need] = needs;
      const one = !profile && needs.length === 1 && need !== undefined && need[0] >= firstTrait;
      return [name, one ? 1 + need[0] - firstTrait : 0];
    }),
  ),
};
