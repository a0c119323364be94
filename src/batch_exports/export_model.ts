// The models that can be exported: events and persons.

export const exportModels = ["events", "persons"] as const;
export type ExportModel = (typeof exportModels)[number];
