// Accounts over HTTP: signing in, one's own account, invitations; the user of a key.

import { mounted, type RoomParts } from "../http/operation.ts";
import { inviteOperations } from "./invites/operations.ts";
import { signInOperations, userOperations } from "./sign_in/operations.ts";
import { openSigning, type SigningOptions } from "./sign_in/signing.ts";

export function accountRoutes({ gate, ...options }: RoomParts<"gate"> & SigningOptions) {
  const signing = openSigning(options);
  return mounted(gate, "Accounts", [...signInOperations(signing), ...inviteOperations(signing)]);
}

export function userRoutes({ gate, sql }: RoomParts<"gate" | "sql">) {
  return mounted(gate, "Users", userOperations(sql));
}
