// The tree that PostHog's HogQL parser returns as JSON, as types. Members that are null there are absent or null here.

/** A position in the text: `offset` counts characters (code points) from 0. */
interface Position {
  line: number;
  column: number;
  offset: number;
}

/** Nodes that the parser makes up, such as the call of `INTERVAL 1 DAY`, have no position. */
export interface Placed {
  start?: Position | null | undefined;
  end?: Position | null | undefined;
}

/** The parser's answer to a text that it refuses. */
export interface ParserError extends Placed {
  error: true;
  type: string;
  message: string;
}

type Maybe<Value> = Value | null | undefined;
type Node<Name extends string, Members = unknown> = Placed & { node: Name } & Members;

export type FieldNode = Node<"Field", { /** `a.b.c`; a star is "*". */ chain: string[] }>;

/** `params` of a parametric aggregate: `quantile(0.9)(x)`. */
export interface CallNode extends Node<"Call", { name: string; args: ExpressionNode[] }> {
  params?: Maybe<ExpressionNode[]>;
  distinct?: Maybe<boolean>;
  filter_expr?: Maybe<ExpressionNode>;
  order_by?: Maybe<OrderExpr[]>;
}

export interface WindowFrame extends Node<"WindowFrameExpr"> {
  frame_type?: Maybe<"PRECEDING" | "FOLLOWING" | "CURRENT ROW">;
  /** Absent: unbounded. Anything but a whole number is an expression. */
  frame_value?: Maybe<number | ExpressionNode>;
}

export interface WindowExpr extends Node<"WindowExpr"> {
  partition_by?: Maybe<ExpressionNode[]>;
  order_by?: Maybe<OrderExpr[]>;
  frame_method?: Maybe<"ROWS" | "RANGE">;
  frame_start?: Maybe<WindowFrame>;
  frame_end?: Maybe<WindowFrame>;
}

/** `f(exprs) OVER …`; of `f(exprs)(args) OVER …` the parameters are `exprs`. */
export interface WindowFunction extends Node<"WindowFunction", { name: string }> {
  exprs?: Maybe<ExpressionNode[]>;
  args?: Maybe<ExpressionNode[]>;
  over_expr?: Maybe<WindowExpr>;
  over_identifier?: Maybe<string>;
}

/** `COLUMNS('regex')`, `COLUMNS(a, b)`, `* EXCLUDE (a)`. */
export interface ColumnsExpr extends Node<"ColumnsExpr"> {
  regex?: Maybe<string>;
  columns?: Maybe<ExpressionNode[]>;
  all_columns?: Maybe<boolean>;
  exclude?: Maybe<string[]>;
}

export type PlaceholderNode = Node<"Placeholder", { expr: ExpressionNode }>;
type Sides = { left: ExpressionNode; right: ExpressionNode };
type Negated = { negated: boolean };

export type ExpressionNode =
  /** A whole number beyond 2^53, an infinity and NaN come as text with a value_type. */
  | Node<"Constant", { value?: Maybe<string | number | boolean>; value_type?: "number" }>
  | FieldNode
  | CallNode
  | Node<"Alias", { alias: string; expr: ExpressionNode }>
  | WindowFunction
  | Node<"CompareOperation", { op: string } & Sides>
  | Node<"Lambda", { args: string[]; expr: ExpressionNode }>
  | ColumnsExpr
  | PlaceholderNode
  | SelectQuery
  | SelectSetQuery
  | Node<"ArithmeticOperation", { op: string } & Sides>
  | Node<"And" | "Or", { exprs: ExpressionNode[] }>
  | Node<"Not", { expr: ExpressionNode }>
  | Node<"IsDistinctFrom", Negated & Sides>
  | Node<"BetweenExpr", Negated & { expr: ExpressionNode; low: ExpressionNode; high: ExpressionNode }>
  | Node<"ArrayAccess", { array: ExpressionNode; property: ExpressionNode }>
  | Node<
      "ArraySlice",
      { array: ExpressionNode; start_expr?: Maybe<ExpressionNode>; end_expr?: Maybe<ExpressionNode> }
    >
  | Node<"TupleAccess", { tuple: ExpressionNode; index: number }>
  | Node<"Array" | "Tuple", { exprs: ExpressionNode[] }>
  | Node<"TypeCast" | "TryCast", { expr: ExpressionNode; type_name: string }>
  | Node<"Dict" | "ExprCall" | "HogQLXTag" | "GroupingSet" | "NamedArgument" | "SpreadExpr">;

export interface OrderExpr extends Node<"OrderExpr", { expr: ExpressionNode }> {
  order?: Maybe<"ASC" | "DESC">;
  with_fill?: unknown;
}

export interface CommonTable extends Node<"CTE", { name: string; expr: ExpressionNode }> {
  cte_type: "subquery" | "column";
  columns?: Maybe<string[]>;
  recursive?: Maybe<boolean>;
}

type Ratio = Partial<Node<"RatioExpr", { left: ExpressionNode; right: Maybe<ExpressionNode> }>>;

export interface JoinExpr extends Node<"JoinExpr"> {
  /** Including those that are refused by name. */
  table?: Maybe<
    | FieldNode
    | SelectQuery
    | SelectSetQuery
    | PlaceholderNode
    | Node<"ValuesQuery" | "PivotExpr" | "UnpivotExpr" | "HogQLXTag">
  >;
  table_args?: Maybe<ExpressionNode[]>;
  alias?: Maybe<string>;
  column_aliases?: Maybe<string[]>;
  sample?: Maybe<Node<"SampleExpr", { sample_value: Ratio; offset_value?: Maybe<Ratio> }>>;
  join_type?: Maybe<string>;
  constraint?: Maybe<{ node: "JoinConstraint"; constraint_type: "ON" | "USING"; expr: ExpressionNode }>;
  next_join?: Maybe<JoinExpr>;
}

export interface SelectQuery extends Node<"SelectQuery"> {
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
  limit_by?: Maybe<
    Node<"LimitByExpr", { n: ExpressionNode; offset_value?: Maybe<ExpressionNode>; exprs: ExpressionNode[] }>
  >;
  limit?: Maybe<ExpressionNode>;
  offset?: Maybe<ExpressionNode>;
  limit_with_ties?: Maybe<boolean>;
  limit_percent?: Maybe<boolean>;
}

export interface SelectSetQuery extends Node<"SelectSetQuery"> {
  initial_select_query: AnySelect;
  subsequent_select_queries: { select_query: AnySelect; set_operator: string }[];
  order_by?: Maybe<OrderExpr[]>;
  limit?: Maybe<ExpressionNode>;
  offset?: Maybe<ExpressionNode>;
}

export type AnySelect = SelectQuery | SelectSetQuery;
/** The result of parseSelect. */
export type SelectTree = AnySelect | PlaceholderNode;
