import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createFakeSockets, type FakeMethod, type FakeSockets } from '../../grpc/grpc-connector-fixture.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import { createPluginManager, type Plugin, type PluginHandler } from './plugin-manager.ts';

const DIRECTORY = '/var/lib/kubelet/plugins_registry';

interface Fixture {
  readonly platform: SimPlatform;
  readonly sockets: FakeSockets;
  /** The calls of the handler, in order. */
  readonly handled: string[];
  /** The notifications of plugins: `true`, or the error. */
  readonly told: string[];
  readonly handler: { -readonly [key in keyof PluginHandler]: PluginHandler[key] };
  stop(): void;
}

async function start(t: TestContext): Promise<Fixture> {
  const platform = createSimPlatform();
  const sockets = createFakeSockets(platform.clock);
  const handled: string[] = [];
  const note =
    (what: string) =>
    async ({ name, endpoint }: Plugin): Promise<void> =>
      void handled.push(`${what} ${name} ${endpoint}`);
  const handler = { validatePlugin: note('validate'), registerPlugin: note('register'), deregisterPlugin: note('off') };
  const manager = createPluginManager({ platform, connect: sockets.connect }, DIRECTORY);
  manager.addHandler('CSIPlugin', handler);
  const controller = new AbortController();
  manager.start(controller.signal);
  const stop = (): void => controller.abort(new Error('the test is over'));
  t.after(stop);
  await platform.clock.settle();
  return { platform, sockets, handled, told: [], handler, stop };
}

/** A plugin begins to listen. */
function plug(f: Fixture, path: string, info: object, methods: Record<string, FakeMethod> = {}): void {
  f.sockets.serve(path, {
    GetInfo: () => info,
    NotifyRegistrationStatus: ({ pluginRegistered, error }: { pluginRegistered: boolean; error: string }) => {
      f.told.push(pluginRegistered ? 'true' : error);
      return {};
    },
    ...methods,
  });
  f.platform.files.makeSpecial(path, 'socket');
}

const csi = { type: 'CSIPlugin', name: 'disks', endpoint: '/csi.sock', supportedVersions: ['1.0.0'] };

test('a socket is registered anywhere below the directory, and unregistered when it is removed', async (t) => {
  const f = await start(t);
  plug(f, `${DIRECTORY}/disks-reg.sock`, csi);
  await f.platform.files.makeDir(`${DIRECTORY}/more`);
  await f.platform.clock.settle();
  plug(f, `${DIRECTORY}/more/b.sock`, { ...csi, name: 'b', endpoint: '' });
  await f.platform.clock.settle();
  assert.deepEqual(f.told, ['true', 'true']);
  await f.platform.files.remove(`${DIRECTORY}/disks-reg.sock`);
  await f.platform.clock.settle();
  assert.deepEqual(f.handled, [
    'validate disks /csi.sock',
    'register disks /csi.sock',
    `validate b ${DIRECTORY}/more/b.sock`,
    `register b ${DIRECTORY}/more/b.sock`,
    'off disks /csi.sock',
  ]);
});

test('a plugin that restarts with the same name is registered again', async (t) => {
  const f = await start(t);
  const path = `${DIRECTORY}/disks-reg.sock`;
  plug(f, path, csi);
  await f.platform.clock.settle();
  await f.platform.files.remove(path);
  plug(f, path, { ...csi, endpoint: '/other.sock' });
  await f.platform.clock.settle();
  assert.deepEqual(f.handled.slice(2), [
    'off disks /csi.sock',
    'validate disks /other.sock',
    'register disks /other.sock',
  ]);
});

test('files, hidden names and sockets from before the start', async (t) => {
  const f = await start(t);
  f.stop();
  plug(f, `${DIRECTORY}/early.sock`, csi);
  await f.platform.files.writeFile(`${DIRECTORY}/note.txt`, 'no socket');
  plug(f, `${DIRECTORY}/.hidden.sock`, csi);
  const manager = createPluginManager({ platform: f.platform, connect: f.sockets.connect }, DIRECTORY);
  manager.addHandler('CSIPlugin', f.handler);
  const controller = new AbortController();
  t.after(() => controller.abort());
  manager.start(controller.signal);
  await f.platform.clock.settle();
  assert.deepEqual(f.handled, ['validate disks /csi.sock', 'register disks /csi.sock']);
});

test('a plugin gets the error of a refusal, and is tried again', async (t) => {
  const f = await start(t);
  f.handler.validatePlugin = async () => {
    throw new Error('too old');
  };
  plug(f, `${DIRECTORY}/a.sock`, csi);
  plug(f, `${DIRECTORY}/b.sock`, { ...csi, type: 'DevicePlugin' });
  await f.platform.clock.settle();
  assert.deepEqual(f.told.sort(), [
    `no handler registered for plugin type: DevicePlugin at socket ${DIRECTORY}/b.sock`,
    'plugin validation failed with err: too old',
  ]);
  f.handler.validatePlugin = async () => undefined;
  f.handler.registerPlugin = async () => {
    throw new Error('busy');
  };
  await f.platform.clock.advance(500);
  assert.ok(f.told.includes('plugin registration failed with err: busy'));
  f.handler.registerPlugin = async ({ name }) => void f.handled.push(`register ${name}`);
  await f.platform.clock.advance(1000);
  assert.deepEqual(f.handled, ['register disks']);
});

test('an endpoint that is not the absolute path of a socket is never dialled', async (t) => {
  const f = await start(t);
  for (const [at, endpoint] of ['x', '../csi.sock', 'http://10.0.0.1/', 'unix:///csi.sock', '\0abstract'].entries())
    plug(f, `${DIRECTORY}/${at}.sock`, { ...csi, endpoint });
  await f.platform.clock.settle();
  assert.deepEqual(f.handled, []);
  assert.equal(f.told.filter((text) => text.endsWith('is not the absolute path of a socket')).length, 5);
});

test('a plugin that hangs delays no others', async (t) => {
  const f = await start(t);
  plug(f, `${DIRECTORY}/a.sock`, csi, { GetInfo: () => new Promise<object>(() => undefined) });
  plug(f, `${DIRECTORY}/b.sock`, { ...csi, name: 'b' });
  await f.platform.clock.settle();
  assert.deepEqual(f.handled, ['validate b /csi.sock', 'register b /csi.sock']);
  f.sockets.serve(`${DIRECTORY}/a.sock`, { GetInfo: () => csi, NotifyRegistrationStatus: () => ({}) });
  await f.platform.clock.advance(1600);
  assert.deepEqual(f.handled.slice(2), ['validate disks /csi.sock', 'register disks /csi.sock']);
});
