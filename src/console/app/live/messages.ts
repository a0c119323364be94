// Messages of the stream, as the server writes them.

/** The first one. */
export interface OpenMessage {
  /** Whether figures follow. */
  figures: boolean;
}

export interface FiguresMessage {
  at: number;
  accepted: Record<string, number>;
  stored: Record<string, number>;
  ignored: Record<string, number>;
  warned: Record<string, number>;
  refused: Record<string, number>;
  pending_events: number;
  pending_bytes: number;
  quarantined: number;
  spikes: number;
  disk_free_bytes: number;
  captures: { count: number; seconds: number };
  behind_ms: number | null;
}

export interface EventMessage {
  uuid: string;
  event: string;
  distinct_id: string;
  properties: string;
  properties_bytes: number;
  timestamp: string;
  created_at: string;
}
