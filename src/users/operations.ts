// The user of a key over HTTP: the first request of clients, to see whose key they have.

import type { Access } from "../access/gate.ts";
import { Fault } from "../core/fault.ts";
import { present } from "../http/fields/field_fault.ts";
import { reply } from "../http/fields/schema.ts";
import { mounted, type RoomParts, toOperations } from "../http/operation.ts";
import { ownUserModel } from "./model.ts";
import { getOwnUser } from "./store.ts";

const operation = toOperations("users");
const others = "Users are only shown to themselves, and changed by themselves, as `@me`.";

export function userRoutes({ gate, sql }: RoomParts<"gate" | "sql">) {
  return mounted(gate, "Users", [
    operation("GET /:uuid/", "user:read", {
      summary: "Get the key's user: `@me`, or their own UUID",
      description:
        "`team` is the user's current project and `organization` its organization, as far as the key reaches them.",
      replies: { 200: reply("The user.", ownUserModel) },
      find: ({ access, params: { uuid } }) => requireOwn(access, uuid),
      answer: async ({ access }) => present(await getOwnUser(sql, access)),
    }),
  ]);
}

/** @throws Fault permission_denied for any user but the key's. */
export function requireOwn({ user }: Access, uuid: string): void {
  if (uuid !== "@me" && uuid.toLowerCase() !== user.uuid) throw new Fault("permission_denied", others);
}
