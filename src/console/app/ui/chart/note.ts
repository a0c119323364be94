// An annotation as the API shows it, and where a chart shows it.

export interface Note {
  id: number;
  content: string | null;
  date_marker: string | null;
  scope: string;
  dashboard_item: number | null;
  dashboard_id: number | null;
}

/** The insight and the dashboard of a chart. */
export interface ChartOwner {
  insight?: number;
  dashboard?: number;
}

export const readText = ({ content }: Note): string => content || "(no text)";

/** The index of a time, and one of its notes; undefined for a new one. */
export interface EditedNote {
  at: number;
  note?: Note | undefined;
}
