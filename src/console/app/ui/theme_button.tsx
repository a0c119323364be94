// The switch between light and dark: one button that cycles through the three choices.

import { type Theme, useTheme } from "./theme.ts";

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
  const [theme, choose] = useTheme();
  const { next, words, path } = choices[theme];
  const label = `Colours: ${words}. Change to ${choices[next].words}`;
  return (
    <button type="button" class="button icon" title={label} aria-label={label} onClick={() => choose(next)}>
      <svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true" class={`theme ${theme}`}>
        {theme === "system" && <circle cx="12" cy="12" r="9" />}
        <path d={path} />
      </svg>
    </button>
  );
}
