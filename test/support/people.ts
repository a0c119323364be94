// The browser of a signed-in person, without a browser: the headers that the console's script sends, and its cookie.

export interface Answered {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
  text: string;
}

/** What only the console's own script can send together. */
export const ofConsole = { "sec-fetch-site": "same-origin", "x-sluice-console": "1" };

/** Addresses that a server with TRUSTED_PROXIES=127.0.0.1 believes: each person has one. */
let addresses = 0;

/** A browser with its cookies. */
export class Person {
  readonly #server: { url: string };
  readonly #address: string;
  /** As the header sends it; empty while signed out. */
  cookie = "";
  /** The Set-Cookie of the last answer for the session. */
  set: string | null = null;
  /** The cookie that shows an earlier sign-in. */
  known = "";

  /** @param address of its own by default. */
  constructor(server: { url: string }, address = `10.0.${(addresses += 1) >> 8}.${addresses & 255}`) {
    this.#server = server;
    this.#address = address;
  }

  async ask(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = ofConsole,
  ): Promise<Answered> {
    const reply = await fetch(`${this.#server.url}${path}`, {
      method,
      headers: {
        ...headers,
        "x-forwarded-for": this.#address,
        ...((this.cookie || this.known) && { cookie: [this.cookie, this.known].filter(Boolean).join("; ") }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const set = reply.headers.getSetCookie();
    this.set = set.find((one) => /^(__Host-)?sluice_session=/.test(one)) ?? null;
    this.known = set.find((one) => /^(__Host-)?sluice_browser=/.test(one))?.split(";", 1)[0] ?? this.known;
    if (this.set !== null) this.cookie = /Max-Age=0/.test(this.set) ? "" : this.set.split(";", 1)[0]!;
    const text = await reply.text();
    return { status: reply.status, headers: reply.headers, text, body: text === "" ? {} : JSON.parse(text) };
  }

  async signIn(email: string, password: string): Promise<Answered> {
    return await this.ask("POST", "/api/login/", { email, password });
  }
}

/** Gives the user of a key a first password, by a session of the key that ends then; their address. */
export async function givePassword(server: { url: string }, key: string, password: string): Promise<string> {
  const person = new Person(server);
  await person.ask("POST", "/api/login/", { personal_api_key: key });
  const { status, body, text } = await person.ask("PATCH", "/api/users/@me/", { password });
  if (status !== 200) throw new Error(`no password was set: ${status} ${text}`);
  await person.ask("POST", "/api/logout/");
  return String(body["email"]);
}
