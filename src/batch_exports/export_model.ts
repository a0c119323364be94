// What can be exported: rows of events, or of persons.

export const exportModels = ["events", "persons"] as const;
export type ExportModel = (typeof exportModels)[number];
