// Which events pass conditions in SQL: how many there are, and the keys of a page of them. What reads the events by
// their keys shows them as it likes.

import { Fault } from "../../core/fault.ts";
import type { Page } from "../../http/pages/page.ts";
import type { PropertyFilter } from "../../storage/events/property_filter.ts";
import { type EventKey, keyDay } from "../../storage/events/stored_properties.ts";
import { runTree, sqlFault } from "../hogql/run.ts";
import type { ExpressionNode, OrderExpr, SelectQuery } from "../sql/tree.ts";
import type { QueryContext } from "../store.ts";

/** Absent fields do not filter. */
export interface EventConditions {
  /** Expressions of SQL that must all hold. */
  where: readonly string[];
  event?: string | undefined;
  distinct_id?: string | undefined;
  person_id?: string | undefined;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC, both exclusive. */
  after?: string | undefined;
  before?: string | undefined;
  properties: readonly PropertyFilter[];
}

/** How each field but `where` and `properties` is asked for in SQL. */
const compared = {
  event: "event = {event}",
  distinct_id: "distinct_id = {distinct_id}",
  person_id: "person_id = {person_id}",
  after: "timestamp > {after}",
  before: "timestamp < {before}",
} as const;

const keyParts = [
  "uuid",
  "event",
  "toString(cityHash64(distinct_id))",
  "toString(toUnixTimestamp64Micro(timestamp))",
  "toString(toUnixTimestamp64Micro(created_at))",
];

/**
 * Keys of the events by time and then by uuid, and the number of all of them.
 * @throws Fault for what is wrong in a condition, named by its place in `where`, and for a scope that the key lacks.
 */
export async function findEventKeys(
  context: QueryContext,
  asked: EventConditions,
  oldestFirst: boolean,
  { limit, offset }: Page,
): Promise<{ count: number; keys: EventKey[] }> {
  const { parse, project_id } = context;
  const expressionOf = (text: string) => parse(text, "expression", project_id);
  const rowsOf = async (texts: readonly string[], more: Partial<SelectQuery>): Promise<unknown[][]> => {
    const tree: SelectQuery = {
      node: "SelectQuery",
      select: await Promise.all(texts.map(expressionOf)),
      select_from: { node: "JoinExpr", table: { node: "Field", chain: ["events"] } },
      where,
      ...more,
    };
    const { after, before, properties } = asked;
    const values = { ...asked, after: isoMoment(after), before: isoMoment(before) };
    const { rows } = await runTree(context, tree, { text: "", values, filters: { properties } });
    return rows;
  };
  const order = oldestFirst ? "ASC" : "DESC";
  const order_by = ["timestamp", "uuid"].map((name): OrderExpr => ({
    node: "OrderExpr",
    expr: { node: "Field", chain: [name] },
    order,
  }));
  let where: ExpressionNode;
  try {
    where = { node: "And", exprs: await conditionsRead(asked, expressionOf) };
    const [[count] = []] = await rowsOf(["count()"], {});
    const rows = await rowsOf(keyParts, {
      order_by,
      limit: { node: "Constant", value: limit },
      offset: { node: "Constant", value: offset },
    });
    return { count: Number(count), keys: rows.map(keyOf) };
  } catch (thrown) {
    throw ofWhere(sqlFault(thrown, "where"));
  }
}

async function conditionsRead(
  asked: EventConditions,
  expressionOf: (text: string) => Promise<ExpressionNode>,
): Promise<ExpressionNode[]> {
  const own = Object.entries(compared).filter(([name]) => asked[name as keyof typeof compared] !== undefined);
  const fixed = ["{filters}", ...own.map(([, text]) => text)];
  const conditions = await Promise.all(fixed.map(expressionOf));
  for (const [i, text] of asked.where.entries()) {
    conditions.push(
      await expressionOf(text).catch((thrown: unknown) => {
        throw sqlFault(thrown, `where__${i}`, text);
      }),
    );
  }
  return conditions;
}

/** What is refused of a query as a whole is what `where` made of it. */
function ofWhere(thrown: unknown): unknown {
  if (!(thrown instanceof Fault) || thrown.attr !== "query") return thrown;
  return new Fault(thrown.code, thrown.detail, { attr: "where" });
}

function isoMoment(stored: string | undefined): string | undefined {
  return stored && `${stored.replace(" ", "T")}Z`;
}

function keyOf([uuid, event, id_hash, at, arrived]: unknown[]): EventKey {
  return { day: keyDay(BigInt(String(at))), event, id_hash, uuid, arrived } as EventKey;
}
