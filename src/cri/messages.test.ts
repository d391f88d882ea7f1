import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { eventOf } from './containerd-events.ts';
import { createCriClient, socketPathOf } from './cri-client.ts';
import { criTable } from './gen/cri-table.ts';
import { createMessageCodec } from '../grpc/message-codec.ts';
import { buildOciImage } from './oci-image.ts';
import { buildPauseImage } from './pause-image.ts';
import { pauseExecutable } from './pause-program.ts';
import { buildDescriptors, messageOf } from '../grpc/protobuf-descriptors-fixture.ts';
import { writeTar } from './tar.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';

describe('messages', () => {
  const registry = buildDescriptors(criTable);
  const codec = createMessageCodec([criTable]);
  const roundTrip = (name: string, plain: object): object => {
    const desc = messageOf(registry, `runtime.v1.${name}`);
    const encoded = codec.encode(desc.typeName, plain);
    const message = fromBinary(desc, encoded); // Each of protobuf-es and our codec decodes the other's bytes.
    assert.equal(message.$unknown, undefined);
    return codec.decode(desc.typeName, toBinary(desc, message));
  };

  it('are encoded in steps where they have long lists, to the same bytes', () => {
    const envs = Array.from({ length: 25_000 }, (_, at) => ({ key: `K${at}`, value: `ä${at}` }));
    const encoded = (list: readonly object[]): [bytes: Uint8Array, steps: number] => {
      const request = { podSandboxId: 's', config: { metadata: { name: 'c', attempt: 1 }, envs: list, tty: true } };
      const steps = codec.encodeSteps('runtime.v1.CreateContainerRequest', request);
      for (let count = 1; ; count++) {
        const { done, value } = steps.next();
        if (done === true) return [value, count];
      }
    };
    const [long, steps] = encoded(envs);
    assert.equal(steps, 4);
    const { config } = codec.decode('runtime.v1.CreateContainerRequest', long) as {
      config: { envs: object[]; metadata: object; tty: boolean };
    };
    assert.deepEqual([config.metadata, config.tty], [{ name: 'c', attempt: 1 }, true]);
    assert.deepEqual(config.envs, envs);
    assert.equal(encoded(envs.slice(0, 1000))[1], 1);
  });

  it('are decoded in steps where they have long lists, also in messages of their own', () => {
    const mounts = Array.from({ length: 20_000 }, (_, at) => ({ containerPath: `/m${at}` }));
    const type = 'runtime.v1.ContainerStatusResponse';
    const stepsOf = (list: readonly object[]): [object: unknown, steps: number] => {
      const steps = codec.decodeSteps(
        type,
        codec.encode(type, { status: { id: 'c', mounts: list }, info: { a: 'b' } }),
      );
      for (let count = 1; ; count++) {
        const { done, value } = steps.next();
        if (done === true) return [value, count];
      }
    };
    const [decoded, count] = stepsOf(mounts);
    assert.ok(count > 5, String(count));
    const { status, info } = decoded as { status: { id: string; mounts: { containerPath: string }[] }; info: object };
    assert.deepEqual([status.id, status.mounts.length, info], ['c', 20_000, { a: 'b' }]);
    assert.equal(status.mounts[19_999]!.containerPath, '/m19999');
    assert.equal(stepsOf(mounts.slice(0, 100))[1], 1);
  });

  it('are not decoded when their bytes would become more values than allowed', () => {
    const bounded = createMessageCodec([criTable], 1000);
    const items = (count: number, item: readonly number[]): Uint8Array =>
      Uint8Array.from(Array.from({ length: count }, () => item).flat());
    const refused = /^Error: proto: cannot parse runtime.v1.ListContainersResponse: more than 1000 values$/;
    const decode = (bytes: Uint8Array): object => bounded.decode('runtime.v1.ListContainersResponse', bytes);
    for (const item of [
      [0x0a, 0], // empty containers
      [0x0a, 2, 0x0a, 0], // an id each
      [0x0a, 4, 0x42, 2, 0x0a, 0], // a label each
      [0x7a, 0], // a field that is not known
    ])
      assert.throws(() => decode(items(1000, item)), refused);
    assert.throws(() => decode(Uint8Array.from([0x0a, 0x80, 0x10, ...items(1024, [0x52, 0])])), refused);
    assert.equal((decode(items(100, [0x0a, 0])) as { containers: object[] }).containers.length, 100);
  });

  it('keep times to the microsecond, long integers, enums, maps, bytes and nested lists', () => {
    const status = {
      id: 'c',
      createdAtMs: 1_795_220_484_106.641,
      state: 'CONTAINER_EXITED',
      exitCode: -1,
      labels: { a: 'b' },
      mounts: [{ hostPath: '/h', propagation: 'PROPAGATION_BIDIRECTIONAL' }],
    };
    const back = roundTrip('ContainerStatus', status) as typeof status & { startedAtMs: number; image?: object };
    assert.deepEqual(
      [back.id, back.createdAtMs, back.state, back.exitCode, back.labels, back.startedAtMs, back.image],
      ['c', status.createdAtMs, 'CONTAINER_EXITED', -1, { a: 'b' }, 0, undefined],
    );
    assert.deepEqual([back.mounts[0]!.hostPath, back.mounts[0]!.propagation], ['/h', 'PROPAGATION_BIDIRECTIONAL']);
    assert.deepEqual(
      roundTrip('LinuxContainerResources', {
        memoryLimitInBytes: 2 ** 40,
        cpuQuota: -1,
        unified: { 'memory.min': '1' },
      }),
      {
        memoryLimitInBytes: 2 ** 40,
        cpuQuota: -1,
        unified: { 'memory.min': '1' },
        cpuPeriod: 0,
        cpuShares: 0,
        oomScoreAdj: 0,
        cpusetCpus: '',
        cpusetMems: '',
        hugepageLimits: [],
        memorySwapLimitInBytes: 0,
      },
    );
    assert.deepEqual(roundTrip('ExecSyncResponse', { stdout: Buffer.from('x') }), {
      stdout: Uint8Array.of(120),
      stderr: new Uint8Array(),
      exitCode: 0,
    });
    assert.deepEqual(roundTrip('StopContainerRequest', { containerId: 'c', timeoutSeconds: 7 }), {
      containerId: 'c',
      timeoutSeconds: 7,
    });
    assert.deepEqual(roundTrip('PortForwardRequest', { port: [80, 443] }), { podSandboxId: '', port: [80, 443] });
  });

  it('of every kind can be built', () => {
    for (const name of Object.keys(criTable.messages)) roundTrip(name, {});
  });

  it('refuse fields and values that are not theirs', () => {
    assert.throws(() => roundTrip('StopContainerRequest', { timeout: 7 }), /has no field timeout/);
    assert.throws(() => roundTrip('ContainerStateValue', { state: 'RUNNING' }), /has no value RUNNING/);
  });
});

