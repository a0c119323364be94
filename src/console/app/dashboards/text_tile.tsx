// A text of a dashboard. The page makes the elements itself: HTML in a text stays text.

import { type Inline, readMarkdown } from "./markdown.ts";

export function TextTile({ text }: { text: string }) {
  return (
    <div class="text-tile">
      {readMarkdown(text).map(({ as: Element, lines }, i) => {
        const isList = Element === "ul" || Element === "ol";
        const content = lines.map((line, at) =>
          isList ? <li>{line.map(renderWords)}</li> : [at > 0 && "\n", line.map(renderWords)],
        );
        return <Element key={i}>{content}</Element>;
      })}
    </div>
  );
}

function renderWords({ text, as: Element, href }: Inline) {
  if (Element) return <Element>{text}</Element>;
  if (href === undefined) return text;
  return (
    <a href={href} rel="noopener noreferrer" target="_blank">
      {text}
    </a>
  );
}
