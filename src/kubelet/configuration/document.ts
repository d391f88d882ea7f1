/** Generates docs/kubelet-configuration.md from the tables: how every field and feature gate is treated. Pure. */
import { defaultOf, type FieldRow, type FieldTable } from './field-table.ts';
import { FEATURE_GATES } from './feature-gates.ts';
import { FIELDS } from './fields.ts';

const HEAD = `# KubeletConfiguration

\`keelson kubelet --config FILE\` reads \`kubelet.config.k8s.io/v1beta1\` strictly: unknown fields, keys that occur twice and
values of the wrong type are errors that name the field. \`--config-dir\` merges drop-ins (\`*.conf\`, sorted by path) over the
file; flags win over both.

\`keelson up\`, \`server\` and \`agent\` take the same file by \`--kubelet-config FILE\` and the same flags by
\`--kubelet-arg NAME=VALUE\`, as often as needed. Fields that belong to the instance (its port, certificates,
runtime, log directory) are refused with the reason.

This page is made from the tables in \`src/kubelet/configuration\`; a test keeps it current.

- **honoured**: does what upstream's does.
- **in part**: as the note says.
- **refused**: any value but the default is an error at start-up that says so.
- **no effect**: taken for compatibility; it has no effect upstream either, or nothing here it could act on.
`;

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function shown(row: FieldRow): string {
  const value = defaultOf(row);
  return value === undefined || value === '' ? '' : `\`${JSON.stringify(value)}\``;
}

function rowsOf(table: FieldTable, prefix: string): string[] {
  return Object.entries(table)
    .sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1))
    .flatMap(([name, row]) => {
      const path = `${prefix}${name}`;
      if (typeof row.type === 'object' && 'of' in row.type) return rowsOf(row.type.of, `${path}.`);
      const flag = row.flag === undefined ? '' : `\`--${row.flag}\``;
      const accepts = row.accepts === undefined ? '' : `also \`${row.accepts.join('`, `')}\`; `;
      return [`| \`${path}\` | ${flag} | ${cell(shown(row))} | ${row.state} | ${cell(accepts + row.note)} |`];
    });
}

export function configurationDocument(): string {
  const gates = Object.entries(FEATURE_GATES).map(
    ([name, gate]) => `| \`${name}\` | ${gate.stage} | ${gate.default} | ${gate.switchable ? 'yes' : 'no'} |`,
  );
  return [
    HEAD,
    '| field | flag | default | state | note |',
    '| --- | --- | --- | --- | --- |',
    ...rowsOf(FIELDS, ''),
    '',
    '## Feature gates',
    '',
    'A gate that cannot be switched is refused when asked to differ.',
    '',
    '| gate | stage | default | can be switched |',
    '| --- | --- | --- | --- |',
    ...gates,
    '',
  ].join('\n');
}
