// Why a message was not delivered, and whether it may be sent again.

/**
 * - `refused`: the other side will not accept it.
 * - `again`: it was not accepted, and a retry may succeed.
 * - `doubt`: it may have been accepted, so it is not sent again.
 */
type DeliveryFate = "refused" | "again" | "doubt";

export class DeliveryError extends Error {
  readonly fate: DeliveryFate;
  /** The side at fault. Only failures of the target count towards disabling a subscription. */
  readonly blame: "target" | "server";

  constructor(message: string, fate: DeliveryFate, blame: "target" | "server") {
    super(message);
    this.name = "DeliveryError";
    this.fate = fate;
    this.blame = blame;
  }
}
