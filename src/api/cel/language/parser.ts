/** Parses expressions into trees with macros expanded. Upstream: cel-go parser/parser.go over the grammar of parser/gen/CEL.g4. */
import { depthIssues, MAX_DEPTH } from './depth.ts';
import type { Expr, FieldInit, MapEntry } from './expr.ts';
import { Macros } from './macros.ts';
import { type Operators, PRODUCTS, RELATIONS, SUMS } from './operators.ts';
import { parseElements, parseLiteral } from './parse-literal.ts';
import type { Issue } from './source.ts';
import { STARTS, SyntaxStop, TokenReader } from './token-reader.ts';
import type { Token } from './tokens.ts';

/** The tree, or the issues when there is none. */
export interface Parsed {
  readonly expr: Expr;
  readonly issues: readonly Issue[];
}

/** `hasBindings`: whether `cel.bind` is a macro. */
export function parse(text: string, hasBindings: boolean): Parsed {
  const parser = new Parser(text, hasBindings);
  try {
    const expr = parser.start();
    return { expr, issues: [...parser.issues, ...depthIssues(expr)] };
  } catch (error) {
    if (!(error instanceof SyntaxStop)) throw error;
    return { expr: { kind: 'unspecified', at: -1 }, issues: parser.issues };
  }
}

const RESERVED: ReadonlySet<string> = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);

class Parser {
  readonly #reader: TokenReader;
  readonly #macros: Macros;
  #depth = 0;

  constructor(text: string, hasBindings: boolean) {
    this.#reader = new TokenReader(text);
    this.#macros = new Macros(hasBindings);
  }

  get issues(): readonly Issue[] {
    return this.#reader.issues;
  }

  start(): Expr {
    const expr = this.#expr();
    this.#reader.expect('<EOF>');
    return expr;
  }

