/**
 * Hostile CSI, DRA and device plugins on their sockets: each call fails within its timeout, none with an internal fault, and the
 * next call is answered.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { hostilePeers } from '../../grpc/hostile-peers-fixture.ts';
import { frame } from '../../grpc/grpc-frames.ts';
import { createGrpcConnector, type GrpcConnector } from '../../grpc/grpc-connector.ts';
import { settleWhileTimePasses } from '../../platform/node/settle-fixture.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { isProgramError } from '../../platform/unexpected.ts';
import { connectEndpoint } from '../device-manager/endpoint.ts';
import { draTable, nodePrepareResources, nodeUnprepareResources } from '../dra-manager/dra-api.ts';
import { getPluginInfo, notifyRegistrationStatus, registrationTable } from './registration-client.ts';
import { createCsiNodeClient } from '../volumes/csi/csi-client.ts';

const csi = (connect: GrpcConnector) =>
  createCsiNodeClient({ connect, clock: new VirtualClock(), observe: () => undefined }, socketPath);
const options = { preStartRequired: true, getPreferredAllocationAvailable: true };
const device = (connect: GrpcConnector) => connectEndpoint(connect, socketPath, options);
const never = new AbortController().signal;
const claims = [{ namespace: 'ns', name: 'c', uid: 'u' }];

/** Every call of a plugin whose answer the kubelet reads. */
const calls: Readonly<Record<string, (connect: GrpcConnector) => Promise<unknown>>> = {
  'plugin registration GetInfo': (connect) => getPluginInfo(connect(socketPath, [registrationTable]), never),
  'plugin registration status': (connect) =>
    notifyRegistrationStatus(connect(socketPath, [registrationTable]), undefined, never),
  'CSI NodeGetInfo': (connect) => csi(connect).nodeGetInfo(),
  'CSI NodeGetCapabilities': (connect) => csi(connect).hasCapability('STAGE_UNSTAGE_VOLUME'),
  'CSI NodePublishVolume': (connect) => csi(connect).nodePublishVolume({ volumeId: 'v' } as never),
  'CSI NodeGetVolumeStats': (connect) => csi(connect).nodeGetVolumeStats({ volumeId: 'v' } as never),
  'DRA NodePrepareResources': (connect) => nodePrepareResources(connect(socketPath, [draTable('v1')]), 'v1', claims),
  'DRA NodeUnprepareResources': (connect) =>
    nodeUnprepareResources(connect(socketPath, [draTable('v1')]), 'v1', claims),
  'device plugin GetDevicePluginOptions': (connect) => connectEndpoint(connect, socketPath),
  'device plugin Allocate': async (connect) => (await device(connect)).allocate(['a']),
  'device plugin GetPreferredAllocation': async (connect) =>
    (await device(connect)).preferredAllocation({ available: ['a'], mustInclude: [], size: 1 }),
  'device plugin PreStartContainer': async (connect) => (await device(connect)).preStartContainer(['a']),
  async 'device plugin ListAndWatch'(connect) {
    let left = 100;
    for await (const devices of (await device(connect)).listAndWatch(never))
      if (!Array.isArray(devices) || --left === 0) throw new Error('there is no end of it');
  },
};

let socketPath: string;
let directory: string;
let behave: (stream: ServerHttp2Stream) => void;
const sessions = new Set<ServerHttp2Session>();
const server = createServer();

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'keelson-plugins-'));
  socketPath = join(directory, 'socket');
  server.on('session', (session) => void sessions.add(session.on('error', () => undefined)));
  server.on('stream', (stream) => behave(stream.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
});
after(async () => {
  for (const session of sessions) session.destroy();
  server.close();
  await rm(directory, { recursive: true });
});

const answerWith =
  (message: Uint8Array) =>
  (stream: ServerHttp2Stream): void => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(frame(message));
  };

/** The call's error; undefined when it was answered. Virtual deadlines pass without waiting. */
async function failureOf(call: (connect: GrpcConnector) => Promise<unknown>): Promise<Error | undefined> {
  const clock = new VirtualClock();
  const connectors: ReturnType<GrpcConnector>[] = [];
  const connect: GrpcConnector = (...of) => {
    const made = createGrpcConnector(clock)(...of);
    connectors.push(made);
    return made;
  };
  const { error } = await settleWhileTimePasses(clock, call(connect), 121_000);
  for (const connector of connectors) connector.disconnect();
  return error;
}

for (const [name, call] of Object.entries(calls))
  describe(name, () => {
    for (const [what, how] of Object.entries(hostilePeers)) {
      // ListAndWatch of a plugin without changes is silent, so it has no deadline.
      if (name.endsWith('ListAndWatch') && what === 'never answers') continue;
      test(`a plugin that ${what} ends the call alone`, async () => {
        behave = how;
        const error = await failureOf(call);
        assert.ok(error !== undefined && !isProgramError(error), String(error?.stack));
        assert.ok(error.message.length < 100_000);
        behave = answerWith(new Uint8Array());
        const next = await failureOf(call);
        assert.ok(next === undefined || /no containers return/.test(next.message), String(next?.stack));
      });
    }

    test('messages of random bytes are read or refused', async () => {
      const random = createSeededRandom(7);
      for (let round = 0; round < 40; round++) {
        const length = Math.floor(random.next() * 40);
        behave = answerWith(Uint8Array.from({ length }, () => Math.floor(random.next() * 256)));
        const error = await failureOf(call);
        assert.ok(error === undefined || !isProgramError(error), String(error?.stack));
      }
    });
  });
