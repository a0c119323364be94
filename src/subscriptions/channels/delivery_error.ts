// Why something did not arrive, as the deliverer needs to know it. Never a reason to send twice.

/**
 * - `refused`: said no for good.
 * - `again`: certainly not taken; another try may be.
 * - `doubt`: it may have been taken, so it is not sent again.
 */
export type DeliveryFate = "refused" | "again" | "doubt";

export class DeliveryError extends Error {
  readonly fate: DeliveryFate;
  /** Whose mistake it is: only the target's count towards disabling a subscription. */
  readonly blame: "target" | "server";

  constructor(message: string, fate: DeliveryFate, blame: "target" | "server") {
    super(message);
    this.name = "Undelivered";
    this.fate = fate;
    this.blame = blame;
  }
}
