// Draws SVG as PNG in a thread of its own: a picture takes longer than a capture request may wait. The one file
// that knows the renderer and the font. Never reads a file but the font's.

import { setPriority } from "node:os";
import { Resvg } from "@resvg/resvg-js";
import { chartFont, chartWidth } from "./chart.ts";

declare const self: Worker;

// Captures come first where cores are few. Elsewhere than on Linux this would slow the whole process.
if (process.platform === "linux") setPriority(10);

const fonts = ["DejaVuSans.ttf"].map((name) =>
  Bun.resolveSync(`dejavu-fonts-ttf/ttf/${name}`, import.meta.dir),
);

/** Asked one SVG at a time; answers with its PNG, or with why there is none. */
self.onmessage = ({ data }: MessageEvent<string>) => {
  try {
    const options = {
      fitTo: { mode: "width" as const, value: 2 * chartWidth },
      font: { loadSystemFonts: false, fontFiles: fonts, defaultFontFamily: chartFont },
    };
    const png = Uint8Array.from(new Resvg(data, options).render().asPng());
    self.postMessage({ png }, [png.buffer]);
  } catch (thrown) {
    self.postMessage({ error: String(thrown) });
  }
};
