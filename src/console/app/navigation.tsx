// The bar at the top, with the project, and the menu of the pages that the key allows.

import { Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { icons, pagesFor } from "./pages.tsx";
import { buildHref, navigate } from "./session/route.ts";
import { useSession } from "./session/session.ts";
import { Button } from "./ui/parts.tsx";
import { ThemeButton } from "./ui/theme.tsx";

export function TopBar({ page, isStray }: { page: string; isStray: boolean }) {
  const { project, projects, signOut } = useSession();
  return (
    <header class="top">
      <a class="brand" href={buildHref(project.id, "")}>
        <img src="/console/assets/icon.svg" alt="Sluice" width="24" height="24" />
        <span aria-hidden="true">Sluice</span>
      </a>
      <label class="visually-hidden" for="project">
        Project
      </label>
      <select
        id="project"
        value={isStray ? "" : project.id}
        onChange={(event) => navigate(buildHref(Number(event.currentTarget.value), page))}
      >
        {isStray && <option value="">Not found</option>}
        {projects.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      <span class="fill" />
      <ThemeButton />
      <a href="/docs">API</a>
      <Button onClick={signOut}>Sign out</Button>
    </header>
  );
}

export function Menu({
  groups,
  current,
}: {
  groups: ReturnType<typeof pagesFor>;
  current: string | undefined;
}) {
  const { project } = useSession();
  const menu = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a narrow screen the menu is a row that scrolls.
    menu.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [current]);
  return (
    <nav class="menu" aria-label="Pages of the console" ref={menu}>
      {groups.map(({ title, entries }) => (
        <Fragment key={title}>
          {title && <p class="menu-group">{title}</p>}
          <ul {...(title && { "aria-label": title })}>
            {entries.map(
              ({ name, title: page }) =>
                icons[name] && (
                  <li key={name}>
                    <a
                      href={buildHref(project.id, name)}
                      {...(name === current && { "aria-current": "page" as const })}
                    >
                      <svg class="icon" viewBox="0 0 24 24" width="17" height="17" aria-hidden="true">
                        <path d={icons[name]} />
                      </svg>
                      {page}
                    </a>
                  </li>
                ),
            )}
          </ul>
        </Fragment>
      ))}
    </nav>
  );
}
