// Waiting that ends. Never stops the work itself: what comes too late is dropped.

/** Thrown instead of a late answer. */
export class DeadlineError extends Error {
  readonly code = "TIMEOUT";

  constructor(msMax: number) {
    super(`no answer within ${msMax} ms`);
    this.name = "DeadlineError";
  }
}

/** What `work` resolves to, or DeadlineError after `msMax` milliseconds. */
export async function withinMs<T>(work: Promise<T>, msMax: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new DeadlineError(msMax)), msMax);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
