import { expect, test } from "bun:test";
import { addressesIn } from "../../../src/subscriptions/channels/address_list.ts";

test("an address is named once, in whatever case, as it was written first", () => {
  expect(addressesIn(" Ada@example.com, bob@example.com,ada@EXAMPLE.com,, ")).toEqual([
    "Ada@example.com",
    "bob@example.com",
  ]);
});
