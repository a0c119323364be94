// How far a part is, for whoever watches a run of hours: a line a minute on stderr. And when it is to come to its end.

export class Progress {
  readonly #name: string;
  readonly #endsMs: number;
  readonly #beganMs = Date.now();
  #toldMs = this.#beganMs;

  /** `minutes`: how long the part may go on before it ends and is judged; undefined when it goes on until it is done. */
  constructor(name: string, minutes: number | undefined) {
    this.#name = name;
    this.#endsMs = this.#beganMs + (minutes ?? Number.POSITIVE_INFINITY) * 60_000;
  }

  isOver(): boolean {
    return Date.now() >= this.#endsMs;
  }

  tell(text: string): void {
    const now = Date.now();
    if (now - this.#toldMs < tellEveryMs) return;
    this.#toldMs = now;
    console.error(`${this.#name}: ${text}, ${Math.round((now - this.#beganMs) / 1000)} s`);
  }
}

const tellEveryMs = 60_000;
