// Accounts over HTTP: signing in, one's own account, invitations.

import { mounted, type RoomParts } from "../http/operation.ts";
import { inviteOperations } from "./invites/operations.ts";
import { signInOperations } from "./sign_in/operations.ts";
import { openSigning, type SigningOptions } from "./sign_in/signing.ts";

export function accountRoutes({ gate, ...options }: RoomParts<"gate"> & SigningOptions) {
  const signing = openSigning(options);
  return mounted(gate, "Accounts", [...signInOperations(signing), ...inviteOperations(signing)]);
}
