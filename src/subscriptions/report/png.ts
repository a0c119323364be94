// Pictures of charts, one at a time, drawn beside the event loop. Never holds more than a few, and never waits for
// ever.

import { withinMs } from "../../core/deadline.ts";
import { limits } from "../../core/limits.ts";

export interface Pictures {
  /**
   * The PNG of an SVG.
   * @throws Error when it cannot be drawn, DeadlineError when it takes too long.
   */
  draw(svg: string): Promise<Uint8Array>;
  /** Ends the thread; whoever waits for a picture is told so. */
  close(): void;
}

export function openPictures(): Pictures {
  let worker: Worker | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let closed = false;
  const drawn = new Map<string, Uint8Array>();
  const stop = (): void => {
    worker?.terminate();
    worker = undefined;
  };
  const ask = async (svg: string): Promise<Uint8Array> => {
    if (closed) throw new Error("the server is closing");
    const known = drawn.get(svg);
    if (known) return known;
    worker ??= new Worker(new URL("./png_worker.ts", import.meta.url));
    try {
      const png = await withinMs(answerOf(worker, svg), limits.pictureMsMax);
      drawn.set(svg, png);
      const [oldest] = drawn.keys();
      if (drawn.size > limits.picturesKeptMax && oldest !== undefined) drawn.delete(oldest);
      return png;
    } catch (thrown) {
      // What hangs or is damaged is not asked again.
      stop();
      throw thrown;
    }
  };
  return {
    draw: (svg) => {
      const mine = turn.then(() => ask(svg));
      turn = mine.catch(() => undefined);
      return mine;
    },
    close: () => {
      closed = true;
      stop();
    },
  };
}

function answerOf(worker: Worker, svg: string): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  worker.onmessage = ({ data }: MessageEvent<{ png: Uint8Array } | { error: string }>) => {
    if ("png" in data) resolve(data.png);
    else reject(new Error(`the chart cannot be drawn: ${data.error}`));
  };
  worker.onerror = ({ message }) => reject(new Error(`the chart cannot be drawn: ${message}`));
  worker.postMessage(svg);
  return promise;
}