  #deeper<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH) {
      this.#reader.report(-1, `expression recursion limit exceeded: ${MAX_DEPTH}`);
      throw new SyntaxStop();
    }
    const made = read();
    this.#depth--;
    return made;
  }

  #expr(): Expr {
    return this.#deeper(() => {
      const condition = this.#logic("'||'");
      const question = this.#reader.takeIf("'?'");
      if (question === undefined) return condition;
      const yes = this.#reader.within(["':'"], () => this.#logic("'||'"));
      this.#reader.expect("':'");
      return this.#call(question, '_?_:_', [condition, yes, this.#expr()]);
    });
  }

  /** A chain of `||` or `&&` as a balanced tree, as upstream. */
  #logic(operator: "'||'" | "'&&'"): Expr {
    const term = (): Expr => (operator === "'||'" ? this.#logic("'&&'") : this.#binary('relation'));
    const terms = [term()];
    const operators: Token[] = [];
    for (let token = this.#reader.takeIf(operator); token; token = this.#reader.takeIf(operator)) {
      operators.push(token);
      terms.push(term());
    }
    const name = operator === "'||'" ? '_||_' : '_&&_';
    const balanced = (low: number, high: number): Expr => {
      const middle = Math.floor((low + high + 1) / 2);
      const left = middle === low ? terms[middle]! : balanced(low, middle - 1);
      const right = middle === high ? terms[middle + 1]! : balanced(middle + 1, high);
      return this.#call(operators[middle]!, name, [left, right]);
    };
    return terms.length === 1 ? terms[0]! : balanced(0, operators.length - 1);
  }

  #binary(rule: 'relation' | 'calc'): Expr {
    const operand = (): Expr => (rule === 'relation' ? this.#binary('calc') : this.#product());
    return this.#chain(rule === 'relation' ? RELATIONS : SUMS, operand);
  }

  #product(): Expr {
    return this.#chain(PRODUCTS, () => this.#unary());
  }

  #chain(names: Operators, operand: () => Expr): Expr {
    let left = operand();
    for (let name = names[this.#reader.token.type]; name; name = names[this.#reader.token.type])
      left = this.#call(this.#reader.take(), name, [left, operand()]);
    return left;
  }

  #unary(): Expr {
    const reader = this.#reader;
    reader.sync(STARTS);
    const { token } = reader;
    if (token.type !== "'!'" && (token.type !== "'-'" || this.#isNumberAhead())) return this.#member();
    let count = 0;
    for (; reader.is(token.type) && (count === 0 || token.type === "'!'" || reader.is("'-'")); count++) reader.take();
    if (token.type === "'-'" && reader.is("'!'")) reader.noAlternative('-');
    const operand = this.#member();
    if (count % 2 === 0) return operand;
    return this.#call(token, token.type === "'!'" ? '!_' : '-_', [operand]);
  }

  /** True when a minus is followed by a number, to which it then belongs. */
  #isNumberAhead(): boolean {
    const type = this.#reader.ahead(1);
    return type === 'NUM_INT' || type === 'NUM_FLOAT';
  }

  #member(): Expr {
    const reader = this.#reader;
    let expr = this.#primary();
    while (reader.is("'.'") || reader.is("'['")) expr = reader.is("'.'") ? this.#selection(expr) : this.#index(expr);
    return expr;
  }

  #selection(operand: Expr): Expr {
    const reader = this.#reader;
    const dot = reader.take();
    const optional = reader.takeIf("'?'");
    if (!reader.is('IDENTIFIER') && !reader.is('ESC_IDENTIFIER')) {
      if (optional === undefined) reader.noAlternative('.');
      reader.mismatch(['IDENTIFIER', 'ESC_IDENTIFIER']);
    }
    const name = reader.take();
    const open = optional === undefined && name.type === 'IDENTIFIER' ? reader.takeIf("'('") : undefined;
    if (open !== undefined) return this.#callOrMacro(open, name.text, operand);
    const field = this.#fieldName(name, dot.at + 1);
    const literal: Expr = { kind: 'literal', at: name.at, value: field };
    if (optional !== undefined) return this.#call(dot, '_?._', [operand, literal]);
    return { kind: 'select', at: dot.at, operand, field, testOnly: false };
  }

  #fieldName(name: Token, at: number): string {
    if (name.type === 'ESC_IDENTIFIER') this.#reader.report(at, "unsupported syntax: '`'");
    return name.text;
  }

  #index(operand: Expr): Expr {
    const open = this.#reader.take();
    const optional = this.#reader.takeIf("'?'");
    const index = this.#reader.within(["']'"], () => this.#expr());
    this.#reader.expect("']'");
    return this.#call(open, optional === undefined ? '_[_]' : '_[?_]', [operand, index]);
  }

  #call({ at }: Token, name: string, args: readonly Expr[]): Expr {
    return { kind: 'call', at, name, target: undefined, args };
  }

  #callOrMacro({ at }: Token, name: string, target: Expr | undefined): Expr {
    const args = this.#args();
    const expanded = this.#macros.expand({ name, target, args, at });
    if (expanded === undefined) return { kind: 'call', at, name, target, args };
    if (!('problem' in expanded)) return expanded;
    this.#reader.report(expanded.at, expanded.problem);
    return { kind: 'unspecified', at: expanded.at };
  }

  #args(): Expr[] {
    const reader = this.#reader;
    if (reader.takeIf("')'") !== undefined) return [];
    reader.sync([...STARTS, "')'"]);
    if (reader.takeIf("')'") !== undefined) return [];
    const args = reader.within(["')'", "','"], () => this.#sequence(() => this.#expr()));
    reader.expect("')'");
    return args;
  }

  #sequence<T>(read: () => T): T[] {
    const items = [read()];
    while (this.#reader.takeIf("','") !== undefined) items.push(read());
    return items;
  }

  #primary(): Expr {
    const reader = this.#reader;
    const { token } = reader;
    switch (token.type) {
      case "'('":
        return this.#nested();
      case "'['":
        return this.#list();
      case "'{'":
        return this.#map();
      case "'.'":
      case 'IDENTIFIER':
        return this.#name();
      default:
        reader.sync([...STARTS].filter((type) => type !== "'!'"));
        return parseLiteral(this.#reader);
    }
  }

  #nested(): Expr {
    this.#reader.take();
    const expr = this.#reader.within(["')'"], () => this.#expr());
    this.#reader.expect("')'");
    return expr;
  }

  #list(): Expr {
    const reader = this.#reader;
    const { at } = reader.take();
    const items: Expr[] = [];
    const optional = new Set<number>();
    parseElements(reader, "']'", () => {
      if (reader.takeIf("'?'") !== undefined) optional.add(items.length);
      items.push(this.#expr());
    });
    return { kind: 'list', at, items, optional };
  }

  #map(): Expr {
    const reader = this.#reader;
    const { at } = reader.take();
    const entries: MapEntry[] = [];
    parseElements(reader, "'}'", () => {
      const optional = reader.takeIf("'?'") !== undefined;
      const key = reader.within(["':'"], () => this.#expr());
      reader.expect("':'");
      entries.push({ key, value: this.#expr(), optional });
    });
    return { kind: 'map', at, entries };
  }

  /** The name of a variable, a function, or the type of a message literal. */
  #name(): Expr {
    const reader = this.#reader;
    const dot = reader.takeIf("'.'");
    if (dot !== undefined && !reader.is('IDENTIFIER')) reader.noAlternative('.');
    const token = reader.expect('IDENTIFIER');
    const lead = dot === undefined ? '' : '.';
    const structure = this.#structName();
    if (structure !== undefined) return this.#struct(`${lead}${token.text}${structure}`);
    const open = reader.takeIf("'('");
    const at = dot?.at ?? token.at;
    if (RESERVED.has(token.text)) {
      if (open !== undefined) this.#args();
      reader.report(at, `reserved identifier: ${token.text}`);
      return { kind: 'unspecified', at };
    }
    if (open !== undefined) return this.#callOrMacro(open, `${lead}${token.text}`, undefined);
    return { kind: 'ident', at: token.at, name: `${lead}${token.text}` };
  }

  /** The rest of a type's dotted name, when a brace follows that name. */
  #structName(): string | undefined {
    let distance = 0;
    while (this.#reader.ahead(distance) === "'.'" && this.#reader.ahead(distance + 1) === 'IDENTIFIER') distance += 2;
    if (this.#reader.ahead(distance) !== "'{'") return undefined;
    let name = '';
    for (; distance > 0; distance--) name += this.#reader.take().text;
    return name;
  }

  #struct(typeName: string): Expr {
    const reader = this.#reader;
    const { at } = reader.take();
    const fields: FieldInit[] = [];
    parseElements(reader, "'}'", () => {
      const optional = reader.takeIf("'?'") !== undefined;
      if (!reader.is('IDENTIFIER') && !reader.is('ESC_IDENTIFIER')) reader.mismatch(['IDENTIFIER', 'ESC_IDENTIFIER']);
      const name = reader.take();
      const field = this.#fieldName(name, name.at);
      const colon = reader.expect("':'");
      fields.push({ at: colon.at, name: field, value: this.#expr(), optional });
    });
    return { kind: 'struct', at, typeName, fields };
  }
}
