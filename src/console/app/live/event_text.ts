// Reads what distinguishes an event beside its name: the page that was seen, the element that was clicked.

import { shortText } from "../ui/format.ts";
import { type Fields, toFields, toList, toText } from "../values.ts";

const lettersMax = 120;

/** Events of PostHog's libraries. */
const texts: Readonly<Record<string, (properties: Fields) => string>> = {
  $pageview: pageText,
  $pageleave: pageText,
  $screen: ({ $screen_name }) => toText($screen_name),
  $autocapture: elementText,
  $rageclick: elementText,
  $exception: exceptionText,
  $groupidentify: ({ $group_type, $group_key }) =>
    [$group_type, $group_key].map(toText).filter(Boolean).join(": "),
  $feature_flag_called: ({ $feature_flag }) => toText($feature_flag),
};

/** "" where there is nothing to show. */
export function eventText(event: string, properties: Fields): string {
  const whole = (Object.hasOwn(texts, event) ? texts[event]!(properties) : "").trim();
  return shortText(whole.replaceAll(/\s+/g, " "), lettersMax);
}

/** Host and path of the address: what follows the `?` is in the properties. */
function pageText({ $current_url, $pathname }: Fields): string {
  const url = toText($current_url);
  try {
    const { host, pathname } = new URL(url);
    return `${host}${pathname}`;
  } catch {
    return url || toText($pathname);
  }
}

/** Like `click on button “Buy now”`, of the list of elements or of the chain that newer libraries send. */
function elementText(properties: Fields): string {
  const element = toFields(toList(properties["$elements"])[0]);
  const chain = toText(properties["$elements_chain"]);
  const tag = element["tag_name"] ?? /^[\w-]+/.exec(chain)?.[0] ?? "";
  const text =
    properties["$el_text"] ??
    element["$el_text"] ??
    element["text"] ??
    /[:"]text="((?:[^"\\]|\\.){0,400})/.exec(chain)?.[1]?.replaceAll(/\\(.)/g, "$1") ??
    "";
  const named = toText(text).trim() && `“${toText(text).trim()}”`;
  const on = [toText(tag), named].filter(Boolean).join(" ");
  return [toText(properties["$event_type"]), on].filter(Boolean).join(" on ");
}

function exceptionText(properties: Fields): string {
  const { type, value } = toFields(toList(properties["$exception_list"])[0]);
  const parts = [type ?? properties["$exception_type"], value ?? properties["$exception_message"]];
  return parts.filter((part) => typeof part === "string" && part !== "").join(": ");
}
