// Draws charts as PNG in a worker thread, one at a time, with a time limit and a small cache.

import { withinMs } from "../../core/clock.ts";
import { putNewest } from "../../work/maps.ts";
import type { Semaphore } from "../../work/semaphore.ts";
import { subscriptionLimits } from "../limits.ts";

export type Pictures = ReturnType<typeof openPictures>;

/** `semaphore`: bounds this work together with the reading of insights. */
export function openPictures(semaphore: Semaphore) {
  let worker: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  const drawn = new Map<string, Uint8Array>();
  const stop = (): void => {
    worker?.terminate();
    worker = undefined;
  };
  const busy = () => new Error("too many charts wait to be drawn");
  const drawOnce = async (svg: string) =>
    drawn.get(svg) ?? (await semaphore.run({ busy }, () => drawNew(svg)));
  const drawNew = async (svg: string): Promise<Uint8Array> => {
    if (closed) throw new Error("the server is closing");
    worker ??= new Worker(new URL("./png_worker.ts", import.meta.url));
    try {
      const png = await withinMs(awaitAnswer(worker, svg), subscriptionLimits.pictureMsMax);
      putNewest(drawn, svg, png, subscriptionLimits.picturesKeptMax);
      return png;
    } catch (thrown) {
      // A worker that hangs or is broken is not used again.
      stop();
      throw thrown;
    }
  };
  return {
    /** The PNG of an SVG. @throws Error when it cannot be drawn, DeadlineError when it takes too long. */
    draw: (svg: string) => {
      const mine = last.then(() => drawOnce(svg));
      last = mine.catch(() => undefined);
      return mine;
    },
    /** Ends the thread; pictures that are waited for are rejected. */
    close: () => {
      closed = true;
      stop();
    },
  };
}

function awaitAnswer(worker: Worker, svg: string): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  worker.onmessage = ({ data }: MessageEvent<{ png: Uint8Array } | { error: string }>) => {
    if ("png" in data) resolve(data.png);
    else reject(new Error(`the chart cannot be drawn: ${data.error}`));
  };
  worker.onerror = ({ message }) => reject(new Error(`the chart cannot be drawn: ${message}`));
  worker.postMessage(svg);
  return promise;
}
