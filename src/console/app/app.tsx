// The frame of the console: who is signed in, the project, and the page that was opened.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { Entrance, SignIn } from "./accounts/sign_in.tsx";
import { type Signed, type SigningIn, useSignIn } from "./accounts/signing.ts";
import { localZone } from "./clock.ts";
import { useKeptFocus } from "./kept_focus.ts";
import { Menu, TopBar } from "./navigation.tsx";
import { pageAt, pagesFor } from "./pages.tsx";
import { type ListReply, openApi } from "./session/api.ts";
import { type Route, useRoute } from "./session/route.ts";
import {
  allows,
  type ProjectRow,
  scopesIn,
  type Session,
  SessionContext,
  useSession,
  ZoneContext,
} from "./session/session.ts";
import { useLoaded } from "./session/use_loaded.ts";
import { NotesProvider } from "./ui/chart/notes.tsx";
import { NoSuch, WhenLoaded } from "./ui/parts.tsx";

export function App() {
  const signing = useSignIn();
  if (!signing.signed) return <SignIn {...signing} />;
  return <SignedIn signed={signing.signed} signOut={signing.signOut} />;
}

function SignedIn({ signed, signOut }: { signed: Signed; signOut: SigningIn["signOut"] }) {
  const { key, scopes } = signed;
  const api = useMemo(() => openApi(key, () => signOut(true)), [key]);
  const route = useRoute();
  const projects = useLoaded(
    async (signal) =>
      allows(scopes, "project:read")
        ? (await api.get<ListReply<ProjectRow>>("/api/projects/", { limit: 1000 }, signal)).results
        : [unnamed],
    [api],
  );
  const named = projects.value?.find(({ id }) => String(id) === route.project);
  const project = named ?? projects.value?.[0];
  const home = `/api/projects/${project?.id || "@current"}`;
  const apiOfProject = useMemo(() => openApi(key, () => signOut(true), home), [key, home]);
  const frame = (found: ProjectRow[]) => {
    if (!project) return <p class="notice">This key reaches no project.</p>;
    const session: Session = {
      api: apiOfProject,
      home,
      project,
      projects: found,
      ...scopesIn(project, scopes),
      refresh: projects.reload,
      signOut: () => signOut(false),
    };
    return (
      <SessionContext.Provider value={session}>
        <ZoneContext.Provider value={project.timezone}>
          <Frame route={route} />
        </ZoneContext.Provider>
      </SessionContext.Provider>
    );
  };
  if (projects.value) return <WhenLoaded loaded={projects}>{frame}</WhenLoaded>;
  return (
    <Entrance>
      <WhenLoaded loaded={projects}>{() => null}</WhenLoaded>
    </Entrance>
  );
}

/** For a key without `project:read`: the current project of its user. */
const unnamed: ProjectRow = {
  id: 0,
  name: "Current project",
  api_token: "",
  organization: "",
  timezone: "UTC",
  session_recording_opt_in: false,
  cookieless_server_hash_mode: 1,
  event_retention_days: null,
  daily_event_quota: null,
};

const contentId = "page-content";

function Frame({ route }: { route: Route }) {
  const session = useSession();
  const { project } = session;
  /** Whether the address names a project that does not exist or is not shown. */
  const isStray = route.project !== "" && project !== unnamed && String(project.id) !== route.project;
  const groups = pagesFor(session);
  const allowed = groups.flatMap(({ entries }) => entries);
  const entry = pageAt(allowed, route);
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useKeptFocus(contentId);
  useEffect(() => {
    // The focus moves to the page that was opened, for keyboards and screen readers.
    if (!isFirst.current) main.current?.querySelector("h1")?.focus();
    isFirst.current = false;
  }, [entry?.name]);
  const content = () => {
    if (isStray) return <NoSuch title="Not found" what="project" name={route.project} />;
    if (entry) return <entry.page route={route} />;
    return <NoSuch title="Not found" what="page" name={[route.page, ...route.more].join("/")} />;
  };
  const [zone, readerZone] = [project.timezone, localZone()];
  const clockText =
    zone === readerZone
      ? `Times are in the time zone ${zone}, the project’s and yours.`
      : `Days, charts and SQL are in the project’s time zone, ${zone}; other times in yours, ${readerZone}.`;
  return (
    <>
      <a
        class="skip"
        href={`#${contentId}`}
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        To the content
      </a>
      <TopBar page={entry?.name ?? ""} isStray={isStray} />
      <div class="frame">
        <Menu groups={groups} current={entry?.name} />
        <main id={contentId} tabIndex={-1} ref={main} key={`${route.project || project.id} ${entry?.name}`}>
          <NotesProvider>{content()}</NotesProvider>
          <footer class="quiet">{clockText}</footer>
        </main>
      </div>
    </>
  );
}
