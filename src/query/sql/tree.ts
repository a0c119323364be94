// The tree that PostHog's HogQL parser gives as JSON, as types. Members that are null there are absent or null here.

/** A place in the text: `offset` counts characters (code points) from 0. */
interface Position {
  line: number;
  column: number;
  offset: number;
}

/** Nodes that the parser makes up, such as the call behind `INTERVAL 1 DAY`, have no place. */
export interface Placed {
  start?: Position | null | undefined;
  end?: Position | null | undefined;
}

/** What the parser gives for a text that it refuses. */
export interface ParserError extends Placed {
  error: true;
  type: string;
  message: string;
}

type Maybe<Value> = Value | null | undefined;

/** A whole number beyond 2^53, an infinity and NaN come as text with a value_type. */
export interface ConstantNode extends Placed {
  node: "Constant";
  value?: Maybe<string | number | boolean>;
  value_type?: "number";
}

export interface FieldNode extends Placed {
  node: "Field";
  /** `a.b.c`; a star is "*". */
  chain: string[];
}

export interface CallNode extends Placed {
  node: "Call";
  name: string;
  args: ExpressionNode[];
  /** Of a parametric aggregate: `quantile(0.9)(x)`. */
  params?: Maybe<ExpressionNode[]>;
  distinct?: Maybe<boolean>;
  filter_expr?: Maybe<ExpressionNode>;
  order_by?: Maybe<OrderExpr[]>;
}

export interface AliasNode extends Placed {
  node: "Alias";
  alias: string;
  expr: ExpressionNode;
}

export interface WindowFrame extends Placed {
  node: "WindowFrameExpr";
  frame_type?: Maybe<"PRECEDING" | "FOLLOWING" | "CURRENT ROW">;
  /** Absent: unbounded. What is no whole number is an expression. */
  frame_value?: Maybe<number | ExpressionNode>;
}

export interface WindowExpr extends Placed {
  node: "WindowExpr";
  partition_by?: Maybe<ExpressionNode[]>;
  order_by?: Maybe<OrderExpr[]>;
  frame_method?: Maybe<"ROWS" | "RANGE">;
  frame_start?: Maybe<WindowFrame>;
  frame_end?: Maybe<WindowFrame>;
}

/** `f(exprs) OVER …`; of `f(exprs)(args) OVER …` the parameters are `exprs`. */
export interface WindowFunction extends Placed {
  node: "WindowFunction";
  name: string;
  exprs?: Maybe<ExpressionNode[]>;
  args?: Maybe<ExpressionNode[]>;
  over_expr?: Maybe<WindowExpr>;
  over_identifier?: Maybe<string>;
}

export interface CompareOperation extends Placed {
  node: "CompareOperation";
  op: string;
  left: ExpressionNode;
  right: ExpressionNode;
}

export interface LambdaNode extends Placed {
  node: "Lambda";
  args: string[];
  expr: ExpressionNode;
}

/** `COLUMNS('regex')`, `COLUMNS(a, b)`, `* EXCLUDE (a)`. */
export interface ColumnsExpr extends Placed {
  node: "ColumnsExpr";
  regex?: Maybe<string>;
  columns?: Maybe<ExpressionNode[]>;
  all_columns?: Maybe<boolean>;
  exclude?: Maybe<string[]>;
}

export interface PlaceholderNode extends Placed {
  node: "Placeholder";
  expr: ExpressionNode;
}

