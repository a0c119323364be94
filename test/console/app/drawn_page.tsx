// A part of the console drawn in a document of this process: what it shows, what it asks, and what pressing it does. The
// API is a table of answers. The only file that knows happy-dom.

import { Window } from "happy-dom";
import { type ComponentChildren, render } from "preact";
import { act } from "preact/test-utils";
import { openApi } from "../../../src/console/app/session/api.ts";
import {
  type ProjectRow,
  scopesIn,
  type Session,
  SessionContext,
} from "../../../src/console/app/session/session.ts";

/** A request that a page sent. */
export interface Asked {
  method: string;
  path: string;
  query: Record<string, string>;
  body: unknown;
}

/** What the API answers, by method and path. What throws is a server that cannot be reached. */
export type Answers = Readonly<Record<string, object | ((asked: Asked) => object | Promise<object>)>>;

/** The answer of an API that refuses. */
export function refused(status: number, detail: string): object {
  return Response.json({ code: "error", detail, attr: null }, { status });
}

export interface DrawnPage {
  document: Document;
  /** Requests, in order. */
  asked: Asked[];
  /** The text that is shown, its blanks as one. */
  text(): string;
  /** Texts of elements, in order. */
  texts(selector: string): string[];
  find(selector: string): HTMLElement;
  /** Presses the button or the link of this name. @throws where there is none, or it is disabled */
  press(name: string): Promise<void>;
  /** Writes in the field of this label, or chooses in it. */
  fill(label: string, value: string): Promise<void>;
  /** Sends the form that the button of this name is in. */
  submit(name: string): Promise<void>;
  /** Presses a key in an element. */
  key(element: HTMLElement, key: string, more?: object): Promise<void>;
  /** The value of the field of this label. */
  valueOf(label: string): string;
  /** Waits until what was answered is shown; an answer that is a promise may come later. */
  settled(): Promise<void>;
}

export const project: ProjectRow = {
  id: 7,
  name: "Shop",
  api_token: "phc_shop",
  organization: "018f6d00-0000-7000-8000-000000000001",
  timezone: "UTC",
  session_recording_opt_in: true,
  cookieless_server_hash_mode: 1,
  event_retention_days: null,
  daily_event_quota: null,
};

export interface Given {
  answers?: Answers;
  scopes?: readonly string[];
  /** The part of the page's address behind `#`. */
  hash?: string;
  project?: Partial<ProjectRow>;
  /** The path of the page's address; "/" by default. */
  path?: string;
  /** What the tab has stored: a key that is signed in with. */
  stored?: Readonly<Record<string, string>>;
}

/** Names of a browser that pages use, which this process gets while a page is drawn. */
const lent = [
  ..."window document location history sessionStorage localStorage navigator addEventListener".split(" "),
  ..."removeEventListener getComputedStyle matchMedia ResizeObserver Element Node HTMLElement".split(" "),
  ..."HTMLSelectElement HTMLInputElement Event MouseEvent KeyboardEvent isSecureContext parent".split(" "),
  ..."devicePixelRatio Path2D dispatchEvent CustomEvent requestAnimationFrame cancelAnimationFrame MutationObserver".split(
    " ",
  ),
] as const;

/** One for all pages: uPlot remembers the one that it is loaded in. */
const window = new Window({ url: "http://127.0.0.1:8000/" });
const document = window.document as unknown as Document;

/** Drawing on a canvas is called, and measures nothing. */
const drawing: object = new Proxy(
  { canvas: { width: 0, height: 0 }, measureText: () => ({ width: 10 }) },
  { get: (own: Record<string, unknown>, name: string) => (name in own ? own[name] : () => undefined) },
);
Object.assign(window, {
  Path2D: function Path2D() {
    return drawing;
  },
});
Object.assign(window.HTMLCanvasElement.prototype, { getContext: () => drawing });

/** Loads what asks for a document already when it is imported. */
export async function inDocument<Module>(load: () => Promise<Module>): Promise<Module> {
  const returnGlobals = lendGlobals();
  try {
    return await load();
  } finally {
    returnGlobals();
  }
}

/** @param children drawn for somebody who is signed in to a project. */
export async function drawPage(children: ComponentChildren, given: Given = {}): Promise<DrawnPage> {
  window.happyDOM.setURL(`http://127.0.0.1:8000${given.path ?? "/"}#${given.hash ?? "/7/overview"}`);
  for (const [name, value] of Object.entries(given.stored ?? {})) window.sessionStorage.setItem(name, value);
  const returnGlobals = lendGlobals();
  closeOpened = async () => {
    await act(() => render(null, document.body));
    window.localStorage.clear();
    window.sessionStorage.clear();
    returnGlobals();
  };
  const { asked, fetch, isIdle } = answersOf(given.answers ?? {});
  globalThis.fetch = fetch;
  const own = { ...project, ...given.project };
  const home = `/api/projects/${own.id}`;
  const session: Session = {
    api: openApi(
      "phx_test",
      () => asked.push({ method: "REFUSED", path: "", query: {}, body: undefined }),
      home,
    ),
    home,
    project: own,
    projects: [own],
    ...scopesIn(own, given.scopes ?? ["*"]),
    refresh: () => asked.push({ method: "REFRESH", path: "", query: {}, body: undefined }),
    signOut: () => asked.push({ method: "SIGN OUT", path: "", query: {}, body: undefined }),
  };
  const settled = async () => {
    // A turn for the reply, one for its body, one for what follows from it.
    for (let idle = 0; idle < 3; idle = isIdle() ? idle + 1 : 0) await act(turn);
  };
  await act(() =>
    render(<SessionContext.Provider value={session}>{children}</SessionContext.Provider>, document.body),
  );
  await settled();
  return {
    document,
    asked,
    settled,
    ...looking,
    ...actingWith(settled),
  };
}

