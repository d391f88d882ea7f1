// The entry of `keelson/testing`: a few lines that switch on Node's compile cache and then load the library, three megabytes
// of it, which takes half the time compiled. Not where coverage is measured: of cached code it is less precise. The cache
// stands in the user's own folder, never in one others may write to.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes the entry `name` of `dist` in front of the bundle `library` with these exports. */
export function writeCachedEntry(
  dist: string,
  name: string,
  of: { library: string; exports: readonly string[] },
): void {
  const names = of.exports.toSorted().join(', ');
  writeFileSync(
    join(dist, name),
    `import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
if (process.env.NODE_V8_COVERAGE === undefined) enableCompileCache(\`\${homedir()}/.cache/keelson/compile\`);
export const { ${names} } = await import('./${of.library}');
`,
  );
}
