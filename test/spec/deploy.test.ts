// Files for operators, as the programs that read them see them; each is skipped by name where its program is missing.

import { afterAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";

afterAll(cleanUp);

const root = resolve(import.meta.dir, "../..");
const textOf = (path: string) => readFileSync(join(root, path), "utf8");

/** What a program prints, and how it ends. */
function said(...command: string[]): { code: number; text: string } {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, {
    cwd: root,
    env: { ...process.env, ...settings },
  });
  return { code: exitCode, text: `${stdout}${stderr}` };
}

/** What compose.yaml asks for. */
const settings = { POSTGRES_PASSWORD: "a", CLICKHOUSE_PASSWORD: "b", SECRET_KEY: "c".repeat(32) };

const has = (...command: string[]) => Bun.which(command[0]!) !== null && said(...command).code === 0;

test.skipIf(!has("promtool", "--version"))("promtool finds nothing wrong with the alert rules", () => {
  expect(said("promtool", "check", "rules", "src/docs/deploy/alerts.yml")).toMatchObject({ code: 0 });
});

test.skipIf(!has("promtool", "--version"))("the rules of backups fire for old and for failed ones", () => {
  const path = join(makeFolder(), "backups.yml");
  const series = (outcome: string) => `sluice_backup_last_${outcome}_timestamp_seconds`;
  // The samples are of a moment 198,000 s after 1970.
  const now = 198_000;
  const ask = (ages: Readonly<Record<string, number>>, fired: readonly string[]) => ({
    interval: "1m",
    input_series: Object.entries(ages).map(([name, seconds]) => ({
      series: series(name),
      // From the first minute on until that moment.
      values: `${now - seconds}x${now / 60 + 5}`,
    })),
    promql_expr_test: ["SluiceBackupOld", "SluiceBackupFailed"].map((alertname) => ({
      expr: `ALERTS{alertname="${alertname}",alertstate="firing"}`,
      eval_time: `${now}s`,
      exp_samples: fired.includes(alertname)
        ? [
            {
              labels: `ALERTS{alertname="${alertname}",alertstate="firing"}`,
              value: 1,
            },
          ]
        : [],
    })),
  });
  const tests = [
    ask({ success: 3600 }, []),
    ask({ success: 190_000 }, ["SluiceBackupOld"]),
    ask({ success: 3600, failure: 60 }, ["SluiceBackupFailed"]),
    ask({ success: 60, failure: 3600 }, []),
    ask({ failure: 60 }, ["SluiceBackupFailed"]),
    ask({}, []),
  ];
  const rule_files = [join(root, "src/docs/deploy/alerts.yml")];
  writeFileSync(path, JSON.stringify({ rule_files, evaluation_interval: "1m", tests }));
  expect(said("promtool", "test", "rules", path)).toMatchObject({ code: 0 });
});

/** The expressions of the dashboard's panels. */
function expressionsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = "expr" in value && typeof value.expr === "string" ? [value.expr] : [];
  return [...own, ...Object.values(value).flatMap(expressionsIn)];
}

test.skipIf(!has("promtool", "--version"))("promtool reads every expression of the dashboard", () => {
  const expressions = expressionsIn(JSON.parse(textOf("src/docs/deploy/dashboard.json")));
  expect(expressions.length).toBeGreaterThan(10);
  const check = (list: readonly string[]) => {
    const path = join(makeFolder(), "rules.yml");
    // What Grafana puts for its own variable.
    const rules = list.map((one, i) => ({
      record: `panel:${i}`,
      expr: one.replaceAll("$__rate_interval", "1m"),
    }));
    writeFileSync(path, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
    return said("promtool", "check", "rules", path);
  };
  expect(check(expressions)).toMatchObject({ code: 0, text: expect.stringContaining("rules found") });
  expect(check([...expressions, "sum by (rate(x)"])).toMatchObject({ code: 1 });
});

test.skipIf(!has("docker", "compose", "version"))("compose reads both files", () => {
  for (const file of ["compose.yaml", "compose.cluster.yaml"]) {
    expect(said("docker", "compose", "-f", file, "config", "--quiet")).toEqual({ code: 0, text: "" });
  }
});

test.skipIf(!has("systemd-analyze", "--version"))(
  "systemd finds nothing wrong with the units, and little exposed",
  () => {
    const folder = makeFolder();
    const units = ["sluice.service", "sluice-backup.service", "sluice-backup.timer"].map((name) => {
      const text = textOf(`src/docs/deploy/${name}`).replace("/usr/local/bin/bun", process.execPath);
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    });
    expect(said("systemd-analyze", "verify", ...units)).toEqual({ code: 0, text: "" });
    for (const unit of units.filter((one) => one.endsWith(".service"))) {
      // In tenths; what is left is the network, which both need.
      expect(said("systemd-analyze", "security", "--offline=true", "--threshold=25", unit).code).toBe(0);
    }
  },
);

/** A service as compose.yaml and compose.cluster.yaml have it. */
interface Service {
  restart?: string;
  logging?: object;
  volumes?: string[];
  build?: object;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  mem_limit?: string;
}

test("the unit of backups is as confined as the server's", () => {
  const confined = (name: string) =>
    textOf(`src/docs/deploy/${name}`)
      .split("\n")
      .filter((line) =>
        /^(?:Protect|Restrict|Private|System|NoNew|Capability|Lock|UMask|State|User=)/.test(line),
      );
  expect(confined("sluice-backup.service").toSorted()).toEqual(confined("sluice.service").toSorted());
});

test("every service starts again, bounds logs and memory, gains no rights and names its volumes", () => {
  for (const file of ["compose.yaml", "compose.cluster.yaml"]) {
    const { services, volumes } = Bun.YAML.parse(textOf(file)) as {
      services: Record<string, Service>;
      volumes: object;
    };
    for (const [name, service] of Object.entries(services)) {
      expect([name, service.restart, typeof service.logging]).toEqual([name, "unless-stopped", "object"]);
      expect([name, service.security_opt]).toEqual([name, ["no-new-privileges:true"]]);
      expect([name, service.mem_limit]).toEqual([name, expect.stringMatching(/^\d+[mg]$/)]);
      const named = (service.volumes ?? []).map((volume) => volume.split(":")[0]!);
      expect(Object.keys(volumes)).toEqual(expect.arrayContaining(named));
      if (name !== "balancer") expect([name, named.length]).toEqual([name, 1]);
      if (!service.build) continue;
      const { read_only, cap_drop } = service;
      expect({ read_only, cap_drop }).toEqual({ read_only: true, cap_drop: ["ALL"] });
    }
  }
});
