// Texts in Markdown's common signs, read line by line: headings, lists, emphasis, code, links of the web and of mail.

export type Inline = { text: string; as?: "code" | "strong" | "em"; href?: string };
export type Block = { as: "h2" | "p" | "ul" | "ol"; lines: Inline[][] };

const starts = [
  // All are of the level of the tiles' names, below the page's: levels have no gaps.
  ["h2", /^#{1,6} +/],
  ["ul", /^ *[-*+] +/],
  ["ol", /^ *\d{1,9}[.)] +/],
] as const;

/** Lines of one kind that follow each other are one block; an empty line ends it. */
export function readMarkdown(text: string): Block[] {
  const blocks: Block[] = [];
  let isOpen = false;
  for (const line of text.split("\n")) {
    const [as, sign] = starts.find(([, start]) => start.test(line)) ?? (["p", /^/] as const);
    const last = blocks.at(-1);
    const words = readInline(line.replace(sign, "").trimEnd());
    if (line.trim() === "") isOpen = false;
    else if (isOpen && last?.as === as && as !== "h2") last.lines.push(words);
    else blocks.push({ as, lines: [words] });
    isOpen = line.trim() !== "";
  }
  return blocks;
}

/** Code, strong words, emphasis, and links of which others are text. */
const marks =
  /`([^`]{1,500})`|\*\*([^*]{1,500})\*\*|\*([^*]{1,500})\*|\[([^[\]]{1,500})\]\((\w{4,6}:[^\s()]{1,500})\)/g;
const linked = /^(?:https?:\/\/|mailto:)/;

/** Marks within marks are text. */
function readInline(line: string): Inline[] {
  const parts: Inline[] = [];
  let end = 0;
  for (const found of line.matchAll(marks)) {
    const [whole, code, strong, em, name, href = ""] = found;
    if (name !== undefined && !linked.test(href)) continue;
    parts.push({ text: line.slice(end, found.index) });
    end = found.index + whole.length;
    if (name !== undefined) parts.push({ text: name, href });
    else if (code !== undefined) parts.push({ text: code, as: "code" });
    else parts.push(strong === undefined ? { text: em!, as: "em" } : { text: strong, as: "strong" });
  }
  return [...parts, { text: line.slice(end) }].filter(({ text }) => text !== "");
}
