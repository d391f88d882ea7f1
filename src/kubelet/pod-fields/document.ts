/** Generates docs/pod-fields.md from the tables: how every field of a pod's spec is treated. Pure. */
import { CONTAINER_ROWS } from './container-rows.ts';
import type { FieldRows } from './field-rows.ts';
import { POD_ROWS } from './pod-rows.ts';
import { VOLUME_ROWS } from './volume-rows.ts';

const HEAD = `# Fields of a pod

What becomes of every field of a pod's \`spec\`. A row holds for all fields below its path. This page is made from the tables
in \`src/kubelet/pod-fields\`; a test holds them against the API's schema, so that no field is missing.

- **honoured**: does what upstream's does.
- **in part**: as the note says.
- **refused**: the pod does not run, with the reason or event in the note.
- **no effect**: nothing here, and in the same place nothing of upstream's, acts on it.
`;

/** The tables, with the paths of the lists that they describe. */
export const POD_FIELD_TABLES: readonly {
  readonly title: string;
  readonly prefixes: readonly string[];
  readonly rows: FieldRows;
}[] = [
  { title: 'Pod', prefixes: [''], rows: POD_ROWS },
  {
    title: 'Containers (`containers[]`, `initContainers[]`, `ephemeralContainers[]`)',
    prefixes: ['containers[].', 'initContainers[].', 'ephemeralContainers[].'],
    rows: CONTAINER_ROWS,
  },
  { title: 'Volumes (`volumes[]`)', prefixes: ['volumes[].'], rows: VOLUME_ROWS },
];

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

export function podFieldsDocument(): string {
  const sections = POD_FIELD_TABLES.flatMap(({ title, rows }) => [
    `## ${title}`,
    '',
    '| field | state | note |',
    '| --- | --- | --- |',
    ...Object.entries(rows)
      .sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1))
      .map(([path, [state, note]]) => `| \`${path}\` | ${state} | ${cell(note)} |`),
    '',
  ]);
  return [HEAD, ...sections].join('\n');
}
