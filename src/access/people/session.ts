// The session of a browser: a cookie of 256 random bits, stored as its hash. Only the console's own script can use it.

import { randomBase62 } from "../../core/id.ts";
import { limits } from "../../core/limits.ts";

/** Writes and reads the cookie of a session. */
export type SessionCookie = ReturnType<typeof sessionCookieFor>;

/** 43 letters and digits: 256 random bits. */
export const newSessionToken = (): string => randomBase62(43);

/** A session as it is stored; never the form of a stored key, so that neither is accepted as the other. */
export function hashSession(token: string): string {
  return `session$${new Bun.CryptoHasher("sha256").update(token).digest("hex")}`;
}

/** Seconds: the longest life of a session, as the table has it. */
const sessionSecondsMax = (30 * limits.dayMs) / 1000;

/** @param siteUrl SITE_URL. With https, browsers send the cookie over TLS only, and accept it from no other host. */
export function sessionCookieFor(siteUrl: string | undefined) {
  const { text, valueIn } = openCookie("sluice_session", siteUrl);
  return {
    /** The Set-Cookie of a new session. */
    set: (token: string) => text(token, sessionSecondsMax),
    clear: () => text("", 0),
    /** The stored form of the session that a request may use; undefined when there is none. */
    presentedBy: (request: Request) => {
      if (!isFromConsole(request) || !forPeople.test(new URL(request.url).pathname)) return undefined;
      const token = valueIn(request);
      return token !== undefined && /^[0-9A-Za-z]{43}$/.test(token) ? hashSession(token) : undefined;
    },
  };
}

/** A cookie that no script can read and no other site can send. */
export function openCookie(bareName: string, siteUrl: string | undefined) {
  const isSecure = siteUrl !== undefined && /^https:/i.test(siteUrl);
  const name = isSecure ? `__Host-${bareName}` : bareName;
  return {
    /** The Set-Cookie of a value, for so many seconds. */
    text: (value: string, seconds: number): string =>
      `${name}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${isSecure ? "; Secure" : ""}`,
    valueIn: ({ headers }: Request): string | undefined => readCookie(headers.get("cookie") ?? "", name),
  };
}

/** Paths on which sessions are accepted. SDKs' paths below /api have no gate. */
const forPeople = /^\/(api|console)\//;

/**
 * Whether the console's own script sent the request. Another origin, also another port, is not `same-origin`; and a
 * frame, a picture or a form that a recording or page shows sends no header of its own.
 */
export function isFromConsole({ headers }: Request): boolean {
  return headers.get("sec-fetch-site") === "same-origin" && headers.get("x-sluice-console") === "1";
}

/** The value of a cookie that was sent once; a second one was set by somebody else. */
function readCookie(cookies: string, name: string): string | undefined {
  const values = cookies.split(";").flatMap((pair) => {
    const [key = "", value = ""] = pair.trim().split("=", 2);
    return key === name ? [value] : [];
  });
  return values.length === 1 ? values[0] : undefined;
}
