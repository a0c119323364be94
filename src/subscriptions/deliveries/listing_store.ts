// The SQL of deliveries as the API shows and starts them.

import { newUuid } from "../../core/id.ts";
import { shownRow, type Stored } from "../../http/fields/field_time.ts";
import type { Page } from "../../http/pages/page.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { countedPage } from "../../storage/postgres/rows.ts";
import { subscriptionLimits } from "../limits.ts";
import type { Delivery } from "../model.ts";

type DeliveryRow = Stored<Delivery, "delivered_at" | "due_at" | "next_attempt_at" | "created_at">;

/** A page of a subscription's deliveries, newest first, and how many there are in all. */
export async function listDeliveries(sql: Postgres, subscription_id: number, page: Page) {
  const from = sql`FROM subscription_deliveries WHERE subscription_id = ${subscription_id}`;
  const listing = { columns: listedColumns(sql), from, order: sql`id DESC`, page };
  return await countedPage(sql, { ...listing, show: shownRow<DeliveryRow> });
}

export async function getDelivery(sql: Postgres, subscription_id: number, id: number) {
  const [row] = await sql<DeliveryRow[]>`
    SELECT ${listedColumns(sql)} FROM subscription_deliveries
    WHERE subscription_id = ${subscription_id} AND id = ${id}`;
  return row && shownRow(row);
}

/** Adds a delivery that is due now; undefined when subscriptionLimits.testDeliveriesMax are unfinished. */
export async function addTestDelivery(sql: Postgres, subscription_id: number, now: Date) {
  const [row] = await sql<DeliveryRow[]>`
    INSERT INTO subscription_deliveries (uuid, subscription_id, due_at, test, next_attempt_at, created_at)
    SELECT ${newUuid()}, ${subscription_id}, ${now}::timestamptz, true, ${now}::timestamptz, ${now}::timestamptz
    WHERE (SELECT count(*) FROM subscription_deliveries
           WHERE subscription_id = ${subscription_id} AND test AND next_attempt_at IS NOT NULL)
      < ${subscriptionLimits.testDeliveriesMax}
    RETURNING ${listedColumns(sql)}`;
  return row && shownRow(row);
}

function listedColumns(sql: Postgres) {
  return sql`id, status, error, delivered_at, due_at, test, attempts, next_attempt_at, created_at`;
}
