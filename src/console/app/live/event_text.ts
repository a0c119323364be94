// What distinguishes an event beside its name: the page that was seen, the element that was clicked.

import { shortText } from "../ui/format.ts";
import { type Fields, fieldsOf, listOf, textOf } from "../values.ts";

const lettersMax = 120;

/** Of the events of PostHog's libraries. */
const texts: Readonly<Record<string, (properties: Fields) => string>> = {
  $pageview: pageText,
  $pageleave: pageText,
  $screen: ({ $screen_name }) => textOf($screen_name),
  $autocapture: elementText,
  $rageclick: elementText,
  $exception: exceptionText,
  $groupidentify: ({ $group_type, $group_key }) =>
    [$group_type, $group_key].map(textOf).filter(Boolean).join(": "),
  $feature_flag_called: ({ $feature_flag }) => textOf($feature_flag),
};

/** "" where there is nothing to show. */
export function eventText(event: string, properties: Fields): string {
  const whole = (Object.hasOwn(texts, event) ? texts[event]!(properties) : "").trim();
  return shortText(whole.replaceAll(/\s+/g, " "), lettersMax);
}

/** Host and path of the address: what follows the `?` is in the properties. */
function pageText({ $current_url, $pathname }: Fields): string {
  const url = textOf($current_url);
  try {
    const { host, pathname } = new URL(url);
    return `${host}${pathname}`;
  } catch {
    return url || textOf($pathname);
  }
}

/** Like `click on button “Buy now”`, of the list of elements or of the chain that newer libraries send. */
function elementText(properties: Fields): string {
  const element = fieldsOf(listOf(properties["$elements"])[0]);
  const chain = textOf(properties["$elements_chain"]);
  const tag = element["tag_name"] ?? /^[\w-]+/.exec(chain)?.[0] ?? "";
  const text =
    properties["$el_text"] ??
    element["$el_text"] ??
    element["text"] ??
    /[:"]text="((?:[^"\\]|\\.){0,400})/.exec(chain)?.[1]?.replaceAll(/\\(.)/g, "$1") ??
    "";
  const named = textOf(text).trim() && `“${textOf(text).trim()}”`;
  const on = [textOf(tag), named].filter(Boolean).join(" ");
  return [textOf(properties["$event_type"]), on].filter(Boolean).join(" on ");
}

function exceptionText(properties: Fields): string {
  const { type, value } = fieldsOf(listOf(properties["$exception_list"])[0]);
  const parts = [type ?? properties["$exception_type"], value ?? properties["$exception_message"]];
  return parts.filter((one) => typeof one === "string" && one !== "").join(": ");
}
