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

test.skipIf(!has("docker", "compose", "version"))("compose reads both files", () => {
  for (const file of ["compose.yaml", "compose.cluster.yaml"]) {
    expect(said("docker", "compose", "-f", file, "config", "--quiet")).toEqual({ code: 0, text: "" });
  }
});

test.skipIf(!has("systemd-analyze", "--version"))(
  "systemd finds nothing wrong with the unit, and little exposed",
  () => {
    const unit = join(makeFolder(), "sluice.service");
    writeFileSync(
      unit,
      textOf("src/docs/deploy/sluice.service").replace("/usr/local/bin/bun", process.execPath),
    );
    expect(said("systemd-analyze", "verify", unit)).toEqual({ code: 0, text: "" });
    // In tenths; what is left is the network, which a server has.
    expect(said("systemd-analyze", "security", "--offline=true", "--threshold=25", unit).code).toBe(0);
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
}

test("every service starts again, bounds its logs and names its volumes; the server is locked in", () => {
  for (const file of ["compose.yaml", "compose.cluster.yaml"]) {
    const { services, volumes } = Bun.YAML.parse(textOf(file)) as {
      services: Record<string, Service>;
      volumes: object;
    };
    for (const [name, service] of Object.entries(services)) {
      expect([name, service.restart, typeof service.logging]).toEqual([name, "unless-stopped", "object"]);
      const named = (service.volumes ?? []).map((volume) => volume.split(":")[0]!);
      expect(Object.keys(volumes)).toEqual(expect.arrayContaining(named));
      if (name !== "balancer") expect([name, named.length]).toEqual([name, 1]);
      if (!service.build) continue;
      const { read_only, cap_drop, security_opt } = service;
      expect({ read_only, cap_drop, security_opt }).toEqual({
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
      });
    }
  }
});
