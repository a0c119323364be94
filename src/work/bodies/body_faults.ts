// Faults of bodies that do not arrive as they should, or for which there is no memory.

import { Fault, unavailable } from "../../core/fault.ts";
import { uploadLimits } from "./limits.ts";

export function clientStalled(waited: string): Fault {
  return new Fault(
    "upload_timeout",
    `The client stopped sending data: the body was not here after ${waited}.`,
  );
}

export function clientGone(): Fault {
  return new Fault("upload_timeout", "The client left before its body had arrived.");
}

export function bodyTooLarge(size: number, bytesMax: number): Fault {
  return new Fault(
    "payload_too_large",
    `The body must be smaller than ${bytesMax} bytes; ${size} bytes arrived.`,
  );
}

export function exhausted(): Fault {
  const detail = "The server has no memory for further request bodies. Send the request again later.";
  return unavailable(detail, uploadLimits.memoryRetrySeconds);
}
