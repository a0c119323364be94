# syntax=docker/dockerfile:1
# Debian, because the embedded engines are built against glibc.
FROM oven/bun:1.4.5-slim AS install
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
COPY .patches ./.patches
RUN bun install --frozen-lockfile --production

FROM oven/bun:1.4.5-slim
WORKDIR /app
COPY --from=install /app/node_modules ./node_modules
COPY package.json bunfig.toml tsconfig.json LICENSE ./
COPY sql ./sql
COPY src ./src
RUN mkdir /data && chown bun:bun /data
USER bun
ENV HOST=0.0.0.0 PORT=8000 DATA_DIR=/data LOG_FORMAT=json
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["bun", "-e", "const r = await fetch('http://127.0.0.1:' + (process.env.PORT ?? 8000) + '/_health'); process.exit(r.ok ? 0 : 1)"]
CMD ["bun", "src/main.ts", "serve"]
