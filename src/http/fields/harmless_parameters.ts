// Parameters that PostHog's clients send to any operation, and that change no answer here. Every other parameter is
// declared by its operation or refused.

interface Harmless {
  /** Why it changes no answer. */
  reason: string;
  /** The only value that is harmless; any by default. */
  only?: string;
}

export const harmlessParameters: ReadonlyMap<string, Harmless> = new Map(
  Object.entries<Harmless>({
    _: { reason: "Makes an address new to caches; no answer is cached here." },
    basic: { reason: "Leaves results out of a list of insights, which never has them here." },
    client_query_id: {
      reason: "Names a query in PostHog's own log, and selects nothing; a query's id is in its body.",
    },
    format: {
      reason: "Answers are JSON; an operation that offers CSV declares the parameter.",
      only: "json",
    },
    personal_api_key: { reason: "The key itself, which was checked before." },
    refresh: { reason: "How old a result may be; results are computed when they are requested." },
  }),
);
