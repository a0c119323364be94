// What operations are called: as PostHog's own document calls them, so that a client made of that one finds the same
// names here.

const verbs: Record<string, string> = {
  post: "create",
  put: "update",
  patch: "partial_update",
  delete: "destroy",
};

/** Verbs where PostHog's differ from the form of the answer, by the last word of the path. */
const reading: Record<string, string> = {
  logs: "retrieve",
  values: "retrieve",
  property_definitions: "retrieve",
  sharing: "list",
};

/** Actions on a project itself; other paths below a project are named without it. */
const ofProjects = new Set(["reset_token"]);

/**
 * For example `batch_exports_runs_list` for GET /api/projects/{project_id}/batch_exports/{id}/runs/. Ids of paths
 * elsewhere begin with their home: `environments_batch_exports_runs_list`.
 * @param isList whether the answer has several things.
 */
export function operationIdOf(method: string, path: string, isList: boolean): string {
  const words = path
    .split("/")
    .filter((word) => word !== "" && word !== "api" && !word.startsWith("{"))
    .map((word) => word.replace(/\W/g, ""));
  const last = words.at(-1) ?? "";
  if (words[0] === "projects" && words.length > 1 && !ofProjects.has(words[1]!)) words.shift();
  const verb = method === "get" ? (reading[last] ?? (isList ? "list" : "retrieve")) : verbs[method];
  return [...words, verb ?? method].join("_");
}
