/**
 * Finds the events that the product records, from every call of an event recorder and the type of its reason. `node
 * tools/event-reasons.ts` prints them. docs/events.md explains each, and `event-reasons.test.ts` compares the two.
 */
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import { isMain, repositoryRoot } from './repository.ts';

export interface RecordedReason {
  /** The recording folder or file below src/: `kubelet`, `controllers/job`. */
  readonly source: string;
  /** `OutOf*` stands for a reason whose rest is a name known only at run time. */
  readonly reason: string;
  readonly type: string;
}

/** Calls whose reason or type may be any text; such a call needs a type of its reasons. */
export interface UntypedCall {
  readonly place: string;
  readonly expression: string;
}

const RECORDERS: ReadonlySet<string> = new Set(['EventRecorder', 'KubeletEventRecorder', 'SeriesEventRecorder']);

export function recordedReasons(root = repositoryRoot): {
  readonly reasons: readonly RecordedReason[];
  readonly untyped: readonly UntypedCall[];
} {
  const program = programOf(root);
  const checker = program.getTypeChecker();
  const reasons = new Map<string, RecordedReason>();
  const untyped: UntypedCall[] = [];
  for (const file of program.getSourceFiles()) {
    const path = relative(root, file.fileName);
    if (!isProduct(path)) continue;
    forEachCall(file, (call) => {
      const recorded = typesOfEvent(call, checker);
      if (recorded === undefined) return;
      const [names, types] = [textsOf(recorded.reason), textsOf(recorded.type)];
      if (names === undefined || types === undefined) {
        const { line } = file.getLineAndCharacterOfPosition(call.getStart());
        untyped.push({
          place: `${path}:${line + 1}`,
          expression: call.getText().replaceAll(/\s+/g, ' ').slice(0, 120),
        });
        return;
      }
      for (const reason of names)
        for (const type of types) {
          const one = { source: sourceOf(path), reason, type };
          reasons.set(`${one.source} ${reason} ${type}`, one);
        }
    });
  }
  return { reasons: [...reasons.keys()].sort().map((key) => reasons.get(key)!), untyped };
}

function programOf(root: string): ts.Program {
  const file = join(root, 'tsconfig.json');
  const { config } = ts.readConfigFile(file, (path) => ts.sys.readFile(path)) as { readonly config: object };
  const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, dirname(file));
  return ts.createProgram(
    fileNames.filter((path) => isProduct(relative(root, path))),
    options,
  );
}

function isProduct(path: string): boolean {
  return /^src\/.*\.ts$/.test(path) && !/\.test\.ts$|-fixture\.ts$|-suite\.ts$/.test(path);
}

/**
 * The source of `src/controllers/job/job-controller.ts` is `controllers/job`, that of `src/kubelet/images/image-gc.ts` is
 * `kubelet`.
 */
function sourceOf(path: string): string {
  const [, layer = '', part = ''] = path.split('/');
  return layer === 'controllers' || layer === 'cluster' ? `${layer}/${part.replace(/\.ts$/, '')}` : layer;
}

function forEachCall(node: ts.Node, visit: (call: ts.CallExpression) => void): void {
  if (ts.isCallExpression(node)) visit(node);
  ts.forEachChild(node, (child) => forEachCall(child, visit));
}

/** Undefined when the call records no event. */
function typesOfEvent(
  call: ts.CallExpression,
  checker: ts.TypeChecker,
): { readonly reason: ts.Type; readonly type: ts.Type } | undefined {
  if (!ts.isPropertyAccessExpression(call.expression)) return undefined;
  if (!['event', 'eventf'].includes(call.expression.name.text)) return undefined;
  const owner = checker.getResolvedSignature(call)?.declaration?.parent;
  if (owner === undefined || !ts.isInterfaceDeclaration(owner) || !RECORDERS.has(owner.name.text)) return undefined;
  const [first, type, reason] = call.arguments;
  if (reason !== undefined && type !== undefined)
    return { reason: checker.getTypeAtLocation(reason), type: checker.getTypeAtLocation(type) };
  const member = (name: string): ts.Type => {
    const literal = ts.isObjectLiteralExpression(first!)
      ? first.properties.find((one) => one.name?.getText() === name)
      : undefined;
    if (literal !== undefined && ts.isPropertyAssignment(literal))
      return checker.getTypeAtLocation(literal.initializer);
    return checker.getTypeOfSymbolAtLocation(checker.getTypeAtLocation(first!).getProperty(name)!, first!);
  };
  return { reason: member('reason'), type: member('type') };
}

/** The texts of a type; undefined when it may be any text. */
function textsOf(type: ts.Type): string[] | undefined {
  if (type.isUnion()) {
    const parts = type.types.map(textsOf);
    return parts.includes(undefined) ? undefined : parts.flatMap((texts) => texts ?? []);
  }
  if (type.isStringLiteral()) return [type.value];
  if ((type.flags & ts.TypeFlags.TemplateLiteral) === 0) return undefined;
  const [head = '', ...tails] = (type as ts.TemplateLiteralType).texts;
  return [`${head}*${tails.join('*')}`];
}

if (isMain(import.meta.url)) {
  const { reasons, untyped } = recordedReasons();
  for (const { source, reason, type } of reasons) console.log(`${source} ${reason} ${type}`);
  for (const { place, expression } of untyped) console.error(`${place}: ${expression}`);
}
