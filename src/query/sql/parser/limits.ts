// Limits of the HogQL parser, with their units and reasons.

import { assertRising } from "../../../core/limits.ts";

export const parserLimits = {
  /** A text, in characters: the longest query of PostHog's own templates has 6,000. */
  textCharsMax: 65_536,
  /** Words, literals and symbols of a text: a list of so many values is read in 400 to 800 ms by a new child. */
  textTokensMax: 6000,
  /** Brackets within brackets: with more, reading takes longer than a text may take in any case. */
  textDepthMax: 40,
  /**
   * How long one text may take, in ms of the child's own processor time: ordinary ones take 5 to 50, a sum of sixty
   * calls 1500, on a slow machine 2100.
   */
  textCpuMsMax: 3000,
  /**
   * By how much more processor time a text takes while the child gets less than half a core: its caches are lost at
   * each turn, and a host counts what it gives to others. At load 30 a text of
   * 25 calls within each other took more than 3000 ms.
   */
  busySlowness: 3,
  /** How long it may take by the clock, in ms: beside thirty busy programs the child gets a 40th of a core. */
  textMsMax: 40_000,
  /** How often the child's processor time and memory are read while it parses, in ms. */
  watchMs: 25,
  /** The child's memory, in bytes: it begins with 80 MB, and it grows as its cache of the grammar fills. */
  childBytesMax: 320 * 1024 * 1024,
  /** The child's memory after a text was read, in bytes: a child with more is replaced. */
  childBytesKept: 200 * 1024 * 1024,
  /** Processor time of one child's whole life, in seconds: it ends a loop when the owner died before it could. */
  childCpuSecondsMax: 600,
  /** Steps of nice by which the child ranks below the server once it has started: captures come first. */
  childStepsBehind: 5,
  /** How long a child may take to start, in ms; it needs 0.6 s of processor time. */
  childStartMsMax: 60_000,
  /** How long an idle child is kept, in ms: it uses 80 MB. */
  childIdleMs: 600_000,
  /** Texts that wait to be read, at most half of them of one project, and for how long, in ms. */
  textsWaitingMax: 256,
  textsWaitMsMax: 60_000,
  /** Characters of trees and of texts that were read and are kept: saved queries repeat them. */
  treesCharsMax: 8 * 1024 * 1024,
  /** The least that one cached tree counts, in characters. */
  treeCharsMin: 512,
};

const { childBytesKept, childBytesMax, textCpuMsMax, textMsMax, textsWaitMsMax } = parserLimits;
assertRising("a child that is kept may grow", childBytesKept, childBytesMax);
assertRising("a text may wait for the one before it", textCpuMsMax, textMsMax, textsWaitMsMax);
