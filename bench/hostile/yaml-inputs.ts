// YAML that costs far more than its size suggests.
import { BODY_LIMIT, fill, type HostileInput } from './bodies.ts';

const shapes: Readonly<Record<string, () => string>> = {
  'values of one line': () => fill(': '),
  'flow sequences': () => fill('['),
  'flow maps': () => fill('{a,'),
  'items of one line': () => fill('- '),
  tags: () => fill('! '),
  'broken flow': () => fill('[,'),
  'explicit keys': () => fill('?\n:\n'),
  'flow items': () => fill('a,', BODY_LIMIT, ['[', ']']),
  anchors: () => fill('&a '),
  'equal keys': () => fill('a: 1\n'),
  'empty lines': () => fill('\n'),
  indentation: () =>
    Array.from({ length: 2000 }, (_, i) => `${' '.repeat(i)}a:`)
      .join('\n')
      .slice(0, BODY_LIMIT),
  aliases: () => fill('*a,', BODY_LIMIT, ['a: &a 1\nb: [', ']']),
  'anchors and aliases': () =>
    Array.from({ length: 100_000 }, (_, i) => `- &a${i} x\n- *a${i}`)
      .join('\n')
      .slice(0, BODY_LIMIT),
  'ordinary config map of 1 MB': () =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: big-yaml\ndata:\n${Array.from({ length: 20_000 }, (_, i) => `  key-${i}: "the value of ${i} is ${i}"`).join('\n')}`,
};

/** Bodies, and apply patches, which the server parses as YAML. */
export function yamlInputs(): HostileInput[] {
  return Object.entries(shapes).flatMap(([name, text]): HostileInput[] => [
    {
      name: `YAML body: ${name}`,
      request: () => ({ method: 'POST', path: 'configmaps', type: 'application/yaml', body: text() }),
    },
    {
      name: `apply patch: ${name}`,
      request: () => ({
        method: 'PATCH',
        path: 'configmaps/applied?fieldManager=h&force=true',
        type: 'application/apply-patch+yaml',
        body: text(),
      }),
    },
  ]);
}
