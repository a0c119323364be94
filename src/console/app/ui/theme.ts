// Light or dark: the system's setting, or the reader's own choice. The choice is in localStorage.

import { useEffect, useState } from "preact/hooks";

export type Theme = "system" | "light" | "dark";

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
  const apply = () => {
    document.documentElement.dataset["theme"] = storedTheme();
    dispatchEvent(new Event(changed));
  };
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
  document.documentElement.dataset["theme"] = theme;
  dispatchEvent(new Event(changed));
}

function chosenTheme(): Theme {
  return (document.documentElement.dataset["theme"] ?? "system") as Theme;
}

/** The choice, and how to make another. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  return [useFollowed(chosenTheme), chooseTheme];
}

/** Whether the page is dark, for canvases, which a style sheet cannot colour. */
export function useDark(): boolean {
  return useFollowed(() => {
    const theme = chosenTheme();
    return theme === "system" ? systemIsDark.matches : theme === "dark";
  });
}

function useFollowed<Value>(read: () => Value): Value {
  const [value, setValue] = useState(read);
  useEffect(() => {
    const follow = () => setValue(read);
    addEventListener(changed, follow);
    systemIsDark.addEventListener("change", follow);
    return () => {
      removeEventListener(changed, follow);
      systemIsDark.removeEventListener("change", follow);
    };
  }, []);
  return value;
}
