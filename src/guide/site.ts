// The operators' pages as a site: the README and src/docs rendered to HTML, with a search. The files are the same
// whether the server answers with them or `bun run docs` writes them into a folder.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { wordsIn } from "../core/words.ts";
import { css, script } from "./assets.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Pages in reading order. A test checks that every file of src/docs is here. */
export const guidePages = wordsIn(`
  getting_started moving_in moving_from api operating backup
  proxies scaling security reliability log_lines releasing changelog
`);

type Page = ReturnType<typeof toPage>;

/**
 * All files of the site by path, e.g. `operating.html`.
 * @param apiUrl the API's page; without it no page links to one.
 */
export function readSite(apiUrl?: string): Map<string, string> {
  const docs = join(root, "src/docs");
  const deploy = readdirSync(join(docs, "deploy"));
  const linked = (href: string) => toLink(href, deploy);
  const readme = join(root, "README.md");
  const pages = [
    ...(existsSync(readme) ? [toPage("index", readFileSync(readme, "utf8"), linked)] : []),
    ...guidePages.map((name) => toPage(name, readFileSync(join(docs, `${name}.md`), "utf8"), linked)),
  ];
  return new Map([
    ...pages.map((page) => [`${page.name}.html`, toHtml(page, pages, apiUrl)] as const),
    ...deploy.map((name) => [`deploy/${name}`, readFileSync(join(docs, "deploy", name), "utf8")] as const),
    ["search.json", JSON.stringify(pages.flatMap(searched))],
    ["guide.css", css],
    ["guide.js", script],
  ]);
}

function toPage(name: string, markdown: string, linked: (href: string) => string | undefined) {
  const sections = readSections(markdown);
  let heading = 0;
  const html = Bun.markdown.render(markdown, {
    ...elements,
    heading: (children, { level }) => `<h${level} id="${sections[heading++]!.id}">${children}</h${level}>\n`,
    link: (children, { href }) => {
      const link = linked(href);
      return link === undefined ? children : `<a href="${Bun.escapeHTML(link)}">${children}</a>`;
    },
  });
  return { name, html, sections };
}

const element = (name: string) => (children: string) => `<${name}>${children}</${name}>`;
const block = (name: string) => (children: string) => `<${name}>${children}</${name}>\n`;

/** The HTML of Markdown's elements; markup is shown as text, images are omitted. */
const elements = {
  text: (text: string) => Bun.escapeHTML(text),
  paragraph: block("p"),
  blockquote: block("blockquote"),
  code: (children: string) => `<pre><code>${children}</code></pre>\n`,
  list: (children: string, { ordered }: { ordered: boolean }) => block(ordered ? "ol" : "ul")(children),
  listItem: block("li"),
  hr: () => "<hr>\n",
  table: (children: string) => `<div class="wide"><table>${children}</table></div>\n`,
  thead: element("thead"),
  tbody: element("tbody"),
  tr: block("tr"),
  th: element("th"),
  td: element("td"),
  strong: element("strong"),
  emphasis: element("em"),
  codespan: element("code"),
  strikethrough: element("del"),
  image: () => "",
};

/** The plain text of a page under each of its headings, and their names in links; the first is the page's. */
function readSections(markdown: string) {
  const spaced = (children: string) => `${children} `;
  const text = Bun.markdown.render(markdown, {
    heading: (children) => `\0${children}\0`,
    paragraph: spaced,
    listItem: spaced,
    code: spaced,
    th: spaced,
    td: spaced,
  });
  const [, ...parts] = text.split("\0");
  const used = new Map<string, number>();
  return parts.flatMap((heading, i) => {
    if (i % 2 === 1) return [];
    const slug = toSlug(heading);
    const count = used.get(slug) ?? 0;
    used.set(slug, count + 1);
    const body = (parts[i + 1] ?? "").replaceAll(/\s+/g, " ").trim();
    return [{ heading, id: count === 0 ? slug : `${slug}-${count}`, text: body }];
  });
}

/** A heading's name in links, as Markdown's usual renderers make it. */
function toSlug(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");
}

/** A page's link on the site; undefined for a file that is not on the site. */
function toLink(href: string, deploy: readonly string[]): string | undefined {
  if (/^(https?:|#)/.test(href)) return href;
  const [path = "", hash] = href.split("#", 2);
  const anchor = hash === undefined ? "" : `#${hash}`;
  const name = basename(path);
  if (/(^|\/)deploy\//.test(path) && deploy.includes(name)) return `deploy/${name}`;
  if (path === "../../README.md") return `index.html${anchor}`;
  const page = guidePages.find((text) => path === `${text}.md` || path === `src/docs/${text}.md`);
  return page && `${page}.html${anchor}`;
}

function searched({ name, sections }: Page) {
  const page = sections[0]!.heading;
  return sections.map(({ heading, id, text }) => ({ href: `${name}.html#${id}`, page, heading, text }));
}

function toHtml({ name, html, sections }: Page, pages: readonly Page[], apiUrl: string | undefined): string {
  const items = pages.map((page) => {
    const current = page.name === name ? ' aria-current="page"' : "";
    return `<li><a href="${page.name}.html"${current}>${toTitle(page)}</a></li>`;
  });
  if (apiUrl !== undefined) items.push(`<li><a href="${apiUrl}">API, operation by operation</a></li>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${toTitle({ sections })}${name === "index" ? "" : " · Sluice"}</title>
<link rel="stylesheet" href="guide.css">
<script src="guide.js" defer></script>
</head>
<body>
<nav aria-label="Pages">
<label>Search <input type="search" id="search" maxlength="100" autocomplete="off"></label>
<ul id="found" aria-live="polite"></ul>
<ul>
${items.join("\n")}
</ul>
</nav>
<main>
${html}</main>
</body>
</html>
`;
}

function toTitle({ sections }: Pick<Page, "sections">): string {
  return Bun.escapeHTML(sections[0]!.heading);
}
