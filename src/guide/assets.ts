// Style and search of the operators' pages.

export const css = `:root {
  color-scheme: light dark;
  --text: light-dark(#1f2328, #e6e6e6);
  --soft: light-dark(#5b6470, #a0a8b3);
  --line: light-dark(#d8dde3, #3a3f46);
  --back: light-dark(#fff, #16181b);
  --code: light-dark(#f3f5f7, #22262b);
  --link: light-dark(#0b5cad, #7db8f5);
}
body {
  margin: 0; display: grid; grid-template-columns: 15rem minmax(0, 1fr);
  font: 16px/1.6 system-ui, sans-serif; color: var(--text); background: var(--back);
}
a { color: var(--link); }
nav {
  padding: 1rem; border-right: 1px solid var(--line); box-sizing: border-box;
  height: 100vh; overflow: auto; position: sticky; top: 0;
}
nav ul { list-style: none; padding: 0; margin: 1rem 0; }
nav li { margin: 0.3rem 0; }
nav a[aria-current] { font-weight: 600; color: var(--text); text-decoration: none; }
nav label { color: var(--soft); font-size: 0.9rem; }
nav input { display: block; width: 100%; box-sizing: border-box; font: inherit; padding: 0.3rem 0.5rem; }
#found p { margin: 0; font-size: 0.85rem; color: var(--soft); }
main { padding: 1rem 2rem 4rem; max-width: 60rem; min-width: 0; box-sizing: border-box; }
h1, h2, h3 { line-height: 1.25; scroll-margin-top: 1rem; }
code { background: var(--code); padding: 0.1em 0.3em; border-radius: 3px; font-size: 0.9em; overflow-wrap: anywhere; }
pre { background: var(--code); padding: 0.8rem; overflow-x: auto; border-radius: 4px; }
pre code { padding: 0; overflow-wrap: normal; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { border-bottom: 1px solid var(--line); padding: 0.3rem 0.8rem 0.3rem 0; text-align: left; vertical-align: top; }
@media (max-width: 50rem) {
  body { grid-template-columns: minmax(0, 1fr); }
  nav { height: auto; position: static; border-right: 0; border-bottom: 1px solid var(--line); }
  main { padding: 1rem; }
}
`;

/** Every word must be in a section; those that have it in their heading come first. Texts are shown as texts. */
export const script = `const field = document.getElementById("search");
const list = document.getElementById("found");
let sections;
field.addEventListener("input", async () => {
  sections ??= fetch("search.json").then((reply) => reply.json());
  const all = await sections;
  const words = field.value.toLowerCase().split(/\\s+/).filter((word) => word !== "");
  const has = (text, word) => text.toLowerCase().includes(word);
  const found = words.length === 0 ? [] : all
    .filter(({ heading, text }) => words.every((word) => has(heading, word) || has(text, word)))
    .map((section) => [words.filter((word) => has(section.heading, word)).length, section])
    .sort(([one], [other]) => other - one)
    .slice(0, 20);
  list.replaceChildren(...found.map(([, { href, page, heading, text }]) => {
    const item = document.createElement("li");
    const link = Object.assign(document.createElement("a"), { href, textContent: heading });
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 40);
    const excerpt = text.slice(at, at + 120);
    const line = Object.assign(document.createElement("p"), { textContent: page + ": " + excerpt });
    item.append(link, line);
    return item;
  }));
  if (words.length > 0 && found.length === 0) {
    list.replaceChildren(Object.assign(document.createElement("li"), { textContent: "Nothing found." }));
  }
});
`;
