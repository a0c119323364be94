// Colours of lines and bars: those of a chart are all different.

/**
 * Colours that most people can distinguish, colour-blind people included. Each has a contrast of at least 4.5 to 1 with
 * its background.
 */
const first = {
  light: ["#2563eb", "#b45309", "#047857", "#be185d", "#6d28d9", "#0e7490", "#b91c1c", "#4d7c0f"],
  dark: ["#7aa2ff", "#fbbf24", "#34d399", "#f472b6", "#b794f6", "#22d3ee", "#f87171", "#a3e635"],
};

/** The golden angle, in degrees: however many hues there are, they lie far apart. */
const angle = 137.508;

/** The colour of line `i`, for however many lines: `#rrggbb`. */
export function inkAt(i: number, isDark: boolean): string {
  const usual = (isDark ? first.dark : first.light)[i];
  if (usual) return usual;
  const hue = (i * angle) % 360;
  // Three levels of brightness, all of them readable on the background.
  const level = i % 3;
  return toHex(hue, isDark ? 0.6 : 0.75, isDark ? 0.64 + level * 0.08 : 0.24 + level * 0.04);
}

/** The colour of what an earlier time had: quiet beside any other. */
export const earlierInk = (isDark: boolean): string => (isDark ? "#8a94a3" : "#7b8594");

/** The colour of line `i` at half strength, as `#rrggbb`; it is opaque, so that a bar hides what it is drawn over. */
export function paleInkAt(i: number, isDark: boolean): string {
  const [ink, ground] = [inkAt(i, isDark), isDark ? "#181c22" : "#ffffff"];
  const half = (from: number): string => {
    const [front, back] = [ink, ground].map((colour) => Number.parseInt(colour.slice(from, from + 2), 16));
    return Math.round((front! + back!) / 2)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${half(1)}${half(3)}${half(5)}`;
}

/** Converts hue (degrees), saturation and lightness (0 to 1). */
function toHex(hue: number, saturation: number, lightness: number): string {
  const spread = saturation * Math.min(lightness, 1 - lightness);
  const channel = (offset: number): string => {
    const k = (offset + hue / 30) % 12;
    const value = lightness - spread * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(value * 255)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${channel(0)}${channel(8)}${channel(4)}`;
}
