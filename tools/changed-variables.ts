// Finds the variables of a chunk's top level that functions assign: an export that changes cannot be read once (chunk-script.ts).
import { type ESTree, type ParseResult, Visitor } from 'rolldown/utils';

type BindingTarget =
  | ESTree.AssignmentTarget
  | ESTree.BindingPattern
  | ESTree.ForStatementLeft
  | ESTree.ParamPattern
  | ESTree.ArrayAssignmentTarget['elements'][number];

/** A function: the variables that it declares anywhere inside, and those that it or a nested function assigns. */
interface Scope {
  readonly declared: Set<string>;
  readonly assigned: Set<string>;
}

/**
 * The given variables that functions of the chunk assign. Parsing a chunk takes a second, so it is done only when some are
 * neither constants nor functions nor classes in the bundler's output.
 */
export function changedInFunctions(
  parsed: Pick<ParseResult, 'program'>,
  text: string,
  variables: ReadonlySet<string>,
): string[] {
  const fixed = /^(?:(?:const|class|(?:async )?function\*?) ([\w$]+)|var ([\w$]+) = class\b)/gm;
  const rest = variables.difference(
    new Set([...text.matchAll(fixed)].map(([, name, className]) => name ?? className!)),
  );
  if (rest.size === 0) return [];
  const assigned = assignedInFunctions(parsed.program);
  return [...rest.intersection(assigned)];
}

function assignedInFunctions(program: ESTree.Program): ReadonlySet<string> {
  const scopes = new Scopes();
  const enter = (node: ESTree.Function | ESTree.ArrowFunctionExpression): void => scopes.enter(node);
  const leave = (): void => scopes.leave();
  new Visitor({
    FunctionDeclaration: enter,
    FunctionExpression: enter,
    ArrowFunctionExpression: enter,
    'FunctionDeclaration:exit': leave,
    'FunctionExpression:exit': leave,
    'ArrowFunctionExpression:exit': leave,
    ClassDeclaration: ({ id }) => scopes.declare(id),
    VariableDeclarator: ({ id }) => scopes.declare(id),
    CatchClause: ({ param }) => scopes.declare(param),
    AssignmentExpression: ({ left }) => scopes.assign(left),
    UpdateExpression: ({ argument }) => scopes.assign(argument),
    ForInStatement: ({ left }) => scopes.assign(left),
    ForOfStatement: ({ left }) => scopes.assign(left),
  }).visit(program);
  return scopes.assignedInside;
}

class Scopes {
  readonly #open: Scope[] = [];
  /** Variables of the top level that functions assign. */
  readonly assignedInside = new Set<string>();

  enter(node: ESTree.Function | ESTree.ArrowFunctionExpression): void {
    if (node.type === 'FunctionDeclaration') this.declare(node.id);
    this.#open.push({ declared: new Set(), assigned: new Set() });
    if (node.type === 'FunctionExpression') this.declare(node.id);
    for (const parameter of node.params) this.declare(parameter);
  }

  leave(): void {
    const { declared, assigned } = this.#open.pop()!;
    const outer = this.#open.at(-1)?.assigned ?? this.assignedInside;
    for (const name of assigned.difference(declared)) outer.add(name);
  }

  declare(target: BindingTarget | null): void {
    this.#add('declared', target);
  }

  assign(target: BindingTarget): void {
    this.#add('assigned', target);
  }

  #add(list: keyof Scope, target: BindingTarget | null): void {
    const scope = this.#open.at(-1);
    if (scope !== undefined) for (const name of namesIn(target)) scope[list].add(name);
  }
}

/** The variables of a pattern, a parameter or an assignment's target. */
function namesIn(target: BindingTarget | null): string[] {
  switch (target?.type) {
    case 'Identifier':
      return [target.name];
    case 'ObjectPattern':
      return target.properties.flatMap((property) => namesIn(property.type === 'Property' ? property.value : property));
    case 'ArrayPattern':
      return target.elements.flatMap((element) => namesIn(element));
    case 'AssignmentPattern':
      return namesIn(target.left);
    case 'RestElement':
      return namesIn(target.argument);
    default:
      return [];
  }
}
