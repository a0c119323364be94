// The hosts that recordings of a project load from: a setting of our own.

import { isPublicHost, loadHostsMax } from "../../core/public_host.ts";
import { fieldFault } from "../../http/fields/field_fault.ts";

export const loadHostsNotes = {
  default: [],
  maxItems: loadHostsMax,
  description:
    "Hosts whose images and style sheets are loaded, over https and without credentials, when a recording is " +
    "played in the console: whoever has the project API key can send a recording that names them. By default none.",
};

/** @throws Fault for text that is not the name of a host on the internet. */
export function checkLoadHosts(hosts: readonly string[] = []): void {
  const wrong = hosts.findIndex((text) => !isPublicHost(text));
  if (wrong < 0) return;
  const detail = "Expected the name of a host on the internet in lower case, like cdn.example.com.";
  throw fieldFault("invalid_input", detail, ["session_recording_load_hosts", String(wrong)]);
}
