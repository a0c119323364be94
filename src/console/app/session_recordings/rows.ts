// A recording as the API shows it.

export interface RecordingRow {
  id: string;
  distinct_id: string;
  viewed: boolean;
  recording_duration: number;
  active_seconds: number;
  start_time: string;
  end_time: string;
  click_count: number;
  keypress_count: number;
  console_error_count: number;
  start_url: string;
  ongoing: boolean;
  activity_score: number;
  person: { name: string; uuid: string };
}
