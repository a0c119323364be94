// Expressions of SQL within other queries: filters, math and breakdowns. The statements of such a query read events
// that have what its expressions need.

export interface QueryExpression {
  text: string;
  /** Its name in a fault. */
  attr: string;
  /** Whether it is one number of many events, not a value of each. */
  isAggregate?: boolean;
}

/** The compiled expressions of one query. */
export interface RowExpressions {
  /** The events as text after FROM. */
  rows: (withPersons: boolean) => string;
  /** Columns that rows have for the expressions. */
  columns: readonly string[];
  params: Readonly<Record<string, unknown>>;
  condition: (text: string) => string;
  /** As text; null where it is null. */
  value: (text: string) => string;
  /** Null where it is no finite number. */
  number: (text: string) => string;
}
