// Lists of words that are written as one text.

type Split<
  Text extends string,
  By extends string,
  Found = never,
> = Text extends `${infer Item}${By}${infer Rest}` ? Split<Rest, By, Found | Item> : Found | Text;

/** The words of a text, in their order, each with its own type. */
export function wordsIn<const Text extends string>(
  text: Text,
): Exclude<Split<Split<Text, "\n"> & string, " ">, "">[] {
  return text.trim().split(/\s+/) as never;
}

/** Tags as PostHog keeps them: trimmed, in lower case, each once. */
export function cleanTags(tags: readonly string[]): string[] {
  return [...new Set(tags.map((tag) => tag.trim().toLowerCase()).filter(Boolean))];
}
