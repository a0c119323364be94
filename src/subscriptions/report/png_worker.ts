// Draws SVG as PNG in a thread of its own, since a picture takes longer than a capture request may wait. The only file
// that knows the renderer and the font.

import { setPriority } from "node:os";
import { join } from "node:path";
import { Resvg } from "@resvg/resvg-js";
import { servedFolder } from "../../core/version.ts";
import { chartFont, chartWidth } from "./chart.ts";

declare const self: Worker;

// A lower priority, so that captures come first. Only Linux sets it for a thread; elsewhere it is the process's.
if (process.platform === "linux") setPriority(10);

const fonts = [join(servedFolder("dejavu-fonts-ttf") ?? "", "ttf/DejaVuSans.ttf")];

/** Receives one SVG at a time, and posts its PNG or an error. */
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
