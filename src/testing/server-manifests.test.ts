/** Manifest folders that servers keep applied, with a real control plane: removal, refusal, and polling without a watch. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { ConfigMaps, Namespaces } from '../api/gen/resources.ts';
import { discoverResources } from '../client/discovery.ts';
import { AddonController } from '../cluster/addons/addon-controller.ts';
import { ADDON_NAMESPACE } from '../cluster/addons/addon-record.ts';
import { runAddons } from '../cluster/addons/run-addons.ts';
import { watchFolders } from '../cluster/addons/folder-watch.ts';
import { createMemoryLog } from '../platform/sim/log.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { startBareWorld } from './bare-world-fixture.ts';

const configMap = (name: string, value = '1'): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value } });

async function scene(t: TestContext) {
  const running: { stop: AbortController; ended: Promise<unknown> }[] = [];
  const { clock, pace, platform, world, admin } = await startBareWorld(t, running);
  const { files } = platform;
  const log = createMemoryLog();
  const events: string[] = [];
  const recorder = {
    event: (_target: unknown, _type: string, reason: string, message: string) =>
      void events.push(`${reason} ${message}`),
  };
  const deps = { platform: { clock, crypto: platform.crypto, files, log }, client: admin, recorder };
  const signal = new AbortController().signal;
  await files.makeDir('/m');
  const namespaces = admin.resource(Namespaces);
  const system = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: ADDON_NAMESPACE } } as const;
  await pace.drive(namespaces.create(system).catch(() => undefined));
  return {
    clock,
    pace,
    platform,
    world,
    running,
    files,
    log,
    events,
    admin,
    controller(server = 'a', folder = '/m') {
      const controller = new AddonController(deps, { folder, server });
      return { pass: () => pace.drive(controller.sync(signal)) };
    },
    async names() {
      const { items } = await pace.drive(admin.resource(ConfigMaps).list({ namespace: 'default' }));
      return items.map(({ metadata, data }) => `${metadata.name}=${data?.['value']}`).join(' ');
    },
    async deleteAddon(name: string) {
      const { resources } = await pace.drive(discoverResources(admin, signal));
      const info = resources.find(({ kind }) => kind === 'Addon');
      assert.ok(info);
      await pace.drive(admin.resource(info).delete({ namespace: ADDON_NAMESPACE, name }));
    },
    warnings: () => log.entries.filter(({ level }) => level === 'warn').map(({ fields }) => String(fields['reason'])),
  };
}

test('a folder that applied nothing removes nothing, whatever the store records under its server’s name', async (t) => {
  const { files, controller, names, warnings } = await scene(t);
  await files.writeFile('/m/app.json', configMap('app'));
  assert.equal(await controller().pass(), true);
  await files.makeDir('/empty');
  const reinstalled = controller('a', '/empty');
  for (let pass = 0; pass < 2; pass++) assert.equal(await reinstalled.pass(), true);
  assert.equal(await names(), 'app=1');
  assert.deepEqual(warnings(), ['it was never in this folder: what is left of Addon app stays']);
  // The file is written again and now belongs to this folder.
  await files.writeFile('/empty/app.json', configMap('app'));
  await reinstalled.pass();
  await files.remove('/empty/app.json');
  await controller('a', '/empty').pass();
  assert.equal(await names(), '');
});

test('the second of two files with one name is refused in every pass, and does not affect the first', async (t) => {
  const { files, controller, names, warnings, events } = await scene(t);
  for (const folder of ['/m/a', '/m/b']) await files.makeDir(folder);
  await files.writeFile('/m/b/app.yaml', configMap('b'));
  await files.writeFile('/m/b/app.json', configMap('other'));
  const addons = controller();
  for (let pass = 0; pass < 3; pass++) {
    assert.equal(await addons.pass(), true);
    assert.equal(await names(), 'other=1');
  }
  // The applied file stays so when another one is added that sorts before it.
  await files.writeFile('/m/a/app.yaml', configMap('a'));
  for (let pass = 0; pass < 2; pass++) await addons.pass();
  assert.equal(await names(), 'other=1');
  assert.equal(warnings().length, 2);
  assert.match(warnings()[0] ?? '', /^\/m\/b\/app\.json has the name app already/);
  assert.equal(events.filter((event) => event.startsWith('ManifestRefused ')).length, 2);
  await files.remove('/m/b/app.json');
  await addons.pass();
  assert.equal(await names(), 'a=1');
});

test('a file whose name another server uses is refused until that Addon is deleted', async (t) => {
  const { files, controller, names, warnings, deleteAddon } = await scene(t);
  await files.makeDir('/of-b');
  await files.writeFile('/m/app.json', configMap('a'));
  await files.writeFile('/of-b/app.json', configMap('b'));
  const [a, b] = [controller('a'), controller('b', '/of-b')];
  await a.pass();
  for (let pass = 0; pass < 2; pass++) assert.equal(await b.pass(), true);
  assert.equal(await names(), 'a=1');
  assert.equal(warnings().length, 1);
  assert.match(warnings()[0] ?? '', /^server a has applied a file of this name/);
  await files.remove('/of-b/app.json');
  await b.pass();
  assert.equal(await names(), 'a=1');
  await files.writeFile('/of-b/app.json', configMap('b'));
  await deleteAddon('app');
  await b.pass();
  assert.equal(await names(), 'a=1 b=1');
});

test('a dangling link delays no other file, and its objects stay', async (t) => {
  const { files, controller, names, warnings } = await scene(t);
  await files.writeFile('/elsewhere.json', configMap('linked'));
  await files.symlink('/elsewhere.json', '/m/linked.json');
  await files.writeFile('/m/z.json', configMap('z'));
  const addons = controller();
  await addons.pass();
  await files.remove('/elsewhere.json');
  await files.writeFile('/m/z.json', configMap('z', '2'));
  for (let pass = 0; pass < 2; pass++) await addons.pass();
  assert.equal(await names(), 'linked=1 z=2');
  assert.equal(warnings().length, 1);
  await files.remove('/m/linked.json');
  await addons.pass();
  assert.equal(await names(), 'z=2');
});

test('a change without a watch event is found within a minute', async (t) => {
  const { clock, platform, world, running, names, pace } = await scene(t);
  const deaf = { ...platform.files, watch: () => ({ stop: () => undefined }) };
  const stop = new AbortController();
  const deps = { platform: { ...platform, files: deaf }, controlPlane: world.controlPlane };
  running.push({ stop, ended: runAddons(deps, { folder: '/m', server: 'a' }, stop.signal) });
  await pace.drive(clock.sleep(5_000));
  await platform.files.writeFile('/m/late.json', configMap('late'));
  await pace.drive(clock.sleep(61_000));
  assert.equal(await names(), 'late=1');
});

test('a folder that was replaced, or whose watch broke, is watched again', async () => {
  const { files, log } = createSimPlatform();
  await files.makeDir('/m');
  const errors: ((error: Error) => void)[] = [];
  let open = 0;
  const watch = (_path: string, _onChange: () => void, onError: (error: Error) => void) => {
    open++;
    errors.push(onError);
    return { stop: () => void open-- };
  };
  const stop = new AbortController();
  const folders = watchFolders({ files: { ...files, watch }, log }, stop.signal);
  await folders.follow(['/m']);
  await folders.follow(['/m']);
  assert.deepEqual([errors.length, open], [1, 1]);
  await files.rename('/m', '/old');
  await files.makeDir('/m');
  await folders.follow(['/m']);
  assert.deepEqual([errors.length, open], [2, 1]);
  errors[1]?.(new Error('broken'));
  open--;
  await folders.follow(['/m']);
  assert.deepEqual([errors.length, open], [3, 1]);
  stop.abort();
  assert.equal(open, 0);
});