describe('the client', () => {
  it('accepts only unix endpoints', () => {
    assert.deepEqual(['/run/c.sock', 'unix:///run/c.sock', 'unix:/run/c.sock'].map(socketPathOf), [
      '/run/c.sock',
      '/run/c.sock',
      '/run/c.sock',
    ]);
    assert.throws(() => socketPathOf('tcp://localhost:1'), /only unix sockets/);
  });

  it('returns Unavailable when nothing listens', async () => {
    const client = createCriClient(createSimPlatform(), { endpoint: '/nonexistent/c.sock' });
    await assert.rejects(client.runtime.version({}), { name: 'GrpcError', code: 'Unavailable' });
  });

  it('ends with the reason of an abort', async () => {
    const client = createCriClient(createSimPlatform(), { endpoint: '/nonexistent/c.sock' });
    await assert.rejects(client.runtime.version({}, { signal: AbortSignal.abort(new Error('enough')) }), {
      message: 'enough',
    });
  });
});

describe('events of containerd', () => {
  const field = (number: number, text: string): number[] => [(number << 3) | 2, text.length, ...Buffer.from(text)];
  const exit = (containerId: string, id: string, status: number): Uint8Array =>
    Uint8Array.from([
      ...field(1, containerId),
      ...field(2, id),
      0x18,
      0x2a,
      0x20,
      ...(status > 127 ? [(status & 0x7f) | 0x80, status >> 7] : [status]),
    ]);
  const envelope = (topic: string, value: Uint8Array, namespace = 'k8s.io') => ({
    namespace,
    topic,
    event: { typeUrl: '', value },
  });
  const cases: { about: string; event: Parameters<typeof eventOf>[0]; expected: object | undefined }[] = [
    {
      about: 'an exit',
      event: envelope('/tasks/exit', exit('c1', 'c1', 137)),
      expected: { containerId: 'c1', type: 'stopped', exitCode: 137 },
    },
    { about: 'the exit of an exec', event: envelope('/tasks/exit', exit('c1', 'e9', 1)), expected: undefined },
    {
      about: 'a start',
      event: envelope('/tasks/start', Uint8Array.from(field(1, 'c1'))),
      expected: { containerId: 'c1', type: 'started' },
    },
    {
      about: 'another namespace',
      event: envelope('/tasks/start', Uint8Array.from(field(1, 'c1')), 'moby'),
      expected: undefined,
    },
    { about: 'another topic', event: envelope('/snapshot/prepare', new Uint8Array()), expected: undefined },
  ];
  for (const { about, event, expected } of cases) it(about, () => assert.deepEqual(eventOf(event, 'k8s.io'), expected));
});

