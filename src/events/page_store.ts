// SQL that all statements of a page of events share.

/** The FROM clause and its parameters that select the events of a page. */
export interface PageQuestion {
  from: string;
  params: Record<string, unknown>;
}

/**
 * SQL expressions for an event's JSON in a reply: the text before its properties, and the text after them. ClickHouse
 * writes it, since parsing and writing a thousand events here would delay capture. `properties` stay the client's
 * text: parsing would round long numbers and drop repeated keys.
 */
export const eventHead = `concat(
  ',{"id":"', toString(uuid), '","uuid":"', toString(uuid),
  '","event":', toJSONString(event), ',"distinct_id":', toJSONString(distinct_id), ',"properties":')`;

export const eventTail = `concat(
  ',"timestamp":"', ${isoText("timestamp")}, '","created_at":"', ${isoText("created_at")},
  '","person_id":"', toString(person_id), '","historical_migration":', toString(historical_migration), '}')`;

export const eventText = `concat(${eventHead}, if(properties = '', '{}', properties), ${eventTail})`;

/** `2024-01-02T03:04:05.600000Z`; a zero fraction is left out. */
function isoText(moment: string): string {
  return `concat(replaceOne(replaceOne(toString(${moment}), '.000000', ''), ' ', 'T'), 'Z')`;
}
