/** `--version` after each command. The command line runs in this process: its module is loaded again for each. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { KUBERNETES_VERSION, VERSION } from '../base/version.ts';
import { program } from './program.ts';

const main = join(import.meta.dirname, 'main.ts');

/** The exit code and the output. */
async function keelson(t: TestContext, ...args: string[]): Promise<readonly [unknown, string]> {
  const { argv, exitCode } = process;
  let said = '';
  const mocks = [process.stdout, process.stderr].map((stream) => {
    const write = stream.write.bind(stream);
    // The test runner writes bytes.
    return t.mock.method(stream, 'write', (text: string | Uint8Array) =>
      typeof text === 'string' ? ((said += text), true) : write(text),
    );
  });
  try {
    process.argv = [process.execPath, main, ...args];
    const { ended } = (await import(`${main}?${args.join(' ')}`)) as { readonly ended: Promise<void> };
    await ended;
    return [process.exitCode, said];
  } finally {
    process.argv = argv;
    process.exitCode = exitCode;
    for (const { mock } of mocks) mock.restore();
  }
}

const components = ['apiserver', 'controller-manager', 'scheduler', 'kubelet', 'proxy'];
test('every command prints its version with --version', async (t) => {
  const commands = (await program([])).commands.map((command) => command.name());
  assert.ok(commands.length > 10 && components.every((name) => commands.includes(name)), commands.join());
  for (const args of [[], ...commands.map((name) => [name]), ['token', 'create'], ['sim', 'run']]) {
    const version = components.includes(args[0] ?? '') ? `Kubernetes ${KUBERNETES_VERSION}` : VERSION;
    await t.test(`keelson ${args.join(' ')}`, async (own) => {
      assert.deepEqual(await keelson(own, ...args, '--version'), [0, `${version}\n`]);
    });
  }
  await t.test('after flags of a component', async (own) => {
    const said = await keelson(own, 'scheduler', '--v=2', '--leader-elect=false', '--version');
    assert.deepEqual(said, [0, `Kubernetes ${KUBERNETES_VERSION}\n`]);
  });
});