let closeOpened = async () => {};

/** For afterEach: returns the names of a browser. */
export async function closePage(): Promise<void> {
  await closeOpened();
  closeOpened = async () => {};
}

async function turn(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}

function lendGlobals(): () => void {
  const process = globalThis as unknown as Record<string, unknown>;
  const own = window as unknown as Record<string, unknown>;
  const before = [...lent, "fetch"].map(
    (name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const,
  );
  for (const name of lent) {
    const value = own[name];
    const isBound = typeof value === "function" && /^[a-z]/.test(name);
    const given = isBound ? (value as () => void).bind(window) : value;
    Object.defineProperty(process, name, { value: given, configurable: true, writable: true });
  }
  return () => {
    for (const [name, descriptor] of before) {
      if (descriptor) Object.defineProperty(process, name, descriptor);
      else delete process[name];
    }
  };
}

function answersOf(answers: Answers) {
  const asked: Asked[] = [];
  let open = 0;
  const fetch = async (input: string, { method = "GET", body, signal }: RequestInit = {}) => {
    const { pathname: path, searchParams } = new URL(input, "http://127.0.0.1:8000");
    const sent: Asked = {
      method,
      path,
      query: Object.fromEntries(searchParams),
      body: typeof body === "string" ? (JSON.parse(body) as unknown) : undefined,
    };
    asked.push(sent);
    open++;
    await turn();
    open--;
    const found = answers[`${method} ${path}`] ?? refused(404, `no answer to ${method} ${path}`);
    const reply = typeof found === "function" ? await (found as (asked: Asked) => object)(sent) : found;
    if (signal?.aborted) throw new DOMException("aborted", "AbortError");
    return reply instanceof Response ? reply.clone() : Response.json(reply);
  };
  return { asked, fetch: fetch as unknown as typeof globalThis.fetch, isIdle: () => open === 0 };
}

function plain(text: string | null | undefined): string {
  return (text ?? "").replace(/\s+/g, " ").trim();
}

const looking = {
  text: () => plain(document.body.textContent),
  texts: (selector: string) =>
    [...document.querySelectorAll(selector)].map(({ textContent }) => plain(textContent)),
  find: (selector: string) => {
    const found = document.querySelector<HTMLElement>(selector);
    if (!found) throw new Error(`no ${selector}`);
    return found;
  },
};

function actingWith(settled: () => Promise<void>) {
  const named = (name: string): HTMLElement => {
    const all = [...document.querySelectorAll<HTMLElement>("button, a, summary")];
    const nameOf = (one: HTMLElement) => one.getAttribute("aria-label") ?? plain(one.textContent);
    const found = all.find((one) => nameOf(one) === name);
    if (!found) throw new Error(`no button ${name} among ${all.map(nameOf).join(" | ")}`);
    if (found.hasAttribute("disabled")) throw new Error(`the button ${name} is disabled`);
    return found;
  };
  const fieldOf = (label: string): HTMLInputElement => {
    const all = [...document.querySelectorAll("label")];
    const own = all.find(({ textContent }) => plain(textContent) === label);
    const direct = document.querySelector<HTMLInputElement>(`[aria-label="${label}"]`);
    const found = own ? document.getElementById(own.htmlFor) : direct;
    if (!found) throw new Error(`no field ${label} among ${all.map((one) => one.textContent).join(" | ")}`);
    return found as HTMLInputElement;
  };
  const send = async (element: HTMLElement, event: object) => {
    await act(() => void element.dispatchEvent(event as Event));
    await settled();
  };
  return {
    valueOf: (label: string) => fieldOf(label).value,
    press: async (name: string) =>
      await send(named(name), new window.MouseEvent("click", { bubbles: true, cancelable: true })),
    fill: async (label: string, value: string) => {
      const field = fieldOf(label);
      if (field.type === "checkbox") field.checked = value === "on";
      else field.value = value;
      const kind = field.tagName === "SELECT" || field.type === "checkbox" ? "change" : "input";
      await send(field, new window.Event(kind, { bubbles: true }));
    },
    submit: async (name: string) => {
      const button = named(name);
      if (button.getAttribute("type") !== "submit") throw new Error(`the button ${name} sends no form`);
      const event = new window.Event("submit", { bubbles: true, cancelable: true });
      await send(button.closest("form")!, event);
    },
    key: async (element: HTMLElement, key: string, more: object = {}) =>
      await send(
        element,
        new window.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }),
      ),
  };
}
