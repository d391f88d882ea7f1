/**
 * The parts of the evaluator's syntax tree, checker and evaluator that this folder relies on beyond the library's public
 * types: nodes are prepared before the check and instrumented after it. Kept in one place so that an update of the
 * library is checked against one file.
 */

/** A static type: `int`, `list<string>`, a message. */
export interface TypeDecl {
  readonly kind: 'primitive' | 'list' | 'map' | 'message' | 'optional' | 'dyn' | 'param';
  /** Full spelling: `map<string, dyn>`. */
  readonly name: string;
  readonly keyType?: TypeDecl;
  readonly valueType?: TypeDecl;
  isDynOrBool(): boolean;
}

/** Names visible at a node, with values while evaluating. */
export interface Scope {
  forkWithVariable(name: string, type: TypeDecl): Scope;
  reuse(parent: Scope): Scope;
  setIterValue(value: unknown, evaluator: Evaluator): Scope;
}

/** Static types of nodes. */
export interface Checker {
  readonly registry: Registry;
  readonly objectTypes: ReadonlyMap<string, { readonly fields?: Readonly<Record<string, TypeDecl>> }>;
  check(node: Node, scope: Scope): TypeDecl;
  getType(name: string): TypeDecl;
  createError(code: string, message: string, node: Node): Error;
}

/** Types built from types. */
export interface Registry {
  getListType(of: TypeDecl): TypeDecl;
  getMapType(key: TypeDecl, value: TypeDecl): TypeDecl;
  getOptionalType(of: TypeDecl): TypeDecl;
}

/** Values of nodes. */
export interface Evaluator {
  run(node: Node, scope: Scope): unknown;
  /** The value, or the error as a value. */
  tryEval(node: Node, scope: Scope): unknown;
  createError(code: string, message: string, node: Node): Error;
}

/** What a macro's expansion answers. */
export interface Macro {
  typeCheck(checker: Checker, macro: Macro, scope: Scope): TypeDecl;
  evaluate(evaluator: Evaluator, macro: Macro, scope: Scope): unknown;
  readonly async: false;
}

/** What a macro is expanded from. */
export interface MacroCall {
  readonly ast: Node;
  readonly args: readonly Node[];
  readonly receiver: Node | null;
}

/** How a node is evaluated. */
export type Evaluate = (evaluator: Evaluator, node: Node, scope: Scope) => unknown;

/** A node of a parsed expression. */
export interface Node {
  readonly op: string;
  args: unknown;
  readonly pos: number;
  readonly start: number;
  readonly end: number;
  readonly input: string;
  readonly meta: { alternate?: Node; macro?: Macro; evaluate: Evaluate };
  checkedType?: TypeDecl;
  candidates?: { readonly declarations: readonly unknown[] };
  handle?: (...values: unknown[]) => unknown;
  evaluate: Evaluate;
  setMeta(key: string, value: unknown): Node;
}

/** Whether something is a node. */
export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'op' in value && 'setMeta' in value;
}

/** The nodes right below a node: of a macro's expansion where there is one. */
export function childrenOf(node: Node): Node[] {
  if (node.meta.alternate !== undefined) return [node.meta.alternate];
  return collect(node.args, []);
}

function collect(value: unknown, into: Node[]): Node[] {
  if (isNode(value)) into.push(value);
  else if (Array.isArray(value)) for (const item of value) collect(item, into);
  else if (isComprehension(value)) collect([value.iterable, value.init, value.step], into);
  return into;
}

function isComprehension(value: unknown): value is { iterable: Node; init: Node; step: Node } {
  return typeof value === 'object' && value !== null && 'iterVarName' in value;
}
