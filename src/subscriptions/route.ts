// The links of an email: the report as a page, its charts, and the form to unsubscribe. Each has an encrypted token of
// what it opens, so that it works without an account, cannot be forged, and does not show an address. A GET changes
// nothing, since mail scanners follow every link.

import { Elysia } from "elysia";
import type { Secrets } from "../access/secret.ts";
import type { Clock } from "../core/clock.ts";
import { withoutLast } from "../core/trim.ts";
import { present } from "../http/fields/field_fault.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { leaveAlert } from "./alerts/check_store.ts";
import { emailHtml } from "./channels/email.ts";
import { findReport } from "./deliveries/store.ts";
import { subscriptionLimits } from "./limits.ts";
import { chartSvg } from "./report/chart.ts";
import type { Pictures } from "./report/png.ts";
import { removeAddress } from "./store.ts";

/** `subscription`: the number of one, or the id of an alert. */
type ReportLink =
  | { opens: "report"; delivery: number }
  | { opens: "chart"; delivery: number; section: number }
  | { opens: "unsubscribe"; subscription: number | string; address: string };

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

const hidden = { detail: { hide: true }, parse: "none" as const };

export function linkRoutes({ sql, links, pictures }: { sql: Postgres; links: Links; pictures: Pictures }) {
  return new Elysia({ name: "subscription links" })
    .get(
      "/subscriptions/report/:token",
      async ({ params }) => {
        const link = present(links.read("report", params.token), gone);
        const report = present(await findReport(sql, link.delivery), gone);
        const chart = (section: number): string | undefined => {
          if (chartSvg(report.sections[section]?.chart) === undefined) return undefined;
          return `../chart/${links.token({ opens: "chart", delivery: link.delivery, section })}`;
        };
        return page(emailHtml(report, { chart }));
      },
      hidden,
    )
    .get(
      "/subscriptions/chart/:token",
      async ({ params }) => {
        const link = present(links.read("chart", params.token), gone);
        const report = await findReport(sql, link.delivery);
        const svg = present(chartSvg(report?.sections[link.section]?.chart), gone);
        const headers = { "content-type": "image/png", "cache-control": "public, max-age=86400" };
        return new Response(new Uint8Array(await pictures.draw(svg)), { headers });
      },
      hidden,
    )
    .get(
      "/subscriptions/unsubscribe/:token",
      ({ params }) => {
        const link = present(links.read("unsubscribe", params.token), gone);
        return page(
          messagePage(
            `Stop sending this report to ${link.address}?`,
            `<form method="post"><button style="padding:10px 18px;border:0;border-radius:6px;background:#2563eb;` +
              `color:#ffffff;font-size:14px">Unsubscribe</button></form>`,
          ),
        );
      },
      hidden,
    )
    .post(
      "/subscriptions/unsubscribe/:token",
      async ({ params }) => {
        const link = present(links.read("unsubscribe", params.token), gone);
        const { subscription, address } = link;
        if (typeof subscription === "number") await removeAddress(sql, subscription, address);
        else await leaveAlert(sql, subscription, address);
        return page(messagePage(`This report is no longer sent to ${link.address}.`, ""));
      },
      hidden,
    );
}

const gone = "This link is damaged or too old, or what it opened is gone.";

function messagePage(text: string, rest: string): string {
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>Subscription</title></head><body style="margin:0;background:#f3f4f6;font-family:sans-serif">` +
    `<div style="max-width:480px;margin:60px auto;padding:24px;background:#ffffff;border-radius:8px;color:#1f2937">` +
    `<p style="margin:0 0 16px">${Bun.escapeHTML(text)}</p>${rest}</div></body></html>`
  );
}

function page(html: string): Response {
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy":
      "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
  };
  return new Response(html, { headers });
}
