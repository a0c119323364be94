import { expect, test } from "bun:test";
import { eventText } from "../../../../src/console/app/live/event_text.ts";

test.each([
  [
    "$pageview",
    { $current_url: "https://shop.example/tea/green?x=1#top", $pathname: "/tea" },
    "shop.example/tea/green",
  ],
  ["$pageview", { $pathname: "/tea" }, "/tea"],
  ["$pageleave", { $current_url: "no address" }, "no address"],
  ["$screen", { $screen_name: "Basket" }, "Basket"],
  ["$autocapture", { $event_type: "click", $el_text: " Buy\n now " }, "click on “Buy now”"],
  [
    "$autocapture",
    { $event_type: "click", $elements: [{ tag_name: "button", $el_text: "Buy" }, { tag_name: "div" }] },
    "click on button “Buy”",
  ],
  [
    "$autocapture",
    { $event_type: "submit", $elements_chain: 'a.link:href="/x"nth-child="1"text="Say \\"hi\\"";div' },
    'submit on a “Say "hi"”',
  ],
  ["$autocapture", { $event_type: "change", $elements_chain: 'input:nth-child="1"' }, "change on input"],
  ["$autocapture", {}, ""],
  ["$exception", { $exception_list: [{ type: "TypeError", value: "x is null" }] }, "TypeError: x is null"],
  ["$exception", { $exception_message: "gone" }, "gone"],
  ["$groupidentify", { $group_type: "company", $group_key: "acme" }, "company: acme"],
  ["$feature_flag_called", { $feature_flag: "new-basket" }, "new-basket"],
  ["bought", { $current_url: "https://shop.example/" }, ""],
  ["$pageview", { $current_url: { hostile: true }, $pathname: 7 }, ""],
  ["$autocapture", { $elements: [null], $el_text: 4, $event_type: [] }, ""],
])("%s with %p says %p", (event, properties, text) => {
  expect(eventText(event, properties)).toBe(text);
});

test("a long text is cut, and says so", () => {
  const text = eventText("$screen", { $screen_name: "x".repeat(5000) });
  expect(text).toHaveLength(120);
  expect(text).toEndWith("…");
});
