// Checks what a ClickHouse must have to serve us. It is checked when a server starts on a remote one, so that what is
// missing is one line there, instead of a failing statement later. README.md lists it with its reasons.

import { UserError } from "../../core/fault.ts";
import { wordsIn } from "../../core/words.ts";
import { type ClickHouse, ClickHouseError } from "./clickhouse.ts";

const versionMin = [24, 8] as const;

/** Settings of statements, except those that only some versions have: see clickhouse.ts. */
export const engineSettings: readonly string[] = wordsIn(`
  additional_table_filters apply_deleted_mask async_insert cancel_http_readonly_queries_on_client_close
  compile_aggregate_expressions connect_timeout_with_failover_ms connections_with_failover_max_tries
  date_time_output_format distributed_ddl_output_mode distributed_ddl_task_timeout distributed_foreground_insert
  distributed_product_mode do_not_merge_across_partitions_select_final input_format_skip_unknown_fields
  insert_deduplicate lightweight_deletes_sync load_balancing log_comment max_block_size
  max_bytes_before_external_group_by max_bytes_before_external_sort max_execution_time max_insert_block_size
  max_insert_threads max_memory_usage max_partitions_per_insert_block max_result_bytes
  max_temporary_data_on_disk_size_for_query max_threads min_insert_block_size_bytes min_insert_block_size_rows
  mutations_sync optimize_aggregation_in_order optimize_move_to_prewhere optimize_on_insert
  output_format_json_escape_forward_slashes output_format_json_named_tuples_as_objects
  output_format_json_quote_64bit_integers output_format_parquet_compression_method
  output_format_parquet_parallel_encoding output_format_parquet_row_group_size
  output_format_parquet_row_group_size_bytes parallel_distributed_insert_select prefer_localhost_replica
  result_overflow_mode s3_connect_timeout_ms s3_max_inflight_parts_for_one_file s3_max_redirects s3_request_timeout_ms
  s3_retry_attempts s3_truncate_on_insert select_sequential_consistency skip_unavailable_shards
  transform_null_in
`);

export const tableSettings = wordsIn(`
  fsync_after_insert fsync_part_directory index_granularity min_compress_block_size min_rows_to_fsync_after_merge
  old_parts_lifetime
`);

/** The newer ones of the functions that statements call; a migration that lacks another one fails by its name. */
export const engineFunctions = wordsIn(`
  JSONExtract JSONExtractRaw SHA1 UUIDToNum accurateCastOrNull bitTest byteSize cityHash64
  fromUnixTimestamp64Micro groupArraySorted mapContains mapFilter mapFromArrays multiSearchAny
  quantileExactInclusive reinterpretAsUInt128 reinterpretAsUUID sipHash64 substringUTF8 toDate32 toInt256
  toJSONString toUInt128 toUnixTimestamp64Micro xxHash64
`);

interface Found {
  version: string;
  settings: string[];
  fixed: string[];
  table_settings: string[];
  functions: string[];
}

/** Checks what the engine lacks. @throws UserError in one line; any other error when it does not answer. */
export async function checkEngine(clickhouse: ClickHouse): Promise<void> {
  const names = { settings: engineSettings, table_settings: tableSettings, functions: engineFunctions };
  const rows = await clickhouse.query<Found>(featuresQuery, names).catch((thrown: unknown) => {
    // A user who may not read these tables may still have what they list.
    if (thrown instanceof ClickHouseError && thrown.type === "ACCESS_DENIED") return [];
    throw thrown;
  });
  const problem = rows[0] && findEngineProblem(rows[0]);
  if (problem) throw new UserError(`CLICKHOUSE_URL: ${problem}`);
}

const lacking = (param: string, table: string) =>
  `arrayFilter(name -> NOT has((SELECT groupArray(name) FROM system.${table}), name), {${param}:Array(String)})`;

const featuresQuery = `SELECT version() AS version,
  ${lacking("settings", "settings")} AS settings,
  (SELECT groupArray(name) FROM system.settings WHERE readonly != 0 AND name IN {settings:Array(String)}) AS fixed,
  ${lacking("table_settings", "merge_tree_settings")} AS table_settings,
  ${lacking("functions", "functions")} AS functions`;

/** Finds what is wrong with an engine, in one line; undefined when nothing is. */
export function findEngineProblem(found: Found): string | undefined {
  const { version, settings, fixed, table_settings, functions } = found;
  const lacks = [
    ...named("the setting", settings),
    ...named("the table setting", table_settings),
    ...named("the function", functions),
  ].join(", ");
  const engine = `ClickHouse ${version}`;
  if (isOld(version)) {
    const detail = lacks && ` (it lacks ${lacks})`;
    return `${engine} is too old: ${versionMin.join(".")} or a newer one is needed${detail}`;
  }
  if (lacks) return `${engine} lacks ${lacks}`;
  if (fixed.length > 0) return `its user may not change ${named("the setting", fixed).join(", ")}`;
  return undefined;
}

function named(kind: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  return [`${kind}${names.length > 1 ? "s" : ""} ${names.join(", ")}`];
}

function isOld(version: string): boolean {
  const [year = 0, month = 0] = version.split(".").map(Number);
  const [yearMin, monthMin] = versionMin;
  return year < yearMin || (year === yearMin && month < monthMin);
}