export type ExpressionNode =
  | ConstantNode
  | FieldNode
  | CallNode
  | AliasNode
  | WindowFunction
  | CompareOperation
  | LambdaNode
  | ColumnsExpr
  | PlaceholderNode
  | SelectQuery
  | SelectSetQuery
  | (Placed & { node: "ArithmeticOperation"; op: string; left: ExpressionNode; right: ExpressionNode })
  | (Placed & { node: "And" | "Or"; exprs: ExpressionNode[] })
  | (Placed & { node: "Not"; expr: ExpressionNode })
  | (Placed & { node: "IsDistinctFrom"; negated: boolean; left: ExpressionNode; right: ExpressionNode })
  | (Placed & {
      node: "BetweenExpr";
      negated: boolean;
      expr: ExpressionNode;
      low: ExpressionNode;
      high: ExpressionNode;
    })
  | (Placed & {
      node: "ArrayAccess";
      array: ExpressionNode;
      property: ExpressionNode;
      nullish?: Maybe<boolean>;
    })
  | (Placed & {
      node: "ArraySlice";
      array: ExpressionNode;
      start_expr?: Maybe<ExpressionNode>;
      end_expr?: Maybe<ExpressionNode>;
    })
  | (Placed & { node: "TupleAccess"; tuple: ExpressionNode; index: number; nullish?: Maybe<boolean> })
  | (Placed & { node: "Array" | "Tuple"; exprs: ExpressionNode[] })
  | (Placed & { node: "TypeCast" | "TryCast"; expr: ExpressionNode; type_name: string })
  | (Placed & {
      node: "Dict" | "ExprCall" | "HogQLXTag" | "GroupingSet" | "NamedArgument" | "SpreadExpr";
    });

export interface OrderExpr extends Placed {
  node: "OrderExpr";
  expr: ExpressionNode;
  order?: Maybe<"ASC" | "DESC">;
  with_fill?: unknown;
}

export interface CommonTable extends Placed {
  node: "CTE";
  name: string;
  expr: ExpressionNode;
  cte_type: "subquery" | "column";
  columns?: Maybe<string[]>;
  recursive?: Maybe<boolean>;
}

export interface JoinExpr extends Placed {
  node: "JoinExpr";
  table?: Maybe<FieldNode | SelectQuery | SelectSetQuery | PlaceholderNode | ValuesQuery | OtherTable>;
  table_args?: Maybe<ExpressionNode[]>;
  alias?: Maybe<string>;
  column_aliases?: Maybe<string[]>;
  sample?: unknown;
  join_type?: Maybe<string>;
  constraint?: Maybe<{ node: "JoinConstraint"; constraint_type: "ON" | "USING"; expr: ExpressionNode }>;
  next_join?: Maybe<JoinExpr>;
}

export interface ValuesQuery extends Placed {
  node: "ValuesQuery";
  rows: ExpressionNode[][];
}

/** Tables that are refused by name. */
type OtherTable = Placed & { node: "PivotExpr" | "UnpivotExpr" | "HogQLXTag" };

export interface LimitBy extends Placed {
  node: "LimitByExpr";
  n: ExpressionNode;
  offset_value?: Maybe<ExpressionNode>;
  exprs: ExpressionNode[];
}

export interface SelectQuery extends Placed {
  node: "SelectQuery";
  ctes?: Maybe<CommonTable[]>;
  distinct?: Maybe<boolean>;
  select: ExpressionNode[];
  select_from?: Maybe<JoinExpr>;
  array_join_op?: Maybe<"ARRAY JOIN" | "LEFT ARRAY JOIN" | "INNER ARRAY JOIN">;
  array_join_list?: Maybe<ExpressionNode[]>;
  prewhere?: Maybe<ExpressionNode>;
  where?: Maybe<ExpressionNode>;
  group_by?: Maybe<ExpressionNode[]>;
  group_by_mode?: Maybe<string>;
  having?: Maybe<ExpressionNode>;
  qualify?: Maybe<ExpressionNode>;
  window_exprs?: Maybe<Record<string, WindowExpr>>;
  order_by?: Maybe<OrderExpr[]>;
  limit_by?: Maybe<LimitBy>;
  limit?: Maybe<ExpressionNode>;
  offset?: Maybe<ExpressionNode>;
  limit_with_ties?: Maybe<boolean>;
  limit_percent?: Maybe<boolean>;
}

export interface SelectSetQuery extends Placed {
  node: "SelectSetQuery";
  initial_select_query: SelectQuery | SelectSetQuery;
  subsequent_select_queries: { select_query: SelectQuery | SelectSetQuery; set_operator: string }[];
  order_by?: Maybe<OrderExpr[]>;
  limit?: Maybe<ExpressionNode>;
  offset?: Maybe<ExpressionNode>;
}

/** What parseSelect gives. */
export type SelectTree = SelectQuery | SelectSetQuery | PlaceholderNode;
