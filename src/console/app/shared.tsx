// The page of a link to an insight or a dashboard, for people without an account: its last results, without queries.

import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { QueryDrawing, ResultType } from "../../query/result.ts";
import type { DrawnLine } from "../../query/results/figures.ts";
import { type Layouts, toShapes } from "./dashboards/layout.ts";
import { TextTile } from "./dashboards/text_tile.tsx";
import { ResultView } from "./explore/result_view.tsx";
import { readResults } from "./explore/results.ts";
import { readRefusal, Refusal, sendRequest } from "./session/api.ts";
import { ZoneContext } from "./session/session.ts";
import { useLoaded, usePolling } from "./session/use_loaded.ts";
import { timeText } from "./ui/format.ts";
import { LinkPassword } from "./ui/link_password.tsx";
import { ErrorText } from "./ui/parts.tsx";
import { followTheme, ThemeButton } from "./ui/theme.tsx";

interface SharedInsight {
  id: number;
  layouts: Layouts;
  name: string;
  description: string;
  type?: ResultType;
  columns?: [name: string, type: string][];
  results: unknown[];
  totals?: DrawnLine[];
  look?: QueryDrawing;
  error?: string;
}

interface SharedBoard {
  kind: "insight" | "dashboard";
  name: string;
  description: string;
  timezone: string;
  computed_at: string;
  tiles: ({ id: number; layouts: Layouts; text: string } | SharedInsight)[];
}

/** The pause between two checks whether the link is still valid, in ms: a revoked one is empty within five seconds. */
const checkMs = 2500;
/** Heights of pictures on a dashboard, and of a single insight, in pixels. */
const [low, high] = [190, 460];

export function SharedPage() {
  const [pass, setPass] = useState({});
  const loaded = useBoard(pass);
  const asksPassword = loaded.error instanceof Refusal && loaded.error.status === 401;
  // A board whose link was revoked is no longer shown.
  const isRevoked = loaded.error instanceof Refusal && loaded.error.status === 404;
  usePolling(!isRevoked && !asksPassword && !loaded.loading, loaded, loaded.reload, checkMs);
  const board = isRevoked || asksPassword ? undefined : loaded.value;
  useEffect(() => {
    document.title = `${board?.name ?? "A shared page"} · Sluice`;
  }, [board]);
  return (
    <main class="shared-page">
      <header class="page-head">
        <h1 tabIndex={-1}>{board?.name ?? "A shared page"}</h1>
        <div class="page-actions">
          <ThemeButton />
        </div>
      </header>
      {asksPassword ? (
        <LinkPassword base={location.pathname} open={setPass} />
      ) : (
        <ErrorText error={isRevoked ? "This link is not valid, or was revoked." : loaded.error} />
      )}
      {board ? (
        <ZoneContext.Provider value={board.timezone}>
          <Board board={board} />
        </ZoneContext.Provider>
      ) : (
        loaded.error === undefined && <p class="quiet">Loading …</p>
      )}
    </main>
  );
}

function Board({ board: { kind, description, timezone, computed_at, tiles } }: { board: SharedBoard }) {
  const known = new Map(tiles.map((tile) => [tile.id, tile]));
  const isAlone = kind === "insight";
  return (
    <>
      {description && <p>{description}</p>}
      <p class="quiet">
        As of {timeText(computed_at)} in your time zone; updated at most every 15 minutes. Days are in the
        time zone {timezone}.
      </p>
      {tiles.length === 0 && <p class="notice">There are no insights on this dashboard.</p>}
      <div class="tiles">
        {toShapes(tiles).map(({ id, isWide, isTall }) => {
          const tile = known.get(id)!;
          return (
            <section key={id} class={isWide || isAlone ? "card wide" : "card"}>
              {"text" in tile ? (
                <TextTile text={tile.text} />
              ) : (
                <Insight tile={tile} isAlone={isAlone} height={isTall || isAlone ? high : low} />
              )}
            </section>
          );
        })}
      </div>
    </>
  );
}

function Insight({ tile, isAlone, height }: { tile: SharedInsight; isAlone: boolean; height: number }) {
  const { type: result_type, results, columns = [], totals, look = {}, error } = tile;
  return (
    <>
      {!isAlone && <h2>{tile.name}</h2>}
      {!isAlone && tile.description && <p class="quiet">{tile.description}</p>}
      {result_type === undefined || error !== undefined ? (
        <p class="notice">{error ?? "Its results are computed again within 15 minutes."}</p>
      ) : (
        <ResultView
          {...readResults({ result_type, results })}
          drawing={look}
          columns={columns.map(([name]) => name)}
          types={columns.map(([, type]) => type)}
          totals={totals}
          small={!isAlone}
          height={height}
        />
      )}
    </>
  );
}

/** The board, which is computed anew only when it has changed. */
function useBoard(pass: object) {
  const last = useRef<{ etag: string; board: SharedBoard }>();
  return useLoaded(
    async (signal) => {
      const headers = {
        accept: "application/json",
        ...pass,
        ...(last.current?.etag && { "if-none-match": last.current.etag }),
      };
      const reply = await sendRequest(location.pathname, { headers, signal });
      if (reply.status === 304 && last.current) return last.current.board;
      if (!reply.ok) throw await readRefusal(reply);
      const board = (await reply.json()) as SharedBoard;
      last.current = { etag: reply.headers.get("etag") ?? "", board };
      return board;
    },
    [pass],
  );
}

followTheme();
const page = document.getElementById("page");
if (page) render(<SharedPage />, page);
