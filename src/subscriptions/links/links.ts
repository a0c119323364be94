// The links of an email: what they open is sealed into them, so that they need no account and nobody can make one.
// Never shows an address in a URL.

import type { Secrets } from "../../access/secret.ts";
import type { Clock } from "../../core/clock.ts";
import { subscriptionLimits } from "../limits.ts";
import { withoutLast } from "../../core/trim.ts";

export type ReportLink =
  | { opens: "report"; delivery: number }
  | { opens: "chart"; delivery: number; section: number }
  | { opens: "unsubscribe"; subscription: number; address: string };

export interface Links {
  /** What stands in the URL. */
  token(link: ReportLink): string;
  /** The whole URL. */
  url(link: ReportLink): string;
  /** What a token opens; undefined when it is none of ours, for something else, or too old. */
  read<Opens extends ReportLink["opens"]>(
    opens: Opens,
    token: string,
  ): Extract<ReportLink, { opens: Opens }> | undefined;
}

export interface LinkOptions {
  secrets: Secrets;
  clock: Clock;
  /** Where readers reach this server; asked when a link is made. */
  siteUrl: () => string;
}

/** The longest token read, in characters; ours have less than 700. */
const tokenCharsMax = 2000;

export function openLinks({ secrets, clock, siteUrl }: LinkOptions): Links {
  const token = (link: ReportLink): string => {
    const sealed = secrets.seal({ ...link, until: clock.now() + subscriptionLimits.letterLinkMs });
    return Buffer.from(sealed).toString("base64url");
  };
  return {
    token,
    url: (link) => `${withoutLast(siteUrl(), "/")}/subscriptions/${link.opens}/${token(link)}`,
    read: (opens, text) => {
      if (text.length > tokenCharsMax || !/^[\w-]+$/.test(text)) return undefined;
      const said = unseal(secrets, text);
      if (said?.["opens"] !== opens || !(Number(said["until"]) > clock.now())) return undefined;
      return said as unknown as Extract<ReportLink, { opens: typeof opens }>;
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
