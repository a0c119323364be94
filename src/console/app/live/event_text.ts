// What distinguishes an event beside its name: the page that was seen, the element that was clicked.

import { type Fields, fieldsOf, listOf, textOf } from "../values.ts";

const lettersMax = 120;

/** "" where there is nothing to show. */
export function eventText(event: string, properties: Fields): string {
  const text = (name: string) => textOf(properties[name]);
  const shownText = () => {
    switch (event) {
      case "$pageview":
      case "$pageleave":
        return pageText(text("$current_url")) || text("$pathname");
      case "$screen":
        return text("$screen_name");
      case "$autocapture":
      case "$rageclick":
        return elementText(properties, text("$event_type"));
      case "$exception":
        return exceptionText(properties);
      case "$groupidentify":
        return [text("$group_type"), text("$group_key")].filter(Boolean).join(": ");
      case "$feature_flag_called":
        return text("$feature_flag");
      default:
        return "";
    }
  };
  const whole = shownText().trim().replaceAll(/\s+/g, " ");
  return whole.length > lettersMax ? `${whole.slice(0, lettersMax - 1)}…` : whole;
}

/** Host and path of the address: what follows the `?` is in the properties. */
function pageText(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    return `${host}${pathname}`;
  } catch {
    return url;
  }
}

/** Like `click on button “Buy now”`, of the list of elements or of the chain that newer libraries send. */
function elementText(properties: Fields, kind: string): string {
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
  return [kind, on].filter(Boolean).join(" on ");
}

function exceptionText(properties: Fields): string {
  const { type, value } = fieldsOf(listOf(properties["$exception_list"])[0]);
  const parts = [type ?? properties["$exception_type"], value ?? properties["$exception_message"]];
  return parts.filter((one) => typeof one === "string" && one !== "").join(": ");
}
