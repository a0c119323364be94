// Runs every bench and prints a table, or JSON with --json.

import { managementBench, managementLines } from "./management.ts";
import { scanBench } from "./scan.ts";

const results = [scanBench()];
const management = await managementBench();
if (process.argv.includes("--json")) process.stdout.write(`${JSON.stringify([...results, management])}\n`);
else {
  for (const { question, cpu_s_per_gb, json_parse_cpu_s_per_gb } of results) {
    const ratio = cpu_s_per_gb / json_parse_cpu_s_per_gb;
    process.stdout.write(
      `${question}: ${cpu_s_per_gb.toFixed(2)} CPU-s/GB (JSON.parse alone ${json_parse_cpu_s_per_gb.toFixed(2)}; ratio ${ratio.toFixed(2)})\n`,
    );
  }
  process.stdout.write(managementLines(management));
}
