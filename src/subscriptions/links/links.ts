// The links of an email. Each has an encrypted token of what it opens, so that it works without an account, cannot be
// forged, and does not show an address.

import type { Secrets } from "../../access/secret.ts";
import type { Clock } from "../../core/clock.ts";
import { withoutLast } from "../../core/trim.ts";
import { subscriptionLimits } from "../limits.ts";

type ReportLink =
  | { opens: "report"; delivery: number }
  | { opens: "chart"; delivery: number; section: number }
  | { opens: "unsubscribe"; subscription: number; address: string };

export type Links = ReturnType<typeof openLinks>;

/** The longest token that is read, in characters; real ones have less than 700. */
const tokenCharsMax = 2000;

/** @param siteUrl the URL at which recipients reach this server; read for every link. */
export function openLinks(secrets: Secrets, clock: Clock, siteUrl: () => string) {
  const token = (link: ReportLink): string => {
    const sealed = secrets.seal({ ...link, until: clock.now() + subscriptionLimits.emailLinkMs });
    return Buffer.from(sealed).toString("base64url");
  };
  return {
    token,
    url: (link: ReportLink) => `${withoutLast(siteUrl(), "/")}/subscriptions/${link.opens}/${token(link)}`,
    /** Reads what a token opens; undefined when it was not made here, opens something else, or has expired. */
    read: <Opens extends ReportLink["opens"]>(opens: Opens, text: string) => {
      if (text.length > tokenCharsMax || !/^[\w-]+$/.test(text)) return undefined;
      const link = unseal(secrets, text);
      if (link?.["opens"] !== opens || !(Number(link["until"]) > clock.now())) return undefined;
      return link as unknown as Extract<ReportLink, { opens: Opens }>;
    },
  };
}

function unseal(secrets: Secrets, token: string): Record<string, unknown> | undefined {
  try {
    return secrets.open(Buffer.from(token, "base64url"));
  } catch {
    return undefined;
  }
}
