// Light or dark: the system's setting, or the reader's own choice. The choice is in localStorage.

import { useEffect, useState } from "preact/hooks";

type Theme = "system" | "light" | "dark";

const stored = "sluice_theme";
/** The event of a change in this document. Other tabs and frames get the browser's own event, `storage`. */
const changed = "sluice-theme";
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function storedTheme(): Theme {
  try {
    const theme = localStorage.getItem(stored);
    return theme === "light" || theme === "dark" ? theme : "system";
  } catch {
    // Browsers can be set to forbid storage. The system's setting is used then.
    return "system";
  }
}

/** Sets the document's colours now, and when another tab changes the choice. Called once, by each entry. */
export function followTheme(): void {
  const apply = () => applyTheme(storedTheme());
  apply();
  addEventListener("storage", apply);
}

function chooseTheme(theme: Theme): void {
  try {
    if (theme === "system") localStorage.removeItem(stored);
    else localStorage.setItem(stored, theme);
  } catch {
    // Without storage, the choice lasts until the page is left.
  }
  applyTheme(theme);
}

function applyTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
  dispatchEvent(new Event(changed));
}

/** The choice, and whether the page is dark by it. */
function readTheme() {
  const theme = (document.documentElement.dataset["theme"] ?? "system") as Theme;
  return { theme, isDark: theme === "system" ? systemIsDark.matches : theme === "dark" };
}

/** Whether the page is dark, for canvases, which a style sheet cannot colour. */
export const useDark = (): boolean => useTheme().isDark;

function useTheme() {
  const [theme, setTheme] = useState(readTheme);
  useEffect(() => {
    const follow = () => setTheme(readTheme);
    addEventListener(changed, follow);
    systemIsDark.addEventListener("change", follow);
    return () => {
      removeEventListener(changed, follow);
      systemIsDark.removeEventListener("change", follow);
    };
  }, []);
  return theme;
}

/** The button goes through these three. */
const choices: Record<Theme, { next: Theme; words: string; path: string }> = {
  system: { next: "light", words: "as the system has them", path: "M12 3a9 9 0 0 0 0 18z" },
  light: {
    next: "dark",
    words: "light",
    path: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2",
  },
  dark: { next: "system", words: "dark", path: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z" },
};

export function ThemeButton() {
  const { theme } = useTheme();
  const { next, words, path } = choices[theme];
  const label = `Colours: ${words}. Change to ${choices[next].words}`;
  return (
    <button
      type="button"
      class="button icon"
      title={label}
      aria-label={label}
      onClick={() => chooseTheme(next)}
    >
      <svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true" class={`theme ${theme}`}>
        {theme === "system" && <circle cx="12" cy="12" r="9" />}
        <path d={path} />
      </svg>
    </button>
  );
}
