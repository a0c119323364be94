// A recording as the API shows it.

export interface RecordingRow {
  id: string;
  distinct_id: string;
  viewed: boolean;
  recording_duration: number;
  start_time: string;
  click_count: number;
  console_error_count: number;
  start_url: string;
  ongoing: boolean;
  person: { name: string; uuid: string };
}