describe('the sandbox image', () => {
  const { crypto } = createSimPlatform();
  const sha256 = (data: Uint8Array): string => crypto.sha256Hex(data);

  for (const architecture of ['amd64', 'arm64'] as const) {
    it(`holds a small static program for ${architecture}`, () => {
      const program = Buffer.from(pauseExecutable(architecture));
      assert.equal(program.subarray(0, 4).toString('latin1'), '\x7fELF');
      assert.equal(program.readUInt16LE(18), architecture === 'amd64' ? 62 : 183);
      assert.ok(program.length < 1024);
      assert.equal(program.readBigUInt64LE(96), BigInt(program.length));
    });
  }

  it('is the same each time, and its manifest names its blobs', () => {
    const image = buildPauseImage('amd64', sha256);
    assert.equal(image.manifest.digest, buildPauseImage('amd64', sha256).manifest.digest);
    const manifest = JSON.parse(Buffer.from(image.manifest.data).toString()) as {
      config: { digest: string };
      layers: { digest: string; size: number }[];
    };
    assert.equal(manifest.config.digest, image.config.digest);
    assert.deepEqual(manifest.layers, [
      { mediaType: image.layers[0]!.mediaType, digest: image.layers[0]!.digest, size: image.layers[0]!.data.length },
    ]);
  });

  it('is refused for platforms without a program', () =>
    assert.throws(() => buildPauseImage('riscv64', sha256), /no pause program for architecture riscv64/));

  it('is a tar with valid checksums', () => {
    const tar = Buffer.from(writeTar([{ path: 'a', mode: 0o755, content: Buffer.from('hello') }]));
    assert.equal(tar.length, 4 * 512);
    const stored = Number.parseInt(tar.toString('latin1', 148, 154), 8);
    const blank = Buffer.from(tar.subarray(0, 512));
    blank.fill(' ', 148, 156);
    assert.equal(
      stored,
      blank.reduce((sum, byte) => sum + byte, 0),
    );
    assert.equal(tar.toString('latin1', 512, 517), 'hello');
    assert.ok(buildOciImage({ architecture: 'amd64', files: [] }, sha256).layers.length === 1);
  });
});
