// How large counted repetitions make a regular expression.

/** Characters and classes of a pattern, each as often as the repetitions around it count. */
export function countSteps(pattern: string): number {
  const open: number[] = [];
  let steps = 0;
  /** Steps of what a repetition would repeat. */
  let last = 0;
  /** Start of the class that is read; -1 outside of one. */
  let classAt = -1;
  for (const { 0: text, 1: least, 2: most, index } of pattern.matchAll(
    /\\[^]|\{(\d{1,9})(?:,(\d{0,9}))?\}|[^]/g,
  )) {
    if (classAt >= 0) {
      const isFirst = index === classAt + 1 || (index === classAt + 2 && pattern[classAt + 1] === "^");
      if (text === "]" && !isFirst) classAt = -1;
    } else if (least !== undefined) {
      const times = Math.max(1, Number(most || least));
      steps += last * (times - 1);
      last *= times;
    } else if (text === "(") {
      open.push(steps);
      last = 0;
    } else if (text === ")") {
      last = steps - (open.pop() ?? 0);
    } else {
      if (text === "[") classAt = index;
      steps++;
      last = "*+?".includes(text) ? last + 1 : 1;
    }
  }
  return steps;
}
