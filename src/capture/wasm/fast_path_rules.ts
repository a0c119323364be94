// Rules that make an event plain: it is stored as it was sent, with nothing altered or merged; the only warning that it
// may get is that it lacks what its name needs. The fast scan makes columns of plain events; all others go the slow
// way.

import { firstTrait, trait } from "../fields/event_fields.ts";
import { rulesByName } from "../fields/event_rules.ts";
import { type Warning, warningBit, warnings } from "../fields/outcome.ts";

/** Bits of an entry's traits that must be absent; of `$cookieless_mode` those of true and of what is no flag. */
export const traitsUnusual = (3 << (trait.$ignore_sent_at * 2)) | (1 << (trait.$cookieless_mode * 2));

/**
 * Names with a rule of their own: events that change no person, and those that set properties of a person or a group.
 */
export const named = { impersonal: 64, $identify: 65, $groupidentify: 66 } as const;

/** Names that are judged by more: 0 = never plain, 1 + the trait that should be sound, or one of `named`. */
export const unusualNames: Readonly<Record<string, number>> = {
  $performance_event: 0,
  $exception: named.impersonal,
  $$heatmap: 0,
  $$client_ingestion_warning: 0,
  ...Object.fromEntries(
    Object.entries(rulesByName).map(([name, { needs, profile }]) => {
      const [need] = needs;
      const item = !profile && needs.length === 1 && need !== undefined && need[0] >= firstTrait;
      return [name, item ? 1 + need[0] - firstTrait : 0];
    }),
  ),
  $identify: named.$identify,
  $groupidentify: named.$groupidentify,
};

/** The warnings of events that lack a trait, by 1 + the trait. */
export const needWarnings: Readonly<Record<number, Warning>> = Object.fromEntries(
  Object.entries(rulesByName)
    .filter(([name]) => unusualNames[name]! > 0 && unusualNames[name]! < named.impersonal)
    .map(([name, { needs }]) => [
      unusualNames[name],
      warnings.find((warning) => warningBit[warning] === needs[0]![1])!,
    ]),
);
