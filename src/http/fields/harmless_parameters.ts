// Parameters that PostHog's clients send to any operation, and that change no answer here. Every other parameter is
// declared by its operation or refused.

/** `reason`: why it changes no answer. `only`: the only value that is harmless; any by default. */
export const harmlessParameters: ReadonlyMap<string, { reason: string; only?: string }> = new Map(
  Object.entries<{ reason: string; only?: string }>({
    _: { reason: "Makes an address new to caches; no answer is cached here." },
    basic: { reason: "Leaves results out of a list of insights, which never has them here." },
    client_query_id: { reason: "Names a query in PostHog's own log; a query's id is in its body." },
    format: { reason: "Answers are JSON; an operation that offers CSV declares it.", only: "json" },
    personal_api_key: { reason: "The key itself, which was checked before." },
    refresh: { reason: "How old a result may be; results are computed when they are requested." },
  }),
);
