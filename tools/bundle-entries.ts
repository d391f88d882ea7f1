// Writes the files of dist/ that Node.js loads itself. They run scripts by bin/load-bundle.cjs: programs of threads and
// processes, and the entries of `keelson/testing`.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

// Any Node.js may load the entries of a library, so one that is too old gets a clear message in one line, and the place of one
// frame. Node.js shows no piece of a source whose line has this comment; it takes the line from the error's stack.
const CHECK = `const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 1;
  const error = new Error(\`keelson/testing needs Node.js 24.15 or newer; this is \${process.version}\`); // node-do-not-add-exception-line
  Error.stackTraceLimit = stackTraceLimit;
  throw error; // node-do-not-add-exception-line
}`;

/** A test's process may end at any time; a first cluster has started by then. */
const TEST_LASTS_MS = 2000;

/**
 * Writes the program `NAME.cjs` of a thread or process, which runs the script `NAME.js`.
 * @returns its file name
 */
export function writeProgram(dist: string, name: string, keepsCode: boolean): readonly string[] {
  const keep = keepsCode ? `keepCodeOf('${name}');\n` : '';
  const file = `${name}.cjs`;
  writeFileSync(
    join(dist, file),
    `'use strict';
const { keepCodeOf, load } = require('../bin/load-bundle.cjs');
${keep}load('${name}.js');
`,
  );
  return [file];
}

/**
 * Writes the entries `NAME.js` and `NAME.cjs` of a library, a script with these exports. The second loads it by Node's own
 * loader, so that a runner whose loader takes no ES modules (jest without flags) can require it.
 * @returns their file names
 */
export function writeLibraryEntries(
  dist: string,
  name: string,
  { script, exports }: { script: string; exports: readonly string[] },
): readonly string[] {
  const load = `loader.keepCodeOf('testing', ${TEST_LASTS_MS});`;
  const texts = {
    [`${name}.js`]: `import { createRequire } from 'node:module';
${CHECK}
const loader = createRequire(import.meta.url)('../bin/load-bundle.cjs');
${load}
export const { ${exports.toSorted().join(', ')} } = loader.load('${script}');
`,
    [`${name}.cjs`]: `'use strict';
${CHECK}
// A runner may have put loaders of its own in place of Node's; those of the process itself stand in its first context.
const { getBuiltinModule } = process.getBuiltinModule('node:vm').runInThisContext('process');
const loader = getBuiltinModule('node:module').createRequire(__filename)('../bin/load-bundle.cjs');
${load}
module.exports = loader.load('${script}');
`,
  };
  for (const [file, text] of Object.entries(texts)) writeFileSync(join(dist, file), text);
  return Object.keys(texts);
}
