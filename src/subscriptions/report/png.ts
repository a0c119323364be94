// Pictures of charts, one at a time, drawn beside the event loop. Never holds more than a few, and never waits for
// ever.

import { withinMs } from "../../core/deadline.ts";
import { reportLimits } from "./limits.ts";
import { subscriptionLimits } from "../limits.ts";
import { Semaphore } from "../../work/semaphore.ts";

export interface Pictures {
  /**
   * The PNG of an SVG.
   * @throws Error when it cannot be drawn, DeadlineError when it takes too long.
   */
  draw(svg: string): Promise<Uint8Array>;
  /** Ends the thread; whoever waits for a picture is told so. */
  close(): void;
}

/** `places`: who may be at heavy work at once; without them, one picture is drawn at a time all the same. */
export function openPictures(
  places: Semaphore = new Semaphore(1, subscriptionLimits.deliveryReadsWaitingMax),
): Pictures {
  let worker: Worker | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let closed = false;
  const drawn = new Map<string, Uint8Array>();
  const stop = (): void => {
    worker?.terminate();
    worker = undefined;
  };
  const ask = async (svg: string): Promise<Uint8Array> => {
    const known = drawn.get(svg);
    if (known) return known;
    const busy = () => new Error("too many charts wait to be drawn");
    return await places.run({ busy }, () => drawNew(svg));
  };
  const drawNew = async (svg: string): Promise<Uint8Array> => {
    if (closed) throw new Error("the server is closing");
    worker ??= new Worker(new URL("./png_worker.ts", import.meta.url));
    try {
      const png = await withinMs(answerOf(worker, svg), reportLimits.pictureMsMax);
      drawn.set(svg, png);
      const [oldest] = drawn.keys();
      if (drawn.size > reportLimits.picturesKeptMax && oldest !== undefined) drawn.delete(oldest);
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
