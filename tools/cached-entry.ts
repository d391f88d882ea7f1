// The entries of `keelson/testing`: a few lines that switch on Node's compile cache and then load the library, three megabytes
// of it, which takes half the time compiled. Not where coverage is measured: of cached code it is less precise. The cache
// stands in the user's own folder, never in one others may write to. They are read by any Node.js: one that is too old gets
// one clear line.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const CHECK = `const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  const error = new Error(\`keelson/testing needs Node.js 24.15 or newer; this is \${process.version}\`);
  error.stack = error.message;
  throw error;
}`;

const CACHE =
  'if (process.env.NODE_V8_COVERAGE === undefined) nodeModule.enableCompileCache(`${os.homedir()}/.cache/keelson/compile`);';

/**
 * Writes the entries `NAME.js` and `NAME.cjs` of `dist` in front of the bundle `library` with these exports. The second loads
 * it by Node's own loader, so that a runner whose loader takes no ES modules (jest without flags) can require it.
 * @returns their file names
 */
export function writeCachedEntries(
  dist: string,
  name: string,
  of: { library: string; exports: readonly string[] },
): readonly string[] {
  const names = of.exports.toSorted().join(', ');
  const texts = {
    [`${name}.js`]: `import * as nodeModule from 'node:module';
import * as os from 'node:os';
${CHECK}
${CACHE}
export const { ${names} } = await import('./${of.library}');
`,
    [`${name}.cjs`]: `'use strict';
${CHECK}
// A runner may have put loaders of its own in place of Node's; those of the process itself stand in its first context.
const { getBuiltinModule } = process.getBuiltinModule('node:vm').runInThisContext('process');
const nodeModule = getBuiltinModule('node:module');
const os = getBuiltinModule('node:os');
${CACHE}
module.exports = nodeModule.createRequire(__filename)('./${of.library}');
`,
  };
  for (const [file, text] of Object.entries(texts)) writeFileSync(join(dist, file), text);
  return Object.keys(texts);
}
