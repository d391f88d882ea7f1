// Writes `resources.ts`: one typed descriptor per top-level resource and version, and the list of all of them.

import { generatedBanner, placeOf } from './emit-types.ts';
import type { FactResource, Facts } from './facts.ts';
import { categories, shortNames } from './resource-names.ts';

/** The text of `src/api/gen/resources.ts`. */
export function emitResources(facts: Facts): string {
  const tops = facts.resources.filter((r) => r.subresource === undefined).sort(byPath);
  const preferred = preferredVersions(tops);
  const modules = new Set<string>();
  const blocks: string[] = [];
  const names: string[] = [];
  for (const top of tops) {
    const name = constantName(top, preferred);
    const type = typeReference(top, facts, modules);
    names.push(name);
    blocks.push(renderDescriptor(name, type, { top, all: facts.resources }));
  }
  const importLines = [...modules].sort().map((m) => `import type * as ${camel(m)} from './${m}.ts';\n`);
  return [
    generatedBanner('Descriptors of all built-in resources; the preferred version of each bears the plain name.'),
    "import type { ResourceInfo } from '../resource-info.ts';\n",
    importLines.join(''),
    '\n',
    blocks.join('\n'),
    `\n/** Every built-in resource, all versions, ordered by group, version and name. */\nexport const allResources: readonly ResourceInfo[] = [\n${names.map((n) => `  ${n},\n`).join('')}];\n`,
  ].join('');
}

function byPath(a: FactResource, b: FactResource): number {
  const key = (r: FactResource): string => `${r.group}/${r.version}/${r.resource}`;
  return key(a) < key(b) ? -1 : 1;
}

/** Orders versions as upstream's kube-aware comparison does: v2 > v1 > v1beta2 > v1beta1 > v1alpha1. */
function versionRank(version: string): number {
  const m = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (m === null) return 0;
  const stage = m[2] === undefined ? 3 : m[2] === 'beta' ? 2 : 1;
  return stage * 10_000 + Number(m[1]) * 100 + Number(m[3] ?? 0);
}

/** The preferred group and version by resource name: the core group first, then the highest version. */
function preferredVersions(tops: readonly FactResource[]): Map<string, FactResource> {
  const out = new Map<string, FactResource>();
  for (const top of tops) {
    const seen = out.get(top.resource);
    const better = seen?.group === top.group && versionRank(top.version) > versionRank(seen.version);
    if (seen === undefined || better) out.set(top.resource, top);
  }
  return out;
}

function pascalPlural(kind: string, resource: string): string {
  const lower = kind.toLowerCase();
  let same = 0;
  while (same < lower.length && lower[same] === resource[same]) same++;
  return kind.slice(0, same) + resource.slice(same);
}

function constantName(top: FactResource, preferred: Map<string, FactResource>): string {
  const plain = pascalPlural(top.kind[2], top.resource);
  return preferred.get(top.resource) === top ? plain : plain + top.version.replace(/^v/, 'V');
}

/** The object type as a member of its module's namespace import: `coreV1.Pod`. */
function typeReference(top: FactResource, facts: Facts, modules: Set<string>): string {
  const found = [...facts.types].find(([, t]) => t.gvk?.join('/') === top.kind.join('/'));
  if (found === undefined) throw new Error(`no type for ${top.kind.join('/')}`);
  const { module, symbol } = placeOf(found[0]);
  modules.add(module);
  return `${camel(module)}.${symbol}`;
}

const camel = (module: string): string => module.replace(/-(.)/g, (_, c: string) => c.toUpperCase());

const verbOrder = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** The verbs that discovery lists for a connect sub-resource: GET and POST for upgrades, all for proxies. */
const connectVerbs = (sub: string): string[] =>
  sub === 'proxy' ? ['create', 'delete', 'get', 'patch', 'update'] : ['create', 'get'];

/** The facts list verbs of paths; a listable resource can also be watched, except the computed component statuses. */
function verbsOf(r: FactResource): string[] {
  if (r.verbs.includes('connect')) return connectVerbs(r.subresource ?? '');
  const watchable = r.subresource === undefined && r.verbs.includes('list') && r.resource !== 'componentstatuses';
  const verbs = watchable ? [...r.verbs, 'watch'] : r.verbs;
  return [...new Set(verbs)].sort((a, b) => verbOrder.indexOf(a) - verbOrder.indexOf(b));
}

const q = (s: string): string => `'${s}'`;
const array = (s: string[]): string => `[${s.map(q).join(', ')}]`;

function renderDescriptor(
  name: string,
  type: string,
  { top, all }: { top: FactResource; all: readonly FactResource[] },
): string {
  const subs = all
    .filter(
      (r) =>
        r.subresource !== undefined &&
        r.group === top.group &&
        r.version === top.version &&
        r.resource === top.resource,
    )
    .sort((a, b) => ((a.subresource ?? '') < (b.subresource ?? '') ? -1 : 1))
    .map(
      (r) =>
        `    { name: ${q(r.subresource ?? '')}, group: ${q(r.kind[0])}, version: ${q(r.kind[1])}, kind: ${q(r.kind[2])}, verbs: ${array(verbsOf(r))} },\n`,
    );
  const kind = top.kind[2];
  return `/** ${top.resource}${top.group === '' ? '' : '.' + top.group} ${top.version} */
export const ${name}: ResourceInfo<${type}> = {
  group: ${q(top.group)},
  version: ${q(top.version)},
  resource: ${q(top.resource)},
  kind: ${q(kind)},
  listKind: ${q(`${kind}List`)},
  singular: ${q(kind.toLowerCase())},
  namespaced: ${top.namespaced},
  verbs: ${array(verbsOf(top))},
  subresources: [${subs.length > 0 ? '\n' + subs.join('') + '  ' : ''}],
  shortNames: ${array(shortNames[top.resource] ?? [])},
  categories: ${array(categories[top.resource] ?? [])},
};
`;
}
